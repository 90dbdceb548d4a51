//! A real HTTP/1 server that logs each request that it has read whole, and then answers it, or hangs up as one that died would.

use std::{
    convert::Infallible,
    future::ready,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full, combinators::UnsyncBoxBody};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;

use super::support::Server;

/// A body that may be streamed.
pub(crate) type Body = UnsyncBoxBody<Bytes, Infallible>;

/// The request was read, and the server dies of it without an answer.
#[derive(Debug, thiserror::Error)]
#[error("the server hangs up")]
pub(crate) struct HangsUp;

pub(crate) struct HttpServer {
    server: Server,
    log: Log,
}

/// Method, path and body of each request, in the order of execution.
type Log = Arc<Mutex<Vec<String>>>;

impl HttpServer {
    /// Answers whatever it is asked with this text.
    pub(crate) async fn answering(text: &'static str) -> Self {
        Self::start(move |_| ready(Ok(whole(text)))).await
    }

    /// Reads a request, executes it, and hangs up.
    pub(crate) async fn hanging_up() -> Self {
        Self::start(|_| ready(Err(HangsUp))).await
    }

    /// What `answer` makes of each request, once that was read and logged.
    pub(crate) async fn start<Answer, Answered>(answer: Answer) -> Self
    where
        Answer: Fn(Request<Bytes>) -> Answered + Clone + Send + Sync + 'static,
        Answered: Future<Output = Result<Response<Body>, HangsUp>> + Send + 'static,
    {
        let log = Log::default();
        let executed = Arc::clone(&log);
        let server = Server::start(move |stream| {
            let (answer, executed) = (answer.clone(), Arc::clone(&executed));
            let execute = service_fn(move |request: Request<Incoming>| {
                let (answer, executed) = (answer.clone(), Arc::clone(&executed));
                async move { answer(read(request, &executed).await?).await }
            });
            async move {
                // The client sees what becomes of a connection; its end is no error of the server's.
                let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), execute).await;
            }
        })
        .await;
        Self { server, log }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// What was executed so far, each as `METHOD /path body`.
    pub(crate) fn executed(&self) -> Vec<String> {
        self.log.lock().expect("no test panics with it").clone()
    }
}

fn whole(text: &'static str) -> Response<Body> {
    Response::new(Full::from(text).boxed_unsync())
}

async fn read(request: Request<Incoming>, log: &Log) -> Result<Request<Bytes>, HangsUp> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| HangsUp)?.to_bytes();
    let line = format!("{} {} {}", head.method, head.uri.path(), String::from_utf8_lossy(&body));
    log.lock().expect("no test panics with it").push(line.trim_end().to_owned());
    Ok(Request::from_parts(head, body))
}
