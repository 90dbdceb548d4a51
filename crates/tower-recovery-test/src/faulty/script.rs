//! Who decides what goes wrong.

use http::Method;

use super::{Act, ConnectionAct};

/// Decides what happens to connections and requests.
///
/// Ready-made scripts: a closure `Fn(&RequestContext) -> Act`, and a list of acts, one for each request in the order in which their heads
/// were read, with [`Act::Answer`] for all that come after. Both serve every connection.
pub trait Script: Send + Sync + 'static {
    /// Decides about the connection with this number, counted from 1, when it is accepted.
    fn on_connection(&self, connection: usize) -> ConnectionAct {
        let _ = connection;
        ConnectionAct::Serve
    }

    /// Decides about a request whose head was read.
    fn on_request(&self, request: &RequestContext) -> Act;
}

impl<Decide> Script for Decide
where
    Decide: Fn(&RequestContext) -> Act + Send + Sync + 'static,
{
    fn on_request(&self, request: &RequestContext) -> Act {
        self(request)
    }
}

impl<const LENGTH: usize> Script for [Act; LENGTH] {
    fn on_request(&self, request: &RequestContext) -> Act {
        act_of(self, request)
    }
}

impl Script for Vec<Act> {
    fn on_request(&self, request: &RequestContext) -> Act {
        act_of(self, request)
    }
}

fn act_of(acts: &[Act], request: &RequestContext) -> Act {
    acts.get(request.number - 1).copied().unwrap_or_default()
}

/// What a script knows about a request: its head, and where it stands among the others.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RequestContext {
    /// Which connection it came over, counted from 1.
    pub connection: usize,
    /// Which request of that connection it is, counted from 1.
    pub number_on_connection: usize,
    /// Which of all requests to the server it is, counted from 1 in the order in which heads were read.
    pub number: usize,
    /// The method.
    pub method: Method,
    /// The path, without the query.
    pub path: String,
    /// The query, without the `?`.
    pub query: Option<String>,
    /// Its HTTP/2 stream; `None` on HTTP/1.
    pub stream_id: Option<u32>,
    /// The header `x-request-id`, or an id made up by the server.
    pub request_id: String,
}
