//! What the error of a body proves, and what it does to the handle.

use http::{Request, Response, StatusCode};
use tower::ServiceExt;
use tower_recovery::Delivery;
#[cfg(feature = "http2")]
use tower_recovery_http::Protocol;
#[cfg(feature = "http2")]
use tower_recovery_test::faulty::ErrorCode;
use tower_recovery_test::{Act, Registry};

use super::{api, protocols, read_out, send, serve};
use crate::support::{NAME, bounded, read, register, registry_of, write};

const CUTS: [Act; 2] = [Act::PartialBody { sent: 2 }, Act::PartialBodyThenReset { sent: 2 }];

#[tokio::test]
async fn a_body_that_is_cut_off_is_maybe_sent_and_the_next_call_resolves_anew() {
    for protocol in protocols() {
        for act in CUTS {
            let row = format!("{protocol:?}, {act:?}");
            let old = serve(protocol, |server| server.script([act])).await;
            let new = serve(protocol, |server| server).await;
            let registry = registry_of(&old).await;
            let api = api(&registry, protocol);

            let response = send(&api, write("cut")).await;
            register(&registry, "second", &new);
            assert_eq!((response.status().as_u16(), registry.look_ups(NAME)), (200, 1), "{row}");
            let cut = read_out(response.into_body()).await;

            let failure = cut.end.unwrap_err();
            assert_eq!((&cut.data[..], failure.delivery()), (&b"do"[..], Some(Delivery::MaybeSent)), "{row}");
            assert!(failure.is_stale() && failure.find::<hyper::Error>().is_some(), "{row}: {failure:?}");
            assert_eq!(failure.lease().unwrap().identity(), &"first".into(), "{row}");
            assert_eq!(read_out(send(&api, write("next")).await.into_body()).await.data, "done", "{row}");
            assert_eq!((old.executed("next"), new.executed("next")), (0, 1), "{row}");
            assert_eq!((registry.look_ups(NAME), new.executed("cut")), (2, 0), "{row}: one resolve, and nothing twice");
        }
    }
}

#[tokio::test]
async fn after_another_head_a_body_that_is_cut_off_proves_what_its_status_does() {
    for protocol in protocols() {
        for act in CUTS {
            let not_found = |_: &Request<_>| {
                Response::builder().status(StatusCode::NOT_FOUND).body("done".into()).expect("a response")
            };
            let server = serve(protocol, |server| server.application(not_found).script([act])).await;
            let api = api(&registry_of(&server).await, protocol);
            let failure = read_out(send(&api, read("read")).await.into_body()).await.end.unwrap_err();
            let proven = (failure.delivery(), failure.is_stale());
            assert_eq!(proven, (Some(Delivery::Answered), true), "{protocol:?}, {act:?}: {failure:?}");
        }
    }
}

/// Its connection lives on, with everybody else's calls.
#[cfg(feature = "http2")]
#[tokio::test]
async fn a_stream_that_is_reset_in_the_middle_is_maybe_sent_and_evicts_nothing() {
    for code in [ErrorCode::CANCEL, ErrorCode::INTERNAL_ERROR, ErrorCode::REFUSED_STREAM] {
        let act = Act::PartialBodyThenResetStream { sent: 2, code };
        let server = serve(Protocol::Http2, |server| server.script([act])).await;
        let registry = registry_of(&server).await;
        let api = api(&registry, Protocol::Http2);
        let reset = read_out(send(&api, write("reset")).await.into_body()).await;
        let failure = reset.end.unwrap_err();
        assert_eq!((failure.delivery(), failure.is_stale()), (Some(Delivery::MaybeSent), false), "{failure:?}");
        assert_eq!(reset.data, "do");
        send(&api, write("next")).await;
        assert_eq!((registry.look_ups(NAME), server.connections_accepted(), server.executed("reset")), (1, 1, 1));
    }
}

/// Law 5.
#[tokio::test]
async fn a_body_of_an_old_handle_that_breaks_late_does_not_evict_the_newer_one() {
    for protocol in protocols() {
        let old = serve(protocol, |server| server.script([Act::PartialBody { sent: 2 }; 2])).await;
        let new = serve(protocol, |server| server).await;
        let registry = registry_of(&old).await;
        let api = api(&registry, protocol);
        let late = send(&api, write("late")).await;

        register(&registry, "second", &new);
        // Over HTTP/2 it may meet the connection that ends with the first one's body. In any case it breaks, and evicts the handle.
        if let Ok(response) = bounded(api.clone().oneshot(write("early"))).await {
            let _ = read_out(response.into_body()).await;
        }
        send(&api, write("between")).await;
        let failure = read_out(late.into_body()).await.end.unwrap_err();
        assert!(failure.is_stale(), "{protocol:?}: {failure:?}");
        assert_eq!(failure.lease().unwrap().identity(), &"first".into(), "{protocol:?}");

        send(&api, write("after")).await;
        assert_eq!((registry.look_ups(NAME), new.executed("between"), new.executed("after")), (2, 1, 1));
    }
}

#[tokio::test]
async fn a_body_that_is_dropped_evicts_nothing() {
    for protocol in protocols() {
        let server = serve(protocol, |server| server.script([Act::PartialBody { sent: 2 }])).await;
        let registry = Registry::new();
        register(&registry, "first", &server);
        let api = api(&registry, protocol);
        drop(send(&api, write("dropped")).await);
        send(&api, read("next")).await;
        assert_eq!(registry.look_ups(NAME), 1, "{protocol:?}");
    }
}
