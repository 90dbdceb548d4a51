//! An enum of calls, the errors of its transport, and a registry in memory that moves a name from one instance to the next.

use std::{
    collections::HashMap,
    error::Error,
    future::{Ready, pending, ready},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll},
};

use futures_util::future::{BoxFuture, FutureExt};
use tower::Service;
use tower_recovery::{Classify, HandleCache, Resolved, Verdict, sources};

#[derive(Clone, Debug)]
pub(crate) enum Rpc {
    Read { file: &'static str, silent: Option<bool> },
    Commit { message: &'static str },
}

#[derive(Debug, PartialEq)]
pub(crate) enum Reply {
    Done {
        generation: u64,
    },
    /// The instance does not serve this name any more.
    NotHere,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum RpcError {
    #[error("the socket was closed before the request was written")]
    NotWritten,
    #[error("the socket was closed before the reply came")]
    Lost,
    #[error("the call was denied")]
    Denied,
    #[error("the registry knows no such name")]
    Unknown,
}

#[derive(Clone, Debug)]
pub(crate) struct RpcErrors;

impl Classify<Reply> for RpcErrors {
    fn response(&self, reply: &Reply) -> Option<Verdict> {
        (*reply == Reply::NotHere).then(|| Verdict::refused().stale())
    }

    fn error(&self, error: &(dyn Error + 'static)) -> Verdict {
        match sources(error).find_map(|error| error.downcast_ref()) {
            Some(RpcError::NotWritten) => Verdict::never_sent().stale(),
            Some(RpcError::Lost) => Verdict::maybe_sent().stale(),
            Some(RpcError::Denied) => Verdict::answered(),
            Some(RpcError::Unknown) | None => Verdict::unrecognised(),
        }
    }
}

/// How an instance meets a call.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Fate {
    Serves,
    /// It has gone, and its socket is known to be closed.
    Gone,
    /// It serves another name by now.
    Moved,
    /// It serves, but not this caller.
    Denies,
    /// It executes the call, and dies of it.
    Dies,
    /// It takes the call, and is never heard of again.
    Freezes,
}

/// A handle: one instance of a service, called in process.
#[derive(Clone)]
pub(crate) struct Instance {
    generation: u64,
    fate: Fate,
    executed: Arc<Mutex<Vec<String>>>,
}

impl Service<Rpc> for Instance {
    type Response = Reply;
    type Error = RpcError;
    type Future = BoxFuture<'static, Result<Reply, RpcError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), RpcError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Rpc) -> Self::Future {
        if matches!(self.fate, Fate::Serves | Fate::Dies) {
            let line = match call {
                Rpc::Read { file, silent } => format!("#{} read {file}, silent: {silent:?}", self.generation),
                Rpc::Commit { message } => format!("#{} commit {message}", self.generation),
            };
            self.executed.lock().expect("no test panics with it").push(line);
        }
        match self.fate {
            Fate::Serves => ready(Ok(Reply::Done { generation: self.generation })).boxed(),
            Fate::Gone => ready(Err(RpcError::NotWritten)).boxed(),
            Fate::Moved => ready(Ok(Reply::NotHere)).boxed(),
            Fate::Denies => ready(Err(RpcError::Denied)).boxed(),
            Fate::Dies => ready(Err(RpcError::Lost)).boxed(),
            Fate::Freezes => pending().boxed(),
        }
    }
}

/// Who serves a name. A name that is registered again is served by the next generation.
#[derive(Clone, Default)]
pub(crate) struct Registry {
    names: Arc<Mutex<HashMap<&'static str, Instance>>>,
    executed: Arc<Mutex<Vec<String>>>,
    lookups: Arc<AtomicU32>,
}

impl Registry {
    /// A cache that holds a handle to an instance which meets this fate, while the name has moved on to one that serves.
    pub(crate) async fn left_behind(fate: Fate) -> (Self, HandleCache<Instance>) {
        let registry = Self::default();
        registry.register(fate);
        let cache = HandleCache::new(registry.clone(), "artifacts");
        cache.acquire().await.expect("the name is registered");
        registry.register(Fate::Serves);
        (registry, cache)
    }

    pub(crate) fn register(&self, fate: Fate) {
        let mut names = self.names.lock().expect("no test panics with it");
        let generation = names.get("artifacts").map_or(1, |instance| instance.generation + 1);
        names.insert("artifacts", Instance { generation, fate, executed: Arc::clone(&self.executed) });
    }

    pub(crate) fn executed(&self) -> Vec<String> {
        self.executed.lock().expect("no test panics with it").clone()
    }

    pub(crate) fn lookups(&self) -> u32 {
        self.lookups.load(Ordering::SeqCst)
    }
}

impl Service<&'static str> for Registry {
    type Response = Resolved<Instance>;
    type Error = RpcError;
    type Future = Ready<Result<Resolved<Instance>, RpcError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), RpcError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: &'static str) -> Self::Future {
        self.lookups.fetch_add(1, Ordering::SeqCst);
        let instance = self.names.lock().expect("no test panics with it").get(name).cloned();
        let resolved = |instance: Instance| Resolved::new(format!("{name}#{}", instance.generation), instance);
        ready(instance.map(resolved).ok_or(RpcError::Unknown))
    }
}
