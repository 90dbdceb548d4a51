//! What a proxy says of a request that its backend has executed without an answer.

use bytes::Bytes;
use http::{Method, Response, StatusCode};
use tower_recovery_http::Protocol;
use tower_recovery_test::{Act, FaultyServer};

use super::{
    client::{Connection, Seen, within},
    proxy::RealProxy,
    proxy_config::Kind,
};

/// The backend reads a request, executes it, and then closes, resets, or closes in the middle of the head.
const DEATHS: [Act; 3] = [Act::RunThenClose, Act::RunThenReset, Act::PartialHead];

/// Whatever the reuse of connections, and on the first stream of a connection too.
#[tokio::test]
async fn haproxy_refuses_the_stream_of_a_write_that_its_backend_executed() {
    for reuse in ["never", "safe", "always"] {
        for death in DEATHS {
            let backend = backend([death, Act::Answer, death]).await;
            let Some(proxy) = RealProxy::start(Kind::Haproxy { reuse }, backend.address()).await else { return };
            within(async {
                let mut client = Connection::open(proxy.address(Protocol::Http2), Protocol::Http2).await;
                assert_eq!(client.send(Method::POST, "first").await, Seen::StreamRefused, "{reuse}, {death:?}");
                assert_eq!(client.send(Method::POST, "answered").await, Seen::Status(StatusCode::OK));
                assert_eq!(client.send(Method::POST, "third").await, Seen::StreamRefused, "{reuse}, {death:?}");
                assert_eq!([backend.executed("first"), backend.executed("third")], [1, 1], "{reuse}, {death:?}");
                // The connection that answered is the one that died next, unless the proxy keeps none for other requests.
                let connections = if reuse == "never" { 2..=3 } else { 2..=2 };
                assert!(connections.contains(&backend.connections_accepted()), "{}", backend.connections_accepted());
            })
            .await;
        }
    }
}

/// Over HTTP/1 the client is to repeat the request because it sees its connection end; with a first request, it is told.
#[tokio::test]
async fn haproxy_closes_a_kept_http_1_connection_without_a_word_after_the_execution() {
    for death in DEATHS {
        let backend = backend([death, Act::Answer, death]).await;
        let Some(proxy) = RealProxy::start(Kind::HAPROXY, backend.address()).await else { return };
        within(async {
            let address = proxy.address(Protocol::Http1);
            let mut client = Connection::open(address, Protocol::Http1).await;
            assert_eq!(client.send(Method::POST, "first").await, Seen::Status(StatusCode::BAD_GATEWAY), "{death:?}");
            let mut client = Connection::open(address, Protocol::Http1).await;
            assert_eq!(client.send(Method::POST, "answered").await, Seen::Status(StatusCode::OK));
            assert_eq!(client.send(Method::POST, "kept").await, Seen::Closed, "{death:?}");
            assert_eq!([backend.executed("first"), backend.executed("kept")], [1, 1], "{death:?}");
        })
        .await;
    }
}

#[tokio::test]
async fn nginx_answers_502_to_a_post_that_its_backend_executed() {
    for protocol in [Protocol::Http1, Protocol::Http2] {
        for death in DEATHS {
            let backend = backend([death, Act::Answer, death]).await;
            let Some(proxy) = RealProxy::start(Kind::Nginx, backend.address()).await else { return };
            within(async {
                let mut client = Connection::open(proxy.address(protocol), protocol).await;
                let bad_gateway = Seen::Status(StatusCode::BAD_GATEWAY);
                assert_eq!(client.send(Method::POST, "first").await, bad_gateway, "{protocol:?}, {death:?}");
                assert_eq!(client.send(Method::POST, "answered").await, Seen::Status(StatusCode::OK));
                assert_eq!(client.send(Method::POST, "third").await, bad_gateway, "{protocol:?}, {death:?}");
                assert_eq!([backend.executed("first"), backend.executed("third")], [1, 1]);
                assert_eq!(backend.connections_accepted(), 2, "the third went over the connection of the second");
            })
            .await;
        }
    }
}

/// No client can prevent this one. It is the reason why the load of these tests is made of POSTs.
#[tokio::test]
async fn nginx_itself_repeats_a_put_over_a_kept_connection_that_died_of_it() {
    for death in DEATHS {
        let backend = backend([Act::Answer, death, Act::Answer]).await;
        let Some(proxy) = RealProxy::start(Kind::Nginx, backend.address()).await else { return };
        within(async {
            let mut client = Connection::open(proxy.address(Protocol::Http2), Protocol::Http2).await;
            assert_eq!(client.send(Method::POST, "before").await, Seen::Status(StatusCode::OK));
            assert_eq!(client.send(Method::PUT, "put").await, Seen::Status(StatusCode::OK));
            assert_eq!(backend.executed("put"), 2, "{death:?}");
        })
        .await;
    }
}

async fn backend(acts: [Act; 3]) -> FaultyServer {
    let done = |_: &http::Request<Bytes>| Response::new(Bytes::from_static(b"done"));
    FaultyServer::builder().application(done).script(acts).start().await.expect("there are free ports")
}
