//! The calls: what each asks for, and what becomes of it on the caller's side.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use tower_recovery::RequestRules;
use tower_recovery_http::{HttpRules, ReadRoutes, Silence};

use crate::audit::seed::{About, Seed};

/// One call, planned by its number.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) number: usize,
    pub(crate) kind: Kind,
    pub(crate) method: Method,
    pub(crate) body_length: usize,
    pub(crate) patience: Patience,
    /// Where the client can be told so, its request cannot be copied: it is repeated only where it is handed back.
    pub(crate) sent_once: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Write,
    Read,
    /// A read that counts, unless it is asked not to.
    SilentRead,
    /// The same, with a value of the caller's own in the place of that.
    OutspokenRead,
}

/// How long the caller stays.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Patience {
    ToTheEnd,
    /// The future is dropped when it was polled that often.
    Polls(usize),
    /// The future is dropped when an instance has read its head.
    UntilItArrives,
    /// The future is dropped after that long.
    For(Duration),
}

/// The header by which [`OnceRules`] know what can be sent once.
const SENT_ONCE: &str = "x-sent-once";
const LONG_BODY: usize = 60_000;

impl Call {
    pub(crate) fn planned(seed: Seed, number: usize) -> Self {
        let mut chance = seed.draw(About::Call, number, 0);
        let kind = match chance.u32(..100) {
            0..40 => Kind::Write,
            40..65 => Kind::Read,
            65..95 => Kind::SilentRead,
            _ => Kind::OutspokenRead,
        };
        let method = match kind {
            Kind::Write => {
                chance.choice([Method::POST, Method::PUT, Method::PATCH, Method::DELETE]).unwrap_or_default()
            }
            _ => Method::GET,
        };
        let body_length = match (kind, chance.u32(..100)) {
            (Kind::Write, 0..2) => LONG_BODY,
            (Kind::Write, _) => chance.usize(..300),
            _ => 0,
        };
        let patience = match chance.u32(..100) {
            0 => Patience::Polls(chance.usize(1..4)),
            1 => Patience::For(Duration::from_millis(chance.u64(..20))),
            2 => Patience::UntilItArrives,
            _ => Patience::ToTheEnd,
        };
        let sent_once = kind == Kind::Write && chance.u32(..4) == 0;
        Self { number, kind, method, body_length, patience, sent_once }
    }

    pub(crate) fn is_write(&self) -> bool {
        self.kind == Kind::Write
    }

    /// The query as the caller gives it.
    pub(crate) fn own_query(&self) -> Option<&'static str> {
        (self.kind == Kind::OutspokenRead).then_some("silent=false")
    }

    pub(crate) fn request(&self) -> Request<Full<Bytes>> {
        let path = match self.kind {
            Kind::Write => format!("/orders/{}", self.number),
            Kind::Read => format!("/logs/{}", self.number),
            Kind::SilentRead => format!("/artifacts/{}", self.number),
            Kind::OutspokenRead => format!("/artifacts/{}?silent=false", self.number),
        };
        let mut request = Request::builder().method(self.method.clone()).uri(path).header("x-request-id", self.number);
        if self.sent_once {
            request = request.header(SENT_ONCE, "1");
        }
        request.body(Full::from(vec![b'w'; self.body_length])).expect("it is well formed")
    }
}

/// Which of them only read.
pub(crate) fn reads() -> ReadRoutes {
    Silence::query("silent", "true")
        .and_then(|silence| ReadRoutes::safe().silent(Method::GET, "/artifacts/{id}", silence))
        .expect("the route is well formed")
}

/// The rules of HTTP, but for requests that can be sent only once.
#[derive(Clone, Debug)]
pub(crate) struct OnceRules(HttpRules<Full<Bytes>>);

impl OnceRules {
    pub(crate) fn new() -> Self {
        Self(HttpRules::new(reads()))
    }
}

impl RequestRules<Request<Full<Bytes>>> for OnceRules {
    type Method = Method;

    fn method(&self, request: &Request<Full<Bytes>>) -> Method {
        self.0.method(request)
    }

    fn access(&self, request: &Request<Full<Bytes>>, method: &Method) -> tower_recovery::Access {
        self.0.access(request, method)
    }

    fn copy(&self, request: &Request<Full<Bytes>>) -> Option<Request<Full<Bytes>>> {
        if request.headers().contains_key(SENT_ONCE) { None } else { self.0.copy(request) }
    }

    fn silence(&self, request: &mut Request<Full<Bytes>>) {
        self.0.silence(request);
    }
}
