//! What a process must be able to do about its registration.

use std::future::Future;

use tokio::time::Instant;
use tower::BoxError;

use crate::Identity;

/// How a process is known to its registry: how it asks, and the three steps by which it becomes known anew.
///
/// The [`RegistrationProbe`](super::RegistrationProbe) owns the connection between the steps. It gives it away to be closed before it asks for
/// another one, so that there are never two under one id: a registry may answer the second by evicting the first.
///
/// Several services that are registered over one connection have one registrar and one probe, since two probes would close it under each other: it registers all of them, and a look-up says
/// [`Ours`](Presence::Ours) if all are, [`Another`](Presence::Another) if somebody else has one of them, and [`Missing`](Presence::Missing) otherwise.
///
/// The futures are bounded in time by the probe and may be dropped at each await. A panic in one of them is caught and counts as a step that failed,
/// or as a look-up without an answer.
pub trait Registrar: Send + 'static {
    /// The connection over which the process is registered: what has to be closed so that it can be made anew.
    ///
    /// Dropping it must free the process's end of it: that is how a close that hangs ends. If the rest of the process uses the connection too, give it away in
    /// [`connect`](Self::connect) or [`register`](Self::register) (through a `watch`, as a `Weak`), and by a way that ends with the close: a strong `Arc` elsewhere would keep it open behind the next one.
    type Connection: Send + Sync + 'static;

    /// Why a step failed. If the same step will fail in the same way (a wrong workspace, a name that is not allowed), say so by a
    /// [`Failure`](crate::Failure) that is [permanent](crate::Verdict::permanent), at the top or among the sources: then it is not repeated within the interval.
    type Error: Into<BoxError>;

    /// Asks the registry whom it serves under this process's id.
    ///
    /// Ask the registry, not the socket, and on a lane of its own where there is one: a connection answers whatever the registry holds, and a queue of
    /// work in front of the question makes a busy process look dead. `connection` is `None` while there is none.
    ///
    /// # Errors
    ///
    /// The registry gave no answer, or none that is one. "There is no such service" is an answer: [`Presence::Missing`].
    fn look_up(
        &mut self,
        connection: Option<&Self::Connection>,
    ) -> impl Future<Output = Result<Presence, Self::Error>> + Send;

    /// Closes a connection, so that its id is free again. It is closed for good when this future has ended, or was dropped because it took too long.
    fn close(&mut self, connection: Self::Connection) -> impl Future<Output = ()> + Send;

    /// Connects under the same id as before.
    ///
    /// # Errors
    ///
    /// There is no connection, and nothing of an attempt at one is left behind.
    fn connect(&mut self) -> impl Future<Output = Result<Self::Connection, Self::Error>> + Send;

    /// Registers the process's services over a new connection. It must fail, and not take over, where somebody else serves under the id.
    ///
    /// # Errors
    ///
    /// The registry refused, or did not answer.
    fn register(&mut self, connection: &Self::Connection) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// When the connection last received anything, if that is known. A look-up that ran out of time on a connection that heard something since it began is
    /// [busy](super#busy-is-not-gone), and not gone.
    fn last_heard(&self, connection: &Self::Connection) -> Option<Instant> {
        let _ = connection;
        None
    }
}

/// Whom a registry serves under the id of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Presence {
    /// This process, by the registration that was made over its present connection. What is left of an earlier one is [`Missing`](Self::Missing), and so is
    /// whatever is found while there is no connection.
    Ours,
    /// Nobody, or what is left of an earlier registration of this process.
    Missing,
    /// Somebody else, who lives. This process will not take the id from them.
    Another(Identity),
}
