//! A connection that ends while nobody uses it, and the request that comes too late for it.

mod support;

use std::time::Duration;

use http::StatusCode;
use tower_recovery::Delivery;
use tower_recovery_http::Origin;
use tower_recovery_test::{
    Act, CuttingProxy, FaultyServer, Registry,
    cutting::{Direction, Disturbance, Plan, Side},
    faulty::{RequestContext, Until},
};

use self::support::{Api, Client, NAME, bounded, read, registry_of, settle, write};

/// The server's answer to a first request, to the last byte.
const ANSWER: &str = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ndone";

/// A registry that names a proxy before this server.
async fn through_a_proxy(server: &FaultyServer, plans: Vec<Plan>) -> (CuttingProxy, Registry<Origin>) {
    let proxy = CuttingProxy::before(server.address()).script(plans).start().await.expect("a port is free");
    let registry = Registry::new();
    registry.register(NAME, "first", proxy.origin().parse().expect("an origin"));
    (proxy, registry)
}

/// B03: the server closes its socket right after the first answer. The second request is written before the client can see that, and
/// meets an end or a reset. Its handler never ran, but nothing that the client sees proves it: as strict as needless, this time.
#[tokio::test]
async fn b03_a_request_written_to_a_connection_that_the_server_had_closed_is_maybe_sent() {
    for client in Client::HTTP1 {
        for reset in [false, true] {
            for (second, executions) in [(write("second"), 0), (read("second"), 1)] {
                let row = format!("{client:?}, reset: {reset}, executions: {executions}");
                let server = client.serve(|server| server.script([Act::AnswerThenAbandon])).await;
                // The proxy keeps what the client would see of the end until the second request is on its way.
                let held = Plan::pass().after(Direction::ToClient, ANSWER.len() as u64, Disturbance::Freeze);
                let after = Disturbance::ResetTo(Side::Client);
                let plan = if reset { held.after(Direction::ToClient, ANSWER.len() as u64, after) } else { held };
                let (proxy, registry) = through_a_proxy(&server, vec![plan]).await;
                let api = client.api(&registry);
                bounded(api.send(write("first"))).await.unwrap();
                let sent = proxy.forwarded(Direction::ToServer);

                let calling = tokio::spawn(api.send(second));
                bounded(proxy.wait_until_forwarded(Direction::ToServer, sent + 1)).await;
                proxy.thaw();
                match (bounded(calling).await.unwrap(), executions) {
                    (outcome, 1) => assert_eq!(outcome.unwrap().status(), StatusCode::OK, "{row}"),
                    (outcome, _) => {
                        let failure = outcome.unwrap_err();
                        let proven = (failure.delivery(), failure.is_stale(), failure.attempts());
                        assert_eq!(proven, (Some(Delivery::MaybeSent), true, 1), "{row}");
                    }
                }
                assert_eq!((server.executed("first"), server.executed("second")), (1, executions), "{row}");
                assert_eq!(proxy.connections_accepted(), 1 + executions, "{row}");
            }
        }
    }
}

/// B14 (a): two idle connections get a 408 that nobody asked for, and are gone by the time of the next request: it goes out on a fresh one.
#[tokio::test]
async fn b14_a_goodbye_that_came_before_the_request_is_nobodys_answer() {
    for client in Client::HTTP1 {
        // A handle of one connection has one to lose.
        let number = if client == Client::HTTP1[0] { 2 } else { 1 };
        let (server, api, proxy) = idle(client, number).await;
        server.thaw();
        bounded(server.wait_until_timed_out(number)).await;
        bounded(proxy.wait_until_open(0)).await;
        bounded(api.sees_the_end()).await;
        settle().await;

        for request in [write("next"), read("next read")] {
            assert_eq!(bounded(api.text(request)).await.unwrap(), "done", "{client:?}");
        }
        assert_eq!((server.executed("next"), server.executed("next read")), (1, 1), "{client:?}");
        assert_eq!(proxy.connections_accepted(), number + 1, "{client:?}: one fresh connection, and it is kept");
    }
}

/// B14 (b): the request and the 408 cross on the wire. Nobody can tell it from an answer, and an answer is final; its connection is not used again.
#[tokio::test]
async fn b14_a_goodbye_that_crosses_the_request_is_taken_for_its_answer() {
    for client in Client::HTTP1 {
        let number = if client == Client::HTTP1[0] { 2 } else { 1 };
        let (server, api, proxy) = idle(client, number).await;
        let mut calls = Vec::new();
        for crossing in [write("crossing write"), read("crossing read")].into_iter().take(number) {
            let sent = proxy.forwarded(Direction::ToServer);
            calls.push(tokio::spawn(api.send(crossing)));
            bounded(proxy.wait_until_forwarded(Direction::ToServer, sent + 1)).await;
        }
        server.thaw();
        for call in calls {
            assert_eq!(bounded(call).await.unwrap().unwrap().status(), StatusCode::REQUEST_TIMEOUT, "{client:?}");
        }
        assert_eq!(server.requests_executed(), number, "{client:?}: none of those that crossed");
        bounded(proxy.wait_until_open(0)).await;
        bounded(api.sees_the_end()).await;
        settle().await;

        assert_eq!(bounded(api.text(write("next"))).await.unwrap(), "done", "{client:?}");
        assert_eq!((server.executed("next"), proxy.connections_accepted()), (1, number + 1), "{client:?}");
    }
}

/// So many idle connections, to which the server says goodbye at the next thaw.
async fn idle(client: Client, number: usize) -> (FaultyServer, Api, CuttingProxy) {
    let first_ones = move |request: &RequestContext| match request.connection <= number {
        true => Act::AnswerThenTimeOut { idle: Until::Thaw },
        false => Act::Answer,
    };
    let server = client.serve(|server| server.script(first_ones)).await;
    let (proxy, registry) = through_a_proxy(&server, Vec::new()).await;
    let api = client.api(&registry);
    // Held together, so that each needs a connection of its own.
    server.freeze();
    let calls: Vec<_> = (0..number).map(|id| tokio::spawn(api.send(write(&id.to_string())))).collect();
    bounded(server.wait_until_held(number)).await;
    server.thaw();
    for call in calls {
        bounded(call).await.expect("no panic").expect("it is answered");
    }
    assert_eq!(proxy.connections_accepted(), number);
    (server, api, proxy)
}

/// B04: a connection that has ended, in whatever way, gives the request back, and it is done once on the next. Nothing was counted, so the
/// repeat of a read is not silent.
#[tokio::test]
async fn b04_a_request_to_a_connection_that_has_ended_is_handed_back_and_done_once() {
    let goodbye = Act::AnswerThenTimeOut { idle: Until::Elapsed(Duration::ZERO) };
    for client in Client::all().filter(|client| matches!(client, Client::Connection(_))) {
        // Over HTTP/2 the second is a GOAWAY, and then the close.
        for act in [Act::AnswerThenClose, goodbye] {
            for second in [write("second"), read("second")] {
                let row = format!("{client:?}, {act:?}, {}", second.method());
                let server = client.serve(|server| server.script([act])).await;
                let registry = registry_of(&server).await;
                let api = client.api(&registry);
                bounded(api.send(write("first"))).await.unwrap();
                bounded(api.sees_the_end()).await;

                bounded(api.send(second)).await.unwrap();
                assert_eq!((server.executed("second"), server.requests_read()), (1, 2), "{row}");
                assert_eq!((server.connections_accepted(), registry.look_ups(NAME)), (2, 2), "{row}");
                assert!(server.executions().iter().all(|run| run.query.is_none()), "{row}: nothing was silenced");
            }
        }
    }
}
