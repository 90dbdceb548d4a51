//! One write through the front door, with and without the knowledge of the proxy.

use bytes::Bytes;
use http::{Method, Response, StatusCode};
use tower_recovery::Delivery;
use tower_recovery_http::{Intermediary, Protocol};
use tower_recovery_test::{Act, FaultyServer};

use super::{
    client::within,
    load::{End, call, door},
    proxy::RealProxy,
    proxy_config::Kind,
};

/// The client believes haproxy's `REFUSED_STREAM`, as it may believe a direct peer's.
#[tokio::test]
async fn a_client_that_does_not_know_of_haproxy_executes_a_write_twice() {
    let Some((end, executed)) = write(Kind::HAPROXY, Protocol::Http2, Intermediary::Absent).await else { return };
    assert_eq!(end, End::Answered(StatusCode::OK));
    assert_eq!(executed, 2);
}

#[tokio::test]
async fn a_client_that_knows_of_haproxy_executes_it_once_and_says_that_it_may_have() {
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let Some((end, executed)) = write(Kind::HAPROXY, protocol, Intermediary::Present).await else { return };
        assert_eq!(end, End::Failed(Some(Delivery::MaybeSent)), "{protocol:?}");
        assert_eq!(executed, 1, "{protocol:?}");
    }
}

#[tokio::test]
async fn behind_nginx_the_write_is_executed_once_and_answered_with_502() {
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let Some((end, executed)) = write(Kind::Nginx, protocol, Intermediary::Present).await else { return };
        assert_eq!(end, End::Answered(StatusCode::BAD_GATEWAY), "{protocol:?}");
        assert_eq!(executed, 1, "{protocol:?}");
    }
}

/// A read is repeated all the same.
#[tokio::test]
async fn a_read_behind_haproxy_is_repeated_whatever_the_client_knows() {
    for intermediary in [Intermediary::Absent, Intermediary::Present] {
        let Some((end, _)) = send(Method::GET, Kind::HAPROXY, Protocol::Http2, intermediary).await else { return };
        assert_eq!(end, End::Answered(StatusCode::OK), "{intermediary:?}");
    }
}

async fn write(kind: Kind, protocol: Protocol, intermediary: Intermediary) -> Option<(End, usize)> {
    send(Method::POST, kind, protocol, intermediary).await
}

/// Sends a request over connections that were used before; the backend executes it, and closes without an answer. Gives what the client
/// saw, and how often it was executed.
async fn send(method: Method, kind: Kind, protocol: Protocol, intermediary: Intermediary) -> Option<(End, usize)> {
    let done = |_: &http::Request<Bytes>| Response::new(Bytes::from_static(b"done"));
    let acts = [Act::Answer, Act::RunThenClose];
    let backend = FaultyServer::builder().application(done).script(acts).start().await.expect("there are free ports");
    let proxy = RealProxy::start(kind, backend.address()).await?;
    within(async {
        let mut door = door(&proxy, protocol, intermediary);
        assert_eq!(call(&mut door, Method::POST, "before").await, End::Answered(StatusCode::OK));
        let end = call(&mut door, method, "disturbed").await;
        Some((end, backend.executed("disturbed")))
    })
    .await
}
