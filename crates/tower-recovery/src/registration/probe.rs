//! Carries out what the schedule orders, each step bounded in time and its panic caught.

use std::{
    convert::Infallible,
    fmt,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::Arc,
};

use futures_util::future::select;
use tokio::{
    sync::watch,
    time::{Instant, timeout_at},
};
use tower::BoxError;

use super::{
    Presence, RebuildStep, Registrar, RegistrationMonitor, RegistrationProbeBuilder, RegistrationStatus,
    derived::Derived,
    monitor::Signals,
    schedule::{Meaning, Order, Schedule, Sight, StepOutcome, Times},
    status::News,
    step::{StepError, bounded},
};
use crate::{Identity, RecoveryEvent, event::Reporter};

/// Asks the registry once an interval whether it still serves this process, and registers it anew where it does not. See the [module documentation](super).
#[must_use = "a probe does nothing before it runs"]
pub struct RegistrationProbe<R: Registrar> {
    pub(super) registrar: R,
    pub(super) connection: Option<R::Connection>,
    pub(super) derived: Vec<Arc<dyn Derived>>,
    pub(super) name: Arc<str>,
    pub(super) reporter: Reporter,
    pub(super) times: Times,
    pub(super) schedule: Schedule,
    pub(super) status: watch::Sender<RegistrationStatus>,
    pub(super) signals: Arc<Signals>,
}

impl<R: Registrar> RegistrationProbe<R> {
    /// A probe of this process's registration, with bounds and a name of your choice.
    pub fn builder(registrar: R) -> RegistrationProbeBuilder<R> {
        RegistrationProbeBuilder::new(registrar)
    }

    /// Reads and watches what the probe knows, and tells it what others notice.
    #[must_use]
    pub fn monitor(&self) -> RegistrationMonitor {
        RegistrationMonitor::new(self.status.subscribe(), Arc::clone(&self.signals))
    }

    /// Probes for as long as it is polled. It has no end and no error, and what it finds it says through its [`monitor`](Self::monitor) alone.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the probe, and drops the connection with it. A process that shuts down does that before it takes itself off the registry, so that nothing puts it back; one
    /// that needs the connection for it takes [`run_until`](Self::run_until).
    pub async fn run(mut self) -> Infallible {
        self.probe().await
    }

    /// Probes until the process shuts down, and gives the registrar back, and the connection if there is one: so that the process can take itself off the registry over it, and close it.
    ///
    /// Once `shutdown` has ended nothing is begun any more, and a step under way is dropped. A connection that was being closed, or made, is gone then; of one over which the process was registering
    /// nobody knows whether it is registered.
    ///
    /// ```
    /// # use std::io;
    /// # use tower_recovery::registration::{Presence, Registrar, RegistrationProbe};
    /// # struct Worker;
    /// # struct Connection;
    /// # impl Worker { async fn unregister(&mut self, _: &Connection) {} }
    /// # impl Registrar for Worker {
    /// #     type Connection = Connection;
    /// #     type Error = io::Error;
    /// #     async fn look_up(&mut self, _: Option<&Connection>) -> io::Result<Presence> { Ok(Presence::Ours) }
    /// #     async fn close(&mut self, _: Connection) {}
    /// #     async fn connect(&mut self) -> io::Result<Connection> { Ok(Connection) }
    /// #     async fn register(&mut self, _: &Connection) -> io::Result<()> { Ok(()) }
    /// # }
    /// # async fn serve(probe: RegistrationProbe<Worker>, shutdown: tokio::sync::oneshot::Receiver<()>) {
    /// let (mut worker, connection) = probe.run_until(async { shutdown.await.unwrap_or_default() }).await;
    /// if let Some(connection) = connection {
    ///     worker.unregister(&connection).await;
    ///     worker.close(connection).await;
    /// }
    /// # }
    /// ```
    ///
    /// # Cancel safety
    ///
    /// As [`run`](Self::run).
    pub async fn run_until(mut self, shutdown: impl Future<Output = ()>) -> (R, Option<R::Connection>) {
        let mut probing = Box::pin(self.probe());
        select(pin!(shutdown), &mut probing).await;
        // A step that panics while it is dropped is no reason to keep the connection.
        let _panic = catch_unwind(AssertUnwindSafe(|| drop(probing)));
        (self.registrar, self.connection)
    }

    async fn probe(&mut self) -> Infallible {
        loop {
            match self.schedule.next(Instant::now()) {
                Order::WaitUntil(until) => self.wait(until).await,
                Order::LookUp => self.look_up().await,
                Order::Close { attempt } => self.close(attempt).await,
                Order::Connect => self.connect().await,
                Order::Register => self.register().await,
            }
        }
    }

    async fn wait(&mut self, until: Instant) {
        let _elapsed = timeout_at(until, self.signals.noticed()).await;
        self.hear();
    }

    /// Tells the schedule what was noticed since, so that it knows in which of its stages that was. A call that was told of an eviction is the last word: it is proof, and the end of a connection is not.
    fn hear(&mut self) {
        let (disconnected, evicted) = self.signals.take();
        let now = Instant::now();
        // Without a connection there is no transport that could repair itself.
        if disconnected && self.connection.is_some() {
            self.schedule.disconnected(now);
        }
        if evicted {
            self.schedule.look_up_now(now);
        }
    }

