//! A client that repeats nothing, and says what it saw.

use std::{error::Error, net::SocketAddr, time::Duration};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, StatusCode, header};
use http_body_util::Full;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tower_recovery_http::Protocol;

/// No test waits longer for anything.
const PATIENCE: Duration = Duration::from_secs(30);

/// What came back.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Status(StatusCode),
    /// The stream was reset by the other side with `REFUSED_STREAM`, which says that the request was not processed.
    StreamRefused,
    /// The connection ended without a byte of an answer.
    Closed,
}

/// One connection.
pub(crate) enum Connection {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr, protocol: Protocol) -> Self {
        let stream = TokioIo::new(TcpStream::connect(address).await.expect("the proxy listens"));
        if protocol == Protocol::Http1 {
            let (sender, connection) = http1::handshake(stream).await.expect("the proxy speaks HTTP/1");
            tokio::spawn(connection);
            Self::Http1(sender)
        } else {
            let (sender, connection) =
                http2::handshake(TokioExecutor::new(), stream).await.expect("the proxy speaks HTTP/2");
            tokio::spawn(connection);
            Self::Http2(sender)
        }
    }

    pub(crate) async fn send(&mut self, method: Method, id: &str) -> Seen {
        let answer = match self {
            Self::Http1(sender) => {
                let mut request = request(method, "/orders", id);
                request.headers_mut().insert(header::HOST, HeaderValue::from_static("backend"));
                sender.ready().await.expect("the connection is open");
                sender.send_request(request).await
            }
            Self::Http2(sender) => {
                let request = request(method, "http://backend/orders", id);
                sender.ready().await.expect("the connection is open");
                sender.send_request(request).await
            }
        };
        match answer {
            Ok(answer) => Seen::Status(answer.status()),
            Err(error) => seen(&error),
        }
    }
}

pub(crate) fn request(method: Method, uri: &str, id: &str) -> Request<Full<Bytes>> {
    Request::builder().method(method).uri(uri).header("x-request-id", id).body(Full::from("a book")).expect("a request")
}

pub(crate) async fn within<Output>(future: impl Future<Output = Output>) -> Output {
    tokio::time::timeout(PATIENCE, future).await.expect("the test hangs")
}

fn seen(error: &hyper::Error) -> Seen {
    let http2 = error.source().and_then(|source| source.downcast_ref::<h2::Error>());
    match http2 {
        Some(http2) if http2.is_remote() && http2.reason() == Some(h2::Reason::REFUSED_STREAM) => Seen::StreamRefused,
        None if error.is_incomplete_message() => Seen::Closed,
        _ => panic!("{error:?}"),
    }
}
