//! Bodies that outlive their call: how each end of one is told, and what becomes of its handle.

#[path = "../support/mod.rs"]
mod support;

mod breaks;
mod ends;
mod in_memory;

use std::fmt;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Request, Response};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use tower::ServiceExt;
use tower_recovery::Failure;
use tower_recovery_http::{Origin, Protocol, StreamedBody, StreamingHttpStack, Transport};
use tower_recovery_test::{FaultyServer, Registry, faulty::FaultyServerBuilder};

use self::support::{bounded, door};

type Api = StreamingHttpStack<Full<Bytes>>;

/// Every version that this build speaks.
fn protocols() -> impl Iterator<Item = Protocol> {
    let all = [Protocol::Http1].into_iter();
    #[cfg(feature = "http2")]
    let all = all.chain([Protocol::Http2]);
    all
}

async fn serve(protocol: Protocol, configure: impl FnOnce(FaultyServerBuilder) -> FaultyServerBuilder) -> FaultyServer {
    let server = configure(FaultyServer::builder().application(|_| Response::new(Bytes::from_static(b"done"))));
    let server = if protocol == Protocol::Http1 { server } else { server.http2() };
    server.start().await.expect("a port is free")
}

fn api(registry: &Registry<Origin>, protocol: Protocol) -> Api {
    let door = door(registry).transport(Transport::new().protocol(protocol));
    door.build_streaming().expect("the settings fit together")
}

async fn send(api: &Api, request: Request<Full<Bytes>>) -> Response<StreamedBody<Incoming>> {
    bounded(api.clone().oneshot(request)).await.expect("a head comes")
}

/// What came of a body, and how it ended.
#[derive(Debug)]
struct Read {
    data: Bytes,
    trailers: Option<HeaderMap>,
    end: Result<(), Failure>,
}

/// Reads a body to its end, and makes sure that it is one.
async fn read_out<Streamed>(mut body: Streamed) -> Read
where
    Streamed: Body<Data = Bytes, Error = Failure> + fmt::Debug + Unpin,
{
    let (mut data, mut trailers) = (BytesMut::new(), None);
    let end = loop {
        match bounded(body.frame()).await {
            None => break Ok(()),
            Some(Err(failure)) => break Err(failure),
            Some(Ok(frame)) => match frame.into_data() {
                Ok(part) => data.extend_from_slice(&part),
                Err(frame) => trailers = frame.into_trailers().ok(),
            },
        }
    };
    assert!(body.is_end_stream() && body.size_hint().exact() == Some(0), "{body:?}");
    assert!(bounded(body.frame()).await.is_none(), "after its end there is nothing, not the end again: {body:?}");
    Read { data: data.freeze(), trailers, end }
}

#[test]
fn stacks_and_bodies_cross_threads() {
    fn crosses<Value: Send + Sync + Unpin + 'static>() {}
    fn is_a_future_that_moves<Stack>()
    where
        Stack: tower::Service<Request<Full<Bytes>>, Future: Send> + Clone + Send + Sync,
    {
    }
    crosses::<StreamedBody<Incoming>>();
    is_a_future_that_moves::<Api>();
}
