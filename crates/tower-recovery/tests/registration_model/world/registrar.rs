//! The process's way to the registry: each step ends as the script says, as far as the registry's state lets it.

use std::{future::pending, io, time::Duration};

use tokio::time::{Instant, sleep};
use tower::BoxError;
use tower_recovery::{
    Failure, Identity, Verdict,
    registration::{Presence, Registrar},
};

use super::{Connection, World};
use crate::{
    record::{Answer, End, Kind, Outcome, What},
    script::{Close, Connect, LookUp, Register},
};

impl Registrar for World {
    type Connection = Connection;
    type Error = BoxError;

    async fn look_up(&mut self, connection: Option<&Connection>) -> Result<Presence, BoxError> {
        let connection = connection.map(|connection| connection.id);
        let mut step = self.begin(Kind::LookUp { connection }, End::LookUp(Answer::TimedOut { busy: false }));
        let (takes, end) = self.lock().ends.look_up();
        let began = self.truth(connection);
        if end == LookUp::HangsBusy {
            pause(takes / 4 + 1).await;
            self.lock().heard = Some(Instant::now());
            // Whoever has no connection hears nothing.
            step.end = End::LookUp(Answer::TimedOut { busy: connection.is_some() });
        } else {
            pause(takes).await;
        }
        let answer = match end {
            LookUp::Truth => self.truth(connection),
            LookUp::Stale => began,
            LookUp::Ours => Answer::Ours,
            LookUp::Missing => Answer::Missing,
            LookUp::Another => Answer::Another,
            LookUp::Error | LookUp::Panics => Answer::Error,
            LookUp::Hangs | LookUp::HangsBusy => pending().await,
        };
        step.end = End::LookUp(answer);
        match answer {
            Answer::Ours => Ok(Presence::Ours),
            Answer::Missing => Ok(Presence::Missing),
            Answer::Another => Ok(Presence::Another(Identity::from("another"))),
            _ if end == LookUp::Panics => panic_quietly(),
            _ => Err(transient()),
        }
    }

    async fn close(&mut self, connection: Connection) {
        let id = connection.id;
        let mut step = self.begin(Kind::Close { connection: id }, End::Close { timed_out: true });
        let (takes, end) = self.lock().ends.close();
        if let Close::Hangs { seen: true } | Close::Panics { seen: true } = end {
            self.lock().registry.end(id);
        }
        pause(takes).await;
        if let Close::Hangs { .. } = end {
            pending::<()>().await;
        }
        step.end = End::Close { timed_out: false };
        if let Close::Panics { .. } = end {
            panic_quietly();
        }
        self.lock().registry.end(id);
        drop(connection);
    }

    async fn connect(&mut self) -> Result<Connection, BoxError> {
        let mut step = self.begin(Kind::Connect, End::Connect(Outcome::Failed));
        let (takes, end) = self.lock().ends.connect();
        pause(takes).await;
        let accepted = match end {
            Connect::Works | Connect::HalfDone { .. } => self.lock().registry.accept(),
            _ => None,
        };
        match (end, accepted) {
            (Connect::Works, Some(id)) => {
                step.end = End::Connect(Outcome::Done);
                Ok(self.hold(id))
            }
            (Connect::Hangs | Connect::HalfDone { hangs: true }, _) => pending().await,
            (Connect::Panics, _) => panic_quietly(),
            (Connect::RefusedForGood, _) => {
                step.end = End::Connect(Outcome::FailedForGood);
                Err(for_good())
            }
            _ => Err(transient()),
        }
    }

    async fn register(&mut self, connection: &Connection) -> Result<(), BoxError> {
        let id = connection.id;
        let mut step = self.begin(Kind::Register { connection: id }, End::Register(Outcome::Failed));
        let (takes, end) = self.lock().ends.register();
        pause(takes).await;
        let registered = match end {
            Register::Works | Register::HalfDone { .. } => self.lock().registry.register(id),
            _ => None,
        };
        match end {
            Register::Works if registered.is_none() => Err(transient()),
            Register::Works | Register::Dropped => {
                step.end = End::Register(Outcome::Done);
                Ok(())
            }
            Register::Hangs | Register::HalfDone { hangs: true } => pending().await,
            Register::Panics => panic_quietly(),
            Register::RefusedForGood => {
                step.end = End::Register(Outcome::FailedForGood);
                Err(for_good())
            }
            Register::Refused | Register::HalfDone { hangs: false } => Err(transient()),
        }
    }

    fn last_heard(&self, _connection: &Connection) -> Option<Instant> {
        self.lock().heard
    }
}

impl World {
    /// A step is written down from its beginning to its end, and that is said here if it is dropped before.
    fn begin(&self, kind: Kind, dropped: End) -> Step {
        let mut inner = self.lock();
        inner.saw(What::Began(kind));
        Step { world: self.clone(), end: dropped }
    }

    fn truth(&self, connection: Option<u32>) -> Answer {
        let inner = self.lock();
        if inner.registry.serves_another() {
            Answer::Another
        } else if connection.is_some_and(|connection| inner.registry.serves(connection)) {
            Answer::Ours
        } else {
            Answer::Missing
        }
    }
}

struct Step {
    world: World,
    end: End,
}

impl Drop for Step {
    fn drop(&mut self) {
        let Ok(mut inner) = self.world.0.lock() else { return };
        inner.saw(What::Ended(self.end));
    }
}

async fn pause(milliseconds: u16) {
    if milliseconds > 0 {
        sleep(Duration::from_millis(milliseconds.into())).await;
    }
}

/// Without a message on standard error.
fn panic_quietly() -> ! {
    std::panic::resume_unwind(Box::new("the registrar panics by the script"))
}

fn transient() -> BoxError {
    io::Error::from(io::ErrorKind::ConnectionRefused).into()
}

fn for_good() -> BoxError {
    Failure::new(Verdict::refused().permanent(), io::Error::from(io::ErrorKind::PermissionDenied)).into()
}
