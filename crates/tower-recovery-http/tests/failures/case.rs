//! What a failure is.

use tower_recovery_http::Intermediary;
use tower_recovery_test::{Act, ConnectionAct, faulty::StreamScript};

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
    /// How an answer is streamed, by the act for that.
    pub(crate) stream: Option<fn() -> StreamScript>,
    pub(crate) status: u16,
    pub(crate) body: OwnBody,
    pub(crate) intermediary: Intermediary,
    /// Where the client waits until its time is over, if nothing else ends the call.
    pub(crate) silence: Option<Silence>,
    /// Whether the client has looked before the end of its connection, and sends after it.
    pub(crate) is_late: bool,
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
    /// A server that answers a request with what is not HTTP.
    Garbage,
    /// A server without TLS that does this to a connection.
    Plain(ConnectionAct),
    /// A server that does this to a connection and shows this certificate.
    Tls(ConnectionAct, Shown),
}

/// Where a client waits for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Silence {
    Connecting,
    /// The server has the request and holds it.
    Held,
    Executed,
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
        stream: None,
        status: 200,
        body: OwnBody::Whole,
        intermediary: Intermediary::Absent,
        silence: None,
        is_late: false,
        is_race: false,
    };

    /// Whether this client has a cell in the row.
    pub(crate) fn concerns(&self, column: &Column) -> bool {
        let speaks = self.only.is_none_or(|http| http == column.http);
        // A pool looks by itself, and nobody can come between.
        let may_be_late = !self.is_late || column.client.is_connected_by_the_resolver();
        speaks && may_be_late && (column.client.has_tls() || !matches!(self.peer, PeerKind::Tls(..)))
    }

    /// What becomes of the call before, where there is one.
    ///
    /// A client of HTTP/2 that is still busy with the settings of a new connection may learn of a reset by a write, before it has read what came with
    /// it: there a call goes before, so that it has nothing to write.
    pub(crate) fn before(&self, column: &Column) -> Option<Act> {
        let resets = matches!(self.act, Act::ReadThenReset | Act::RunThenReset | Act::PartialBodyThenReset { .. });
        let warmed_up = (resets && column.http == Http::Two).then_some(Act::Answer);
        self.before.or(warmed_up)
    }

    /// Whether its connection had ended before the call.
    pub(crate) fn is_ended_before(&self) -> bool {
        self.before.is_some_and(|before| before != Act::Answer)
    }
}

impl Shown {
    pub(crate) fn is_good(self) -> bool {
        self == Self::Good
    }
}
