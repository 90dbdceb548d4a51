//! Field reports whose input is a socket: of Reresolve and of ReadOnlyRetry. Those of Classify stand in `http1.rs`.

mod support;

use std::{
    convert::Infallible,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use futures_util::stream;
use http::{HeaderName, Method, Response, StatusCode};
use http_body::Frame;
use http_body_util::StreamBody;
use tower::ServiceExt;
use tower_recovery::{Delivery, GiveUp, Recovery};
use tower_recovery_http::{AnswerRule, HttpFrontDoor, Origin, Protocol, ReadRoutes, SentOnce, Transport};
use tower_recovery_test::{
    Act, FaultyServer, Gate, ScriptedResolver, Step,
    faulty::{RequestContext, Until},
};

use self::support::{NAME, bounded, call, door, read, register, registry_of, request, server, settle, write};

const LEAVING: HeaderName = HeaderName::from_static("x-leaving");

/// A balancer of this protocol that answers the first request of its first connection, and 503 to the rest of them; other connections work.
async fn leaving_balancer(protocol: Protocol) -> FaultyServer {
    let is_leaving = Arc::new(AtomicBool::new(false));
    let script = {
        let is_leaving = Arc::clone(&is_leaving);
        move |request: &RequestContext| {
            is_leaving.store(request.connection == 1 && request.number_on_connection > 1, Ordering::SeqCst);
            Act::Answer
        }
    };
    let server = FaultyServer::builder().script(script).application(move |_| {
        let mut response = Response::new(Bytes::from_static(b"done"));
        if is_leaving.load(Ordering::SeqCst) {
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            response.headers_mut().insert(LEAVING, "1".parse().expect("a value"));
        }
        response
    });
    #[cfg(feature = "http2")]
    let server = if protocol == Protocol::Http2 { server.http2() } else { server };
    assert!(cfg!(feature = "http2") || protocol == Protocol::Http1);
    server.start().await.expect("a port is free")
}

#[tokio::test]
async fn b40_a_refusal_on_a_live_connection_is_an_answer_and_evicts_only_by_a_rule() {
    let unavailable = || AnswerRule::status(StatusCode::SERVICE_UNAVAILABLE);
    let of_another_kind = || unavailable().with_header(HeaderName::from_static("x-overloaded"));
    let protocols = [
        Protocol::Http1,
        #[cfg(feature = "http2")]
        Protocol::Http2,
    ];
    for protocol in protocols {
        for (rule, expected) in [
            (None, [200, 503, 503, 503]),
            (Some(of_another_kind()), [200, 503, 503, 503]),
            (Some(unavailable().with_header(LEAVING)), [200, 503, 200, 200]),
        ] {
            let server = leaving_balancer(protocol).await;
            let registry = registry_of(&server).await;
            let door = door(&registry).transport(Transport::new().protocol(protocol));
            let api = match rule {
                Some(rule) => door.stale_if(rule).build().unwrap(),
                None => door.build().unwrap(),
            };
            let mut statuses = Vec::new();
            for id in ["1", "2", "3", "4"] {
                let answer = bounded(api.clone().oneshot(read(id))).await.expect("each is answered");
                statuses.push(answer.status().as_u16());
                assert_eq!(server.executed(id), 1, "{protocol:?}: whatever it was answered, it is not sent again");
            }
            assert_eq!(statuses, expected, "{protocol:?}");
            let connections = if expected[2] == 200 { 2 } else { 1 };
            assert_eq!(server.connections_accepted(), connections, "{protocol:?}: a rule alone opens another one");
            assert_eq!(registry.look_ups(NAME), connections, "{protocol:?}");
        }
    }
}

/// B26 over HTTP: a demoted primary answers reads, and every write with a refusal that a rule knows.
#[tokio::test]
async fn b26_a_typed_refusal_of_a_live_primary_moves_a_write_by_a_rule_alone() {
    let readonly = HeaderName::from_static("x-readonly");
    for ruled in [false, true] {
        let name = readonly.clone();
        let demoted = FaultyServer::builder().application(move |request| {
            let mut response = Response::new(Bytes::from_static(b"done"));
            if request.method() == Method::POST {
                *response.status_mut() = StatusCode::CONFLICT;
                response.headers_mut().insert(name.clone(), "1".parse().expect("a value"));
            }
            response
        });
        let (demoted, promoted) = (demoted.start().await.unwrap(), server().await.unwrap());
        let registry = registry_of(&demoted).await;
        let rule = || AnswerRule::status(StatusCode::CONFLICT).with_header(readonly.clone());
        let door = door(&registry);
        let door = if ruled { door.refused_if(rule()).stale_if(rule()) } else { door };
        let api = door.build().unwrap();
        bounded(api.clone().oneshot(read("read"))).await.unwrap();
        register(&registry, "second", &promoted);
        bounded(api.clone().oneshot(read("again"))).await.unwrap();
        assert_eq!((demoted.executed("again"), registry.look_ups(NAME)), (1, 1), "an answered read evicts nothing");

        let answer = bounded(api.oneshot(write("write"))).await.unwrap();
        assert_eq!(answer.status().as_u16(), if ruled { 200 } else { 409 });
        assert_eq!((demoted.executed("write"), promoted.executed("write")), (1, usize::from(ruled)));
        assert_eq!(registry.look_ups(NAME), 1 + usize::from(ruled));
    }
}

/// B36: the old instance ends its connection, by a close or with a 421, and goes on accepting; the look-up takes its time.
#[tokio::test]
async fn b36_a_zombie_that_accepts_again_gets_no_connection_while_the_name_is_looked_up() {
    for drops in [true, false] {
        let zombie = FaultyServer::builder()
            .script(move |request: &RequestContext| match request.number {
                1..=5 => Act::Answer,
                6 if drops => Act::ReadThenClose,
                _ => Act::RejectAtHead { status: StatusCode::MISDIRECTED_REQUEST, unread: Until::Never },
            })
            .start()
            .await
            .unwrap();
        let (gate, new) = (Gate::new(), server().await.unwrap());
        let origin = |server: &FaultyServer| server.origin().parse::<Origin>().expect("an origin");
        let resolver = ScriptedResolver::new([
            Step::resolved("first", origin(&zombie)),
            Step::resolved("second", origin(&new)).behind(&gate),
        ]);
        // Each clone has used the handle, and keeps a copy of it.
        let mut clones = vec![Recovery::http(resolver.clone(), NAME).build().unwrap(); 5];
        for clone in &mut clones {
            bounded(call(clone, write("before"))).await.unwrap();
        }
        let before = zombie.connections_accepted();
        let mut calls = clones.into_iter().map(|mut clone| {
            tokio::spawn(async move {
                let method = if drops { Method::GET } else { Method::POST };
                call(&mut clone, request(method, "/commit", "after")).await
            })
        });
        let first = calls.next().expect("there are five");
        bounded(resolver.wait_until_resolves(2)).await;
        let calls: Vec<_> = [first].into_iter().chain(calls).collect();
        settle().await;
        assert_eq!((zombie.connections_accepted(), new.connections_accepted()), (before, 0));
        gate.open();
        for call in calls {
            assert_eq!(bounded(call).await.unwrap().unwrap(), "done");
        }
        assert_eq!((zombie.connections_accepted(), zombie.executed("after")), (before, 0));
        assert_eq!((new.executed("after"), resolver.resolves()), (5, 2));
    }
}

#[tokio::test]
async fn b41_a_connection_that_stalls_is_left_for_a_new_one_to_the_same_address() {
    let server = FaultyServer::builder()
        .application(|_| Response::new(Bytes::from_static(b"done")))
        .script(|request: &RequestContext| match (request.connection, request.number_on_connection) {
            (1, 2..) => Act::FreezeThenRun,
            _ => Act::Answer,
        })
        .start()
        .await
        .unwrap();
    let mut api = door(&registry_of(&server).await).attempt_timeout(Duration::from_millis(400)).build().unwrap();
    call(&mut api, write("first")).await.unwrap();

    let failure = call(&mut api, write("stalled")).await.unwrap_err();
    assert_eq!((failure.delivery(), failure.is_stale()), (Some(Delivery::MaybeSent), true));
    call(&mut api, write("next")).await.unwrap();
    assert_eq!((server.executed("stalled"), server.executed("next")), (0, 1));
    assert_eq!(server.connections_accepted(), 2);
}

#[tokio::test]
async fn b59_a_repeat_goes_out_with_its_whole_body_or_not_at_all() {
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&bodies);
    let server = FaultyServer::builder()
        .application(move |request| {
            seen.lock().expect("no holder panics").push(request.body().clone());
            Response::new(Bytes::from_static(b"done"))
        })
        .script([Act::RunThenClose, Act::Answer, Act::RunThenClose])
        .start()
        .await
        .unwrap();
    let registry = registry_of(&server).await;
    let search = || ReadRoutes::listed_only().read(Method::POST, "/search").unwrap();

    // (a) Bytes are copied: the second attempt is the first to the byte.
    let mut api = door(&registry).reads(search()).build().unwrap();
    call(&mut api, request(Method::POST, "/search", "bytes")).await.unwrap();
    assert_eq!(*bodies.lock().unwrap(), ["a body", "a body"]);

    // (b) A stream is taken once: the read is not repeated, and says what became of it.
    let frames = ["a ", "stream"].map(|part| Ok::<_, Infallible>(Frame::data(Bytes::from_static(part.as_bytes()))));
    let streamed = request(Method::POST, "/search", "stream");
    let streamed = streamed.map(|_| SentOnce::new(StreamBody::new(stream::iter(frames))));
    let api = door(&registry).reads(search()).build().unwrap();
    let failure = api.oneshot(streamed).await.unwrap_err();
    assert_eq!(failure.gave_up(), Some(GiveUp::NoRequest));
    assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::MaybeSent), 1));
    assert_eq!(
        (server.executed("stream"), bodies.lock().unwrap().last().unwrap().as_ref()),
        (1, b"a stream".as_slice())
    );
}
