//! A process that serves under an id, and what it does at each step: as a [`Registrar`].

use std::{
    collections::{BTreeMap, VecDeque},
    future::pending,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

use tokio::{
    sync::Semaphore,
    time::{Duration, Instant, sleep},
};
use tower::BoxError;
use tower_recovery::{
    Failure, Verdict,
    registration::{Presence, Registrar},
};

use super::{Asked, Registry};

/// How long each step takes.
pub(crate) const LATENCY: Duration = Duration::from_millis(10);

/// What becomes of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Works,
    Fails(&'static str),
    FailsForGood(&'static str),
    /// Says that it is done, and has done nothing.
    Pretends,
    /// A look-up that takes whatever is served under the id for ours.
    TakesForOurs,
    Hangs,
    PanicsInCall,
    PanicsInPoll,
    /// Hangs, and panics when it is dropped.
    PanicsInDrop,
}

#[derive(Clone, Debug)]
pub(crate) struct Worker {
    pub(crate) id: &'static str,
    pub(crate) registry: Registry,
    script: Arc<Mutex<BTreeMap<Asked, VecDeque<Act>>>>,
    heard: Arc<Mutex<Option<Instant>>>,
    /// Look-ups wait for one of these, where they share the way of the work.
    lane: Option<Arc<Semaphore>>,
    in_flight: Arc<AtomicUsize>,
}

/// The process's end of a connection.
#[derive(Debug)]
pub(crate) struct Connection {
    number: u64,
    id: &'static str,
    registry: Registry,
}

impl Worker {
    pub(crate) fn new(registry: &Registry, id: &'static str) -> Self {
        Self {
            id,
            registry: registry.clone(),
            script: Arc::default(),
            heard: Arc::default(),
            lane: None,
            in_flight: Arc::default(),
        }
    }

    /// Its look-ups stand in the queue of its work.
    pub(crate) fn in_band(self, slots: &Arc<Semaphore>) -> Self {
        Self { lane: Some(Arc::clone(slots)), ..self }
    }

    /// The next times that this is asked, these; then it works.
    pub(crate) fn next(&self, asked: Asked, acts: impl IntoIterator<Item = Act>) {
        self.script.lock().unwrap().entry(asked).or_default().extend(acts);
    }

    /// Forgets what was to become of the next steps.
    pub(crate) fn works(&self) {
        self.script.lock().unwrap().clear();
    }

    /// Something arrives over the connection.
    pub(crate) fn hears(&self) {
        *self.heard.lock().unwrap() = Some(Instant::now());
    }

    /// The connection over which it is registered from the start.
    pub(crate) fn registered(&self) -> Connection {
        let number = self.registry.connect(self.id).unwrap();
        self.registry.register(self.id, number).unwrap();
        self.connection(number)
    }

    fn connection(&self, number: u64) -> Connection {
        Connection { number, id: self.id, registry: self.registry.clone() }
    }

    /// Called, and not polled yet.
    fn begin(&self, asked: Asked, connection: Option<&Connection>) -> Act {
        self.registry.began(self.id, asked, connection.map(|connection| connection.number));
        let act = self.script.lock().unwrap().get_mut(&asked).and_then(VecDeque::pop_front).unwrap_or(Act::Works);
        assert!(act != Act::PanicsInCall, "{asked:?} panics in its call");
        act
    }

    /// The way of a step: whether it is to be done, and what stands against it.
    async fn go(&self, act: Act) -> Result<bool, BoxError> {
        let _in_flight = InFlight::enter(self);
        match act {
            Act::Works | Act::Pretends | Act::TakesForOurs => {}
            Act::Fails(cause) => return Err(cause.into()),
            Act::FailsForGood(cause) => return Err(Failure::new(Verdict::answered().permanent(), cause).into()),
            Act::Hangs => pending().await,
            Act::PanicsInCall | Act::PanicsInPoll => panic!("a step panics in its poll"),
            Act::PanicsInDrop => {
                let _bomb = Bomb;
                pending().await
            }
        }
        sleep(LATENCY).await;
        self.registry.awake().await;
        Ok(act == Act::Works)
    }
}

impl Registrar for Worker {
    type Connection = Connection;
    type Error = BoxError;

    fn look_up(&mut self, connection: Option<&Connection>) -> impl Future<Output = Result<Presence, BoxError>> + Send {
        let act = self.begin(Asked::LookUp, connection);
        async move {
            let _slot = match &self.lane {
                Some(slots) => Some(slots.acquire().await?),
                None => None,
            };
            let is_asked = self.go(act).await?;
            if act == Act::TakesForOurs {
                Ok(Presence::Ours)
            } else if is_asked {
                self.registry.look_up(self.id, connection.map(|connection| connection.number))
            } else {
                Ok(Presence::Missing)
            }
        }
    }

    fn close(&mut self, connection: Connection) -> impl Future<Output = ()> + Send {
        let act = self.begin(Asked::Close, Some(&connection));
        async move {
            if let Ok(true) = self.go(act).await {
                self.registry.close(self.id, connection.number);
            }
        }
    }

    fn connect(&mut self) -> impl Future<Output = Result<Connection, BoxError>> + Send {
        let act = self.begin(Asked::Connect, None);
        async move {
            self.go(act).await?;
            Ok(self.connection(self.registry.connect(self.id)?))
        }
    }

    fn register(&mut self, connection: &Connection) -> impl Future<Output = Result<(), BoxError>> + Send {
        let act = self.begin(Asked::Register, Some(connection));
        async move { if self.go(act).await? { self.registry.register(self.id, connection.number) } else { Ok(()) } }
    }

    fn last_heard(&self, _: &Connection) -> Option<Instant> {
        *self.heard.lock().unwrap()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.registry.freed(self.id, self.number);
    }
}

/// A process does one step at a time.
struct InFlight<'worker>(&'worker Worker);

impl<'worker> InFlight<'worker> {
    fn enter(worker: &'worker Worker) -> Self {
        if worker.in_flight.fetch_add(1, Relaxed) > 0 {
            worker.registry.fault(format!("{} did two steps at once", worker.id));
        }
        Self(worker)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Relaxed);
    }
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(thread::panicking(), "a step panics while it is dropped");
    }
}
