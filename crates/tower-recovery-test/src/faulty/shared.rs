//! What all tasks of one server share.

use bytes::Bytes;
use http::{HeaderMap, Request, Response};

use super::{
    Act, ConnectionAct, Execution, Script, StreamScript, Streams, freeze::Freeze, log::ExecutionLog,
    script::RequestContext, streaming::StreamLog,
};
use crate::counter::Counter;

pub(super) type Application = Box<dyn Fn(&Request<Bytes>) -> Response<Bytes> + Send + Sync>;
pub(super) type AtAccept = Box<dyn Fn(usize) -> ConnectionAct + Send + Sync>;

pub(super) struct Shared {
    pub(super) application: Application,
    pub(super) script: Box<dyn Script>,
    /// Decides about connections in the script's place.
    pub(super) at_accept: Option<AtAccept>,
    /// Missing on a server that streams nothing.
    pub(super) stream_scripts: Option<Box<dyn Streams>>,
    pub(super) body_limit: usize,
    /// Missing on a server that speaks HTTP/1.
    #[cfg(feature = "http2")]
    pub(super) http2: Option<super::http2::Http2Options>,
    /// Missing on a server without TLS.
    #[cfg(feature = "tls")]
    pub(super) tls: Option<std::sync::Arc<rustls::ServerConfig>>,
    pub(super) freeze: Freeze,
    pub(super) log: ExecutionLog,
    pub(super) streams: StreamLog,
    pub(super) counts: Counts,
}

#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) connections: Counter,
    /// Connections that neither side has ended.
    pub(super) open: Counter,
    /// TLS handshakes that a client has begun.
    pub(super) handshakes: Counter,
    pub(super) handshakes_completed: Counter,
    pub(super) heads: Counter,
    pub(super) read: Counter,
    pub(super) held: Counter,
    /// Executions that the application has returned from; the log has those that have begun.
    pub(super) executed: Counter,
    /// Idle connections to which the server has said goodbye.
    pub(super) timed_out: Counter,
    /// HTTP/2 streams that the server has refused.
    pub(super) refused: Counter,
    /// HTTP/2 streams that the client has reset.
    pub(super) cancelled: Counter,
}

impl Shared {
    pub(super) fn connection_act(&self, connection: usize) -> ConnectionAct {
        match &self.at_accept {
            Some(decide) => decide(connection),
            None => self.script.on_connection(connection),
        }
    }

    /// What happens to a request whose head was read, and how its answer is streamed if it is.
    pub(super) fn decide(&self, request: &RequestContext) -> (Act, Option<StreamScript>) {
        let act = self.script.on_request(request);
        if act != Act::Stream {
            return (act, None);
        }
        let number = self.streams.chosen.increment();
        (act, self.stream_scripts.as_ref().and_then(|scripts| scripts.on_stream(number, request)))
    }

    /// Gives a request whose head was read its numbers and its id.
    pub(super) fn context<Body>(
        &self,
        head: &Request<Body>,
        connection: usize,
        number_on_connection: usize,
    ) -> RequestContext {
        let number = self.counts.heads.increment();
        RequestContext {
            connection,
            number_on_connection,
            number,
            method: head.method().clone(),
            path: head.uri().path().to_owned(),
            query: head.uri().query().map(str::to_owned),
            stream_id: None,
            request_id: sent_id(head.headers()).unwrap_or_else(|| format!("without-id-{number}")),
        }
    }

    /// Enters an execution into the log: from here on it counts.
    pub(super) fn enter(&self, context: &RequestContext) {
        self.log.enter(Execution {
            request_id: context.request_id.clone(),
            method: context.method.clone(),
            path: context.path.clone(),
            query: context.query.clone(),
        });
    }

    /// Runs the application.
    pub(super) fn run(&self, request: &Request<Bytes>) -> Response<Bytes> {
        let _executed = IncrementOnDrop(&self.counts.executed);
        (self.application)(request)
    }
}

fn sent_id(headers: &HeaderMap) -> Option<String> {
    let id = headers.get("x-request-id")?;
    Some(String::from_utf8_lossy(id.as_bytes()).into_owned())
}

/// Counts when the application has ended, by a panic too.
struct IncrementOnDrop<'counter>(&'counter Counter);

impl Drop for IncrementOnDrop<'_> {
    fn drop(&mut self) {
        self.0.increment();
    }
}
