//! The protocol of the tests: calls by name, answers, faults, and what each of them proves.

use std::error::Error;

use tower_recovery::{Access, Classify, NamedRules, ReadMethods, RequestRules, Verdict, sources};

/// One call by its method's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) method: &'static str,
    pub(crate) silent: Option<bool>,
    /// What the caller tells its calls apart by.
    pub(crate) key: u32,
}

impl Call {
    /// On no list.
    pub(crate) fn write() -> Self {
        Self::to("commit")
    }

    /// Listed, and it counts nothing.
    pub(crate) fn read() -> Self {
        Self::to("list_files")
    }

    /// Listed, and it counts a view unless it is silent.
    pub(crate) fn counted_read() -> Self {
        Self::to("read")
    }

    fn to(method: &'static str) -> Self {
        Self { method, silent: None, key: 0 }
    }

    pub(crate) fn with_key(self, key: u32) -> Self {
        Self { key, ..self }
    }

    pub(crate) fn with_silent(self, silent: bool) -> Self {
        Self { silent: Some(silent), ..self }
    }
}

pub(crate) fn rules() -> NamedRules<Call> {
    rules_without_copies().copied_by(|call| Some(call.clone()))
}

/// For requests whose body flows once.
pub(crate) fn rules_without_copies() -> NamedRules<Call> {
    let reads = ReadMethods::new().read("list_files").silent("read");
    NamedRules::new(|call: &Call| call.method, reads).silenced_by(|call| {
        call.silent.get_or_insert(true);
    })
}

/// Every call is a write that may be repeated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Idempotent;

impl RequestRules<Call> for Idempotent {
    type Method = &'static str;

    fn method(&self, call: &Call) -> &'static str {
        call.method
    }

    fn access(&self, _: &Call, _: &&'static str) -> Access {
        Access::IdempotentWrite
    }

    fn copy(&self, call: &Call) -> Option<Call> {
        Some(call.clone())
    }

    fn silence(&self, _: &mut Call) {}
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// Executed, by this backend.
    Done(&'static str),
    /// Executed, and it failed there.
    Error(u16),
    /// Refused by the peer: somebody else serves this name.
    NotHere,
    /// An answer, and a hint that this backend goes away.
    LastWords,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    #[error("connection refused")]
    ConnectionRefused,
    #[error("the queue is full")]
    NotWritten,
    #[error("the certificate has expired")]
    Expired,
    #[error("read-only replica")]
    ReadOnly,
    #[error("the socket was closed before the answer came")]
    Lost,
    #[error("the answer cannot be read")]
    Garbled,
    #[error("no such file")]
    NoSuchFile,
    #[error("the session is not found")]
    SessionGone,
    #[error("nothing that the protocol knows")]
    Foreign,
}

impl Fault {
    pub(crate) const ALL: [Self; 9] = [
        Self::ConnectionRefused,
        Self::NotWritten,
        Self::Expired,
        Self::ReadOnly,
        Self::Lost,
        Self::Garbled,
        Self::NoSuchFile,
        Self::SessionGone,
        Self::Foreign,
    ];

    pub(crate) fn verdict(self) -> Verdict {
        match self {
            Self::ConnectionRefused => Verdict::never_sent().stale(),
            Self::NotWritten => Verdict::never_sent(),
            Self::Expired => Verdict::never_sent().permanent().stale(),
            Self::ReadOnly => Verdict::refused().stale(),
            Self::Lost => Verdict::maybe_sent().stale(),
            Self::Garbled => Verdict::maybe_sent(),
            Self::NoSuchFile => Verdict::answered(),
            Self::SessionGone => Verdict::answered().stale(),
            Self::Foreign => Verdict::unrecognised(),
        }
    }
}

/// The classifier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Protocol;

impl Classify<Reply> for Protocol {
    fn response(&self, reply: &Reply) -> Option<Verdict> {
        match reply {
            Reply::Done(_) | Reply::Error(_) => None,
            Reply::NotHere => Some(Verdict::refused().stale()),
            Reply::LastWords => Some(Verdict::answered().stale()),
        }
    }

    fn error(&self, error: &(dyn Error + 'static)) -> Verdict {
        let fault = sources(error).find_map(|link| link.downcast_ref::<Fault>());
        fault.map_or(Verdict::unrecognised(), |fault| fault.verdict())
    }
}
