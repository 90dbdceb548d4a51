//! The six ways in which the transport fails without a verdict, as the origin of the replacement listed them, each met in earnest: protocol error, read error, write
//! error, connect error, read timeout, and a connection error of any other kind.

use std::{error::Error, io, time::Duration};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use tokio::net::TcpListener;
use tower::ServiceExt;
use tower_recovery::{
    AttemptTimedOut, Delivery, Failure, GiveUp, RecoveryEvent, RetryBudget, StreamPolicy, sources,
    stream_replacement::StreamEnd,
};
use tower_recovery_test::{
    FaultyServer,
    faulty::{StreamEnding, StreamScript},
};

use super::{
    faults::{Fault, serve},
    support::{CHAT, Model, Whole, Wire, bounded, broken, complete, question, replacing, saying, texts},
};

type IsMet = fn(&Failure) -> bool;

/// Each of them, with what the client has met then.
const FAULTS: [(Fault, IsMet); 6] = [
    (Fault::Garbage, |failure| hyper_error(failure).is_parse()),
    (Fault::HalfAHead, |failure| hyper_error(failure).is_incomplete_message()),
    (Fault::HalfAChunk, |failure| {
        hyper_error(failure).is_incomplete_message() || is_io(failure, io::ErrorKind::UnexpectedEof)
    }),
    (Fault::ResetInTheBody, |failure| is_io(failure, io::ErrorKind::ConnectionReset)),
    (Fault::ResetInTheRequest, |failure| {
        is_io(failure, io::ErrorKind::BrokenPipe) || is_io(failure, io::ErrorKind::ConnectionReset)
    }),
    (Fault::CloseBeforeTheHead, |failure| hyper_error(failure).is_incomplete_message()),
];

fn hyper_error(failure: &Failure) -> &hyper::Error {
    failure.find().unwrap_or_else(|| panic!("another failure: {failure:?}"))
}

