//! How a faulty server is put together.

use std::{fmt, io};

use bytes::Bytes;
use http::{Request, Response};

use super::{
    Act, ConnectionAct, FaultyServer, RequestContext, Script, Streams,
    freeze::Freeze,
    shared::{Application, AtAccept, Shared},
};

const DEFAULT_BODY_LIMIT: usize = 64 * 1024 * 1024;

/// Builds a [`FaultyServer`].
#[must_use = "a builder does nothing until it is started"]
pub struct FaultyServerBuilder {
    application: Application,
    script: Option<Box<dyn Script>>,
    stream_scripts: Option<Box<dyn Streams>>,
    at_accept: Option<AtAccept>,
    body_limit: usize,
    #[cfg(feature = "http2")]
    http2: Option<super::http2::Http2Options>,
    #[cfg(feature = "tls")]
    tls: Option<super::tls::Certificate>,
}

impl FaultyServerBuilder {
    pub(super) fn new() -> Self {
        Self {
            application: Box::new(|_| Response::new(Bytes::new())),
            script: None,
            stream_scripts: None,
            at_accept: None,
            body_limit: DEFAULT_BODY_LIMIT,
            #[cfg(feature = "http2")]
            http2: None,
            #[cfg(feature = "tls")]
            tls: None,
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

    /// Sets what goes wrong: a list of [`Act`]s, a closure, or another [`Script`]. By default nothing does, but every answer
    /// is streamed if it is told [how](Self::streams).
    pub fn script(mut self, script: impl Script) -> Self {
        self.script = Some(Box::new(script));
        self
    }

    /// Sets how the answers are streamed of requests with the act [`Act::Stream`], which are all of them on a server without another
    /// [`script`](Self::script): one [`StreamScript`](super::StreamScript), a list, a closure, or another [`Streams`].
    pub fn streams(mut self, scripts: impl Streams) -> Self {
        self.stream_scripts = Some(Box::new(scripts));
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

    /// Lets the server speak HTTP/2 on all of its connections: with prior knowledge on cleartext, and as ALPN's `h2` over TLS.
    #[cfg(feature = "http2")]
    pub fn http2(mut self) -> Self {
        self.http2.get_or_insert_default();
        self
    }

    /// Lets the server speak HTTP/2, and refuse the streams of a connection above this number at a time: `SETTINGS` says so, and each
    /// further stream gets an `RST_STREAM` with `REFUSED_STREAM`. A refused stream is not a request: the script is not asked about it.
    ///
    /// A client that opens its streams before it has read the `SETTINGS` goes over the limit without knowing: see
    /// [`settings_behind`](Self::settings_behind).
    #[cfg(feature = "http2")]
    pub fn max_concurrent_streams(mut self, number: u32) -> Self {
        self.http2.get_or_insert_default().max_concurrent_streams = Some(number);
        self
    }

    /// Lets the server speak HTTP/2, and hold its `SETTINGS`, and all that it writes after them, back until the gate is open. It reads,
    /// runs and enforces its limits meanwhile.
    #[cfg(feature = "http2")]
    pub fn settings_behind(mut self, gate: &crate::Gate) -> Self {
        self.http2.get_or_insert_default().settings_gate = gate.clone();
        self
    }

    /// Lets the server speak TLS with this certificate. ALPN chooses `h2` on an HTTP/2 server, and `http/1.1` otherwise; a client that
    /// offers other protocols only is refused, one that offers none is served.
    #[cfg(feature = "tls")]
    pub fn tls(mut self, certificate: super::tls::Certificate) -> Self {
        self.tls = Some(certificate);
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
        #[cfg(feature = "tls")]
        let alpn = self.alpn();
        FaultyServer::start(Shared {
            application: self.application,
            script: self.script.unwrap_or_else(|| Box::new(|_: &RequestContext| Act::Stream)),
            stream_scripts: self.stream_scripts,
            at_accept: self.at_accept,
            body_limit: self.body_limit,
            #[cfg(feature = "http2")]
            http2: self.http2,
            #[cfg(feature = "tls")]
            tls: self.tls.map(|certificate| certificate.server_config(alpn)),
            freeze: Freeze::new(),
            log: Default::default(),
            streams: Default::default(),
            counts: Default::default(),
        })
    }

    /// What ALPN calls the protocol that the server speaks.
    #[cfg(feature = "tls")]
    fn alpn(&self) -> &'static [u8] {
        #[cfg(feature = "http2")]
        if self.http2.is_some() {
            return b"h2";
        }
        b"http/1.1"
    }
}

impl fmt::Debug for FaultyServerBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("FaultyServerBuilder").field("body_limit", &self.body_limit).finish_non_exhaustive()
    }
}
