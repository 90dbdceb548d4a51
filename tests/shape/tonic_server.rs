//! A real tonic server over HTTP/2 that logs each call that it executes, and then answers it, or hangs up as one that died would.

use std::{
    future::pending,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use futures_util::{StreamExt, stream, stream::BoxStream};
use hyper::server::conn::http2;
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    service::TowerToHyperService,
};
use tokio::sync::Notify;
use tonic::{Request, Response, Status};

use super::{
    greeter::{
        Greeting, Reply,
        greeter_server::{Greeter, GreeterServer},
    },
    support::Server,
};

pub(crate) struct GreeterInstance {
    server: Server,
    log: Log,
    /// Lets the last reply of a watch go.
    pub(crate) last_may_go: Arc<Notify>,
}

/// Method and name of each call, in the order of execution.
type Log = Arc<Mutex<Vec<String>>>;

impl GreeterInstance {
    pub(crate) async fn answering() -> Self {
        Self::start(Manner::Answers).await
    }

    /// Executes a call, and hangs up.
    pub(crate) async fn hanging_up() -> Self {
        Self::start(Manner::HangsUp).await
    }

    /// Executes a call, and answers that it is unavailable, in trailers alone.
    pub(crate) async fn unavailable() -> Self {
        Self::start(Manner::IsUnavailable).await
    }

    async fn start(manner: Manner) -> Self {
        let (log, last_may_go) = (Log::default(), Arc::new(Notify::new()));
        let (executed, gate) = (Arc::clone(&log), Arc::clone(&last_may_go));
        let server = Server::start(move |stream| {
            let hang_up = Arc::new(Notify::new());
            let greeter = Executing {
                log: Arc::clone(&executed),
                last_may_go: Arc::clone(&gate),
                manner,
                hang_up: Arc::clone(&hang_up),
            };
            async move {
                let greeter = TowerToHyperService::new(GreeterServer::new(greeter));
                let connection =
                    http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), greeter);
                tokio::select! {
                    _ = connection => {}
                    () = hang_up.notified() => {}
                }
            }
        })
        .await;
        Self { server, log, last_may_go }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// What was executed so far, each as `method name`.
    pub(crate) fn executed(&self) -> Vec<String> {
        self.log.lock().expect("no test panics with it").clone()
    }
}

/// The service of one connection.
struct Executing {
    log: Log,
    last_may_go: Arc<Notify>,
    manner: Manner,
    /// Closes the connection.
    hang_up: Arc<Notify>,
}

/// What follows an execution.
#[derive(Clone, Copy)]
enum Manner {
    Answers,
    HangsUp,
    IsUnavailable,
}

impl Executing {
    async fn execute(&self, method: &str, request: Request<Greeting>) -> Result<Reply, Status> {
        let Greeting { name } = request.into_inner();
        self.log.lock().expect("no test panics with it").push(format!("{method} {name}"));
        match self.manner {
            Manner::Answers => Ok(Reply { text: format!("hello {name}") }),
            Manner::HangsUp => {
                self.hang_up.notify_one();
                pending().await
            }
            Manner::IsUnavailable => Err(Status::unavailable("not now")),
        }
    }
}

#[tonic::async_trait]
impl Greeter for Executing {
    type WatchStream = BoxStream<'static, Result<Reply, Status>>;

    async fn greet(&self, request: Request<Greeting>) -> Result<Response<Reply>, Status> {
        self.execute("greet", request).await.map(Response::new)
    }

    async fn look(&self, request: Request<Greeting>) -> Result<Response<Reply>, Status> {
        self.execute("look", request).await.map(Response::new)
    }

    async fn watch(&self, request: Request<Greeting>) -> Result<Response<Self::WatchStream>, Status> {
        let first = self.execute("watch", request).await?;
        let last_may_go = Arc::clone(&self.last_may_go);
        let last = stream::once(async move {
            last_may_go.notified().await;
            Ok(Reply { text: "bye".to_owned() })
        });
        Ok(Response::new(stream::iter([Ok(first)]).chain(last).boxed()))
    }
}
