//! [`RegistrationProbe`]: for a process that serves, whether the registry still serves *its* id; and if not, a registration made anew.
//!
//! A registry can forget a process whose socket stays open. An echo over that socket answers as before, every status is green, and the service resolves nowhere. So the probe
//! asks the registry, once an interval, for the process's own id; and where that is not served, it closes the connection, connects, registers, makes whatever was
//! [derived](RegistrationProbeBuilder::derives) from the connection resolve anew, and asks again whether it helped.
//!
//! **When**: in a process that registers itself somewhere and is found there by others. **Not** for the health of the process's work: see [below](#busy-is-not-gone).
//! **Where**: beside the stack, in a task of its own. How to look up, close, connect and register is said by a [`Registrar`].
//!
//! # It rebuilds, and never condemns
//!
//! A registry that fails for three minutes fails for all its processes, and recovers by itself. Whoever counts misses and restarts what it missed kills processes that were about to come
//! back; measured, in four outages of some 200 s in two days. So the probe has [no error](RegistrationProbe::run), touches no readiness and ends no process, and it
//! cancels no work: what the process does for others goes on, and its results are delivered if there is still a way. A rebuild in vain costs one reconnect.
//!
//! # When it asks, and when it rebuilds
//!
//! - Once an **interval** (60 s) while all is well. The first time at some moment of the first interval, so that processes that start together do not ask together.
//! - The registry **does not know the id**: at some moment of the **spread** (20 s), so that a fleet does not come back at one moment. The registry is asked once more before; what has repaired
//!   itself meanwhile is left alone.
//! - **No answer**: the same, since it may be our own connection that is at an end. After more look-ups without an answer if [set so](RegistrationProbeBuilder::unanswered_look_ups).
//! - At most **one rebuild an interval**, from beginning to beginning. Within it, connecting and registering are tried again after a jittered linear backoff: from the close on, and only if the
//!   registry, asked once more, still does not show us, nor anybody else. What is refused [for good](Registrar::Error) is not tried again. A rebuild that the second look-up does not
//!   confirm waits for the next one.
//! - The connection **reports its end** ([`disconnected`](RegistrationMonitor::disconnected)): transports repair themselves, so that moves the look-up to the end of a **grace** (30 s), and no more.
//! - A call **is told that this process is not registered** ([`OwnEvictionWatch`]): at once, or a twelfth of the interval after the last look-up.
//! - **Somebody else** serves under the id: nothing is rebuilt until they are gone. Two processes that take an id from each other serve nobody.
//!
//! # Busy is not gone
//!
//! A look-up that shares its way with real work can wait behind it. If it runs out of time on a connection that [heard something](Registrar::last_heard) since it began, the
//! registration is left alone, [a few times](RegistrationProbeBuilder::busy_look_ups) in a row. An error, or an answer that says no, is never taken for that; nor is silence after an answer that said no.
//!
//! # Examples
//!
//! ```
//! use std::{convert::Infallible, io, time::Duration};
//! use tower_recovery::registration::{Presence, Registrar, RegistrationProbe};
//!
//! struct Worker;
//! struct Connection;
//!
//! impl Registrar for Worker {
//!     type Connection = Connection;
//!     type Error = io::Error;
//!
//!     async fn look_up(&mut self, _connection: Option<&Connection>) -> io::Result<Presence> {
//!         // Ask the registry who serves "workspace/worker-7".
//!         Ok(Presence::Ours)
//!     }
//!
//!     async fn close(&mut self, connection: Connection) {
//!         // Say goodbye. If that hangs, the connection is dropped.
//!         drop(connection);
//!     }
//!
//!     async fn connect(&mut self) -> io::Result<Connection> {
//!         Ok(Connection)
//!     }
//!
//!     async fn register(&mut self, _connection: &Connection) -> io::Result<()> {
//!         Ok(())
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), tower_recovery::InvalidSetting> {
//! let probe = RegistrationProbe::builder(Worker)
//!     .connection(Connection)
//!     .named("registration of worker-7")
//!     .interval(Duration::from_secs(30))
//!     .build()?;
//! let mut monitor = probe.monitor();
//! let probing = tokio::spawn(probe.run());
//!
//! let status = monitor.wait_until(|status| status.is_registered()).await.expect("the probe runs");
//! assert_eq!((status.look_ups, status.rebuilds, status.flaps), (1, 0, 0));
//! probing.abort();
//! # Ok(())
//! # }
//! ```
//!
//! # Cancel safety
//!
//! See [`RegistrationProbe::run`].
//!
//! # Errors
//!
//! None after [`build`](RegistrationProbeBuilder::build). What happens is in the [status](RegistrationStatus) and the events.
//!
//! # Panics
//!
//! Those of a registrar are caught: a look-up without an answer, or a step that failed. Where no tokio runtime with a timer is there to be used, `run` panics.

mod builder;
mod derived;
mod monitor;
mod own_eviction;
mod probe;
mod registrar;
mod schedule;
mod status;
mod step;

pub use self::{
    builder::RegistrationProbeBuilder,
    monitor::RegistrationMonitor,
    own_eviction::OwnEvictionWatch,
    probe::RegistrationProbe,
    registrar::{Presence, Registrar},
    status::{RegistrationHealth, RegistrationStatus},
    step::RebuildStep,
};
