//! What a failure is.

use tower_recovery_http::Intermediary;
use tower_recovery_test::{Act, ConnectionAct};

use crate::clients::{Column, Http};

/// A row: what goes wrong with one `POST` that is sent once.
pub(crate) struct Failure {
    pub(crate) group: Group,
    pub(crate) name: &'static str,
    /// The protocol that alone can express it, if it is one.
    pub(crate) only: Option<Http>,
    pub(crate) peer: PeerKind,
    /// What becomes of a call before, over the same handle; its connection is left alone if it ends.
    pub(crate) before: Option<Act>,
    pub(crate) act: Act,
    pub(crate) status: u16,
    pub(crate) body: OwnBody,
    pub(crate) intermediary: Intermediary,
    /// Whether the call ends by nothing but the time-out of its attempt.
    pub(crate) is_silent: bool,
    /// Whether the system decides what the client sees first: the verdict is one of these two.
    pub(crate) is_race: bool,
}

/// Where it belongs in the guide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    Connecting,
    Tls,
    Reused,
    Unanswered,
    Broken,
    Streams,
    GoAway,
    Answers,
    Own,
}

/// Who is connected to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PeerKind {
    /// An address at which nobody listens.
    Nobody,
    /// A name that no resolver knows.
    UnknownName,
    /// A listener that lets nobody in: `SYN` is not answered.
    BlackHole,
    /// A server without TLS that does this to a connection.
    Plain(ConnectionAct),
    /// A server that does this to a connection and shows this certificate.
    Tls(ConnectionAct, Shown),
}

/// A certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    Good,
    Expired,
    OfAnotherName,
    OfAStranger,
}

/// The body of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnBody {
    Whole,
    /// It fails after its first half.
    Fails,
    /// It is fetched from elsewhere, and that connection is refused.
    FailsToConnect,
}

impl Failure {
    /// Nothing goes wrong.
    pub(crate) const NONE: Self = Self {
        group: Group::Answers,
        name: "",
        only: None,
        peer: PeerKind::Plain(ConnectionAct::Serve),
        before: None,
        act: Act::Answer,
        status: 200,
        body: OwnBody::Whole,
        intermediary: Intermediary::Absent,
        is_silent: false,
        is_race: false,
    };

    /// Whether this client has a cell in the row.
    pub(crate) fn concerns(&self, column: &Column) -> bool {
        let speaks = self.only.is_none_or(|http| http == column.http);
        speaks && (column.client.has_tls() || !matches!(self.peer, PeerKind::Tls(..)))
    }
}

impl Shown {
    pub(crate) fn is_good(self) -> bool {
        self == Self::Good
    }
}