fn is_io(failure: &Failure, kind: io::ErrorKind) -> bool {
    let mut links = sources(failure as &(dyn Error + 'static));
    links.any(|link| link.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == kind))
}

#[tokio::test]
async fn each_of_the_origins_six_transport_types_is_replaced() {
    for (fault, is_met) in FAULTS {
        let failure = chat_through(fault, replacing(0)).await.unwrap_err();
        assert!(is_met(&failure), "{fault:?} is met as itself: {failure:?}");
        assert_eq!(failure.delivery(), Some(Delivery::MaybeSent), "{fault:?}");

        let whole = chat_through(fault, replacing(1)).await.unwrap_or_else(|failure| panic!("{fault:?}: {failure:?}"));
        assert_eq!(
            (texts(&whole.items), whole.report.attempts),
            (["1", "[DONE]"].map(Into::into).to_vec(), 2),
            "{fault:?}"
        );
    }
}

#[tokio::test]
async fn an_attempt_that_timed_out_is_replaced() {
    for wire in Wire::all() {
        for budget in [0, 1] {
            let model = Model::streaming(wire, [StreamScript::silent(), complete(["1"])]).await;
            let door = model.door().attempt_timeout(Duration::from_secs(1));
            let outcome = bounded(model.chat_through(door, replacing(budget)).whole(1 << 20).oneshot(question())).await;
            assert_eq!(model.calls(), 1 + budget as usize);
            match outcome {
                Ok(whole) => assert_eq!((texts(&whole.items), budget), (["1", "[DONE]"].map(Into::into).to_vec(), 1)),
                Err(failure) => {
                    assert!(failure.find::<AttemptTimedOut>().is_some(), "{failure:?}");
                    assert_eq!((failure.delivery(), budget), (Some(Delivery::MaybeSent), 0));
                }
            }
        }
    }
}

/// What could not be connected was not sent. The retry below the replacement sees to it, on whatever instance serves by then.
#[tokio::test]
async fn a_refused_connection_is_recovered_below_the_replacement_and_costs_none_of_its_budget() {
    for wire in Wire::all() {
        let nobody = FaultyServer::refused_address().expect("a port is free");
        let model = Model::streaming(wire, complete(["1"])).await;
        let serving = model.registry.register("model", "refused", nobody.origin().parse().expect("an origin"));
        let (registry, serving) = (model.registry.clone(), serving.expect("it was registered"));
        let failed = |event: &RecoveryEvent| matches!(event, RecoveryEvent::AttemptFailed { .. });
        let door = model.door().attempts(10);
        let chat = model.chat_through(door, replacing(0)).whole(1 << 20);
        let (whole, ()) = tokio::join!(bounded(chat.oneshot(question())), async {
            bounded(model.events.wait_for(failed)).await;
            registry.register("model", serving.identity, serving.handle);
        });
        let whole = whole.unwrap();
        assert_eq!((texts(&whole.items), whole.report.attempts), (["1", "[DONE]"].map(Into::into).to_vec(), 1));
        assert_eq!(model.calls(), 1);
    }
}

#[tokio::test]
async fn a_connection_that_stays_refused_is_tried_by_every_replacement() {
    for wire in Wire::all() {
        for attempts in [1, 3] {
            let model = Model::streaming(wire, complete(["1"])).await;
            model.server.refuse().await;
            let door = model.door().attempts(attempts);
            let outcome = bounded(model.chat_through(door, replacing(2)).whole(1 << 20).oneshot(question())).await;
            let failure = outcome.unwrap_err();
            assert_eq!((failure.delivery(), failure.is_exhausted()), (Some(Delivery::NeverSent), true));
            assert_eq!(
                (failure.attempts(), broken(&failure).report.attempts),
                (3 * attempts, 3),
                "those of the retry count"
            );
        }
    }
}

#[tokio::test]
async fn a_stream_whose_server_restarts_is_replaced_once_that_serves_again() {
    for wire in Wire::all() {
        let model = Model::streaming(wire, [saying(["one"]).then(StreamEnding::Silence), complete(["1"])]).await;
        let proposed = |event: &RecoveryEvent| matches!(event, RecoveryEvent::RecoveryReplacementProposed { .. });
        let (whole, ()) = tokio::join!(model.whole(replacing(2)), async {
            bounded(async { model.server.streamed_answer(1).await.wait_until_sends(1).await }).await;
            model.server.refuse().await;
            // The first replacement has met the refusal.
            bounded(model.events.wait_for_number(2, proposed)).await;
            model.server.accept_again().expect("the port is free");
        });
        let whole = whole.unwrap();
        assert_eq!((texts(&whole.items), model.calls()), (["1", "[DONE]"].map(Into::into).to_vec(), 2));
        let duplicates = model.events.map(|event| match *event {
            RecoveryEvent::RecoveryReplacementProposed { duplicate_server_work_possible, .. } => {
                Some(duplicate_server_work_possible)
            }
            _ => None,
        });
        assert_eq!((whole.report.attempts, duplicates), (3, vec![true, true]), "the first one may have run");
    }
}

/// Sells nothing.
#[derive(Debug)]
struct NoPermits;

impl RetryBudget for NoPermits {
    fn deposit(&self, _: u32) {}

    fn withdraw(&self) -> bool {
        false
    }

    fn give_back(&self) {}
}

#[tokio::test]
async fn a_replacement_for_which_there_is_no_permit_below_ends_the_stream_and_says_so_above() {
    for wire in Wire::all() {
        let model = Model::streaming(wire, [saying(["one"]).then(StreamEnding::Silence), complete(["1"])]).await;
        let chat = model.chat_through(model.door().budget(NoPermits), replacing(5)).whole(1 << 20);
        let (outcome, ()) = tokio::join!(bounded(chat.oneshot(question())), async {
            bounded(async { model.server.streamed_answer(1).await.wait_until_sends(1).await }).await;
            model.server.refuse().await;
        });
        let failure = outcome.unwrap_err();
        assert_eq!((broken(&failure).reason, failure.gave_up()), (StreamEnd::Dropped, Some(GiveUp::Budget)));
        assert_eq!((failure.delivery(), model.calls()), (Some(Delivery::MaybeSent), 1));
    }
}

/// A chat through a server with this fault.
async fn chat_through(fault: Fault, policy: StreamPolicy) -> Whole {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let origin = format!("http://{}", listener.local_addr().expect("it is bound"));
    let _serving = serve(listener, fault);
    let model = Model::streaming(Wire::Http1, StreamScript::new()).await;
    model.registry.register("model", "faulty", origin.parse().expect("an origin"));
    // More than the sockets take, so that it is still being written when the connection ends.
    let body = if matches!(fault, Fault::ResetInTheRequest) { vec![b' '; 32 << 20] } else { b"{}".to_vec() };
    let request = Request::post(CHAT).body(Full::<Bytes>::from(body)).expect("a request");
    bounded(model.chat(policy).whole(1 << 20).oneshot(request)).await
}