    async fn look_up(&mut self) {
        let began = Instant::now();
        let (registrar, connection) = (&mut self.registrar, self.connection.as_ref());
        let answer = bounded(self.times.look_up_timeout, async { registrar.look_up(connection).await }).await;
        // What was noticed meanwhile may be all that there is to it.
        self.hear();
        let Seen { sight, other, cause } = self.judge(answer, began);
        let now = Instant::now();
        let meaning = self.schedule.looked_up(sight, now, fastrand::f64());
        let mut news = None;
        self.status.send_modify(|status| news = status.looked_up(meaning, other, now));
        match meaning {
            Meaning::Confirmed => {
                self.report(RecoveryEvent::RegistrationRebuilt { name: self.name(), confirmed: true })
            }
            Meaning::Unconfirmed => {
                self.report(RecoveryEvent::RegistrationRebuilt { name: self.name(), confirmed: false });
            }
            Meaning::Registered | Meaning::Failing | Meaning::Superseded | Meaning::Undecided => {}
        }
        self.tell(news, cause, now);
    }

    /// What an answer shows. Without a connection nothing that the registry holds can be ours.
    fn judge(&self, answer: Result<Presence, StepError>, began: Instant) -> Seen {
        let missing = |cause: &str| Seen { sight: Sight::Missing, other: None, cause: cause.to_owned() };
        match answer {
            Ok(Presence::Ours) if self.connection.is_some() => {
                Seen { sight: Sight::Ours, other: None, cause: String::new() }
            }
            Ok(Presence::Ours) => missing("the registry holds what is left of a connection that is closed"),
            Ok(Presence::Missing) => missing("the registry does not know it"),
            Ok(Presence::Another(other)) => Seen { sight: Sight::Another, other: Some(other), cause: String::new() },
            // Nothing is kept by waiting for an answer.
            Err(error) if self.connection.is_none() => missing(&error.to_string()),
            Err(error) => {
                let sight = if self.is_busy(&error, began) { Sight::Busy } else { Sight::Unanswered };
                Seen { sight, other: None, cause: error.to_string() }
            }
        }
    }

    fn is_busy(&self, error: &StepError, began: Instant) -> bool {
        let last_heard = || self.connection.as_ref().and_then(|connection| self.registrar.last_heard(connection));
        let heard = catch_unwind(AssertUnwindSafe(last_heard)).ok().flatten();
        matches!(error, StepError::TimedOut(_)) && heard.is_some_and(|heard| heard > began)
    }

    async fn close(&mut self, attempt: u32) {
        if attempt == 1 {
            self.begin_rebuild();
        }
        if let Some(connection) = self.connection.take() {
            let limit = self.times.close_timeout;
            let registrar = &mut self.registrar;
            let close = async {
                registrar.close(connection).await;
                Ok::<(), BoxError>(())
            };
            let closed = bounded(limit, close).await;
            if let Err(error) = closed {
                self.step_failed(RebuildStep::Close, &error, false);
            }
        }
        self.hear();
        self.schedule.closed();
    }

    async fn connect(&mut self) {
        let outcome = match bounded(self.times.step_timeout, async { self.registrar.connect().await }).await {
            Ok(connection) => {
                self.connection = Some(connection);
                StepOutcome::Done
            }
            Err(error) => self.outcome_of(RebuildStep::Connect, &error),
        };
        self.hear();
        self.schedule.step_ended(outcome, Instant::now(), fastrand::f64());
    }

    async fn register(&mut self) {
        let Some(connection) = &self.connection else { unreachable!("what is registered is what was connected") };
        let registrar = &mut self.registrar;
        let outcome = match bounded(self.times.step_timeout, async { registrar.register(connection).await }).await {
            Ok(()) => StepOutcome::Done,
            Err(error) => self.outcome_of(RebuildStep::Register, &error),
        };
        // Whether it is registered or not: the connection that they came from is gone.
        for derived in &self.derived {
            // A handle that panics while it is dropped is the application's, and ends no probe.
            let _panic = catch_unwind(AssertUnwindSafe(|| derived.invalidate()));
        }
        self.hear();
        self.schedule.step_ended(outcome, Instant::now(), fastrand::f64());
    }

    fn outcome_of(&self, step: RebuildStep, error: &StepError) -> StepOutcome {
        let permanent = error.is_permanent();
        self.step_failed(step, error, permanent);
        if permanent { StepOutcome::FailedForGood } else { StepOutcome::Failed }
    }

    fn step_failed(&self, step: RebuildStep, error: &StepError, permanent: bool) {
        let cause = error.to_string();
        self.report(RecoveryEvent::RegistrationStepFailed { name: self.name(), step, cause, permanent });
    }

    fn begin_rebuild(&self) {
        let mut rebuild = 0;
        self.status.send_modify(|status| {
            status.rebuilds += 1;
            rebuild = status.rebuilds;
        });
        self.report(RecoveryEvent::RegistrationRebuildStarted { name: self.name(), rebuild });
    }

    fn tell(&self, news: Option<News>, cause: String, now: Instant) {
        let name = self.name();
        let event = match news {
            Some(News::Lost) => RecoveryEvent::RegistrationLost { name, cause },
            Some(News::Recovered { since }) => RecoveryEvent::RegistrationRecovered { name, after: now - since },
            Some(News::Superseded { by }) => RecoveryEvent::RegistrationSuperseded { name, by },
            None => return,
        };
        self.report(event);
    }

    fn name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }

    fn report(&self, event: RecoveryEvent) {
        self.reporter.report(&event);
    }
}

/// What a look-up came to.
struct Seen {
    sight: Sight,
    other: Option<Identity>,
    cause: String,
}

impl<R: Registrar> fmt::Debug for RegistrationProbe<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RegistrationProbe")
            .field("name", &self.name)
            .field("schedule", &self.schedule)
            .finish_non_exhaustive()
    }
}
