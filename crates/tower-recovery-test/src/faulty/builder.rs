//! How a faulty server is put together.

use std::{fmt, io};

use bytes::Bytes;
use http::{Request, Response};

use super::{
    Act, ConnectionAct, FaultyServer, Script,
    freeze::Freeze,
    shared::{Application, AtAccept, Shared},
};

const DEFAULT_BODY_LIMIT: usize = 64 * 1024 * 1024;

/// Builds a [`FaultyServer`].
#[must_use = "a builder does nothing until it is started"]
pub struct FaultyServerBuilder {
    application: Application,
    script: Box<dyn Script>,
    at_accept: Option<AtAccept>,
    body_limit: usize,
}

impl FaultyServerBuilder {
    pub(super) fn new() -> Self {
        Self {
            application: Box::new(|_| Response::new(Bytes::new())),
            script: Box::new(Vec::<Act>::new()),
            at_accept: None,
            body_limit: DEFAULT_BODY_LIMIT,
        }
    }

    /// Sets what an execution does. By default it answers 200 with an empty body.
    ///
    /// It must not block for long: it runs on the runtime's own threads.
    pub fn application(
        mut self,
        application: impl Fn(&Request<Bytes>) -> Response<Bytes> + Send + Sync + 'static,
    ) -> Self {
        self.application = Box::new(application);
        self
    }

    /// Sets what goes wrong: a list of [`Act`]s, a closure, or another [`Script`]. By default nothing does.
    pub fn script(mut self, script: impl Script) -> Self {
        self.script = Box::new(script);
        self
    }

    /// Sets what happens to the connection with a number, counted from 1, when it is accepted; the script is not asked about connections
    /// any more.
    pub fn at_accept(mut self, decide: impl Fn(usize) -> ConnectionAct + Send + Sync + 'static) -> Self {
        self.at_accept = Some(Box::new(decide));
        self
    }

    /// Sets how many bytes the body of a request may have; a longer one ends its connection. The default is 64 MiB.
    pub fn body_limit(mut self, bytes: usize) -> Self {
        self.body_limit = bytes;
        self
    }

    /// Starts the server on a free port of 127.0.0.1, on the current tokio runtime.
    ///
    /// # Errors
    ///
    /// If no socket can be bound.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime with I/O and time enabled.
    pub async fn start(self) -> io::Result<FaultyServer> {
        FaultyServer::start(Shared {
            application: self.application,
            script: self.script,
            at_accept: self.at_accept,
            body_limit: self.body_limit,
            freeze: Freeze::new(),
            log: Default::default(),
            counts: Default::default(),
        })
    }
}

impl fmt::Debug for FaultyServerBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("FaultyServerBuilder").field("body_limit", &self.body_limit).finish_non_exhaustive()
    }
}
