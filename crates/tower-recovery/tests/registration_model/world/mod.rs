//! The registry, and the process's way to it.

mod ends;
mod registrar;
mod registry;

use std::sync::{Arc, Mutex, MutexGuard};

use tokio::time::Instant;

use self::{ends::Ends, registry::Registry};
use crate::{
    record::{Seen, What},
    script::Step,
};

/// Shared by the driver, the registrar and its connections.
#[derive(Clone)]
pub(crate) struct World(Arc<Mutex<Inner>>);

struct Inner {
    start: Instant,
    registry: Registry,
    /// How the next steps end.
    ends: Ends,
    /// When the connection last heard something.
    heard: Option<Instant>,
    held: Vec<u32>,
    record: Vec<Seen>,
}

/// What a process holds. To let it go is to drop it.
pub(crate) struct Connection {
    id: u32,
    world: World,
}

impl World {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(Inner {
            start: Instant::now(),
            registry: Registry::default(),
            ends: Ends::default(),
            heard: None,
            held: Vec::new(),
            record: Vec::new(),
        })))
    }

    /// The connection of a process that is registered already.
    pub(crate) fn registered(&self) -> Connection {
        let id = self.lock().registry.accept().expect("nobody is connected");
        self.lock().registry.register(id).expect("nobody is registered");
        self.hold(id)
    }

    /// Does a step of a script, but for what the process is told.
    pub(crate) fn apply(&self, step: Step) {
        let mut inner = self.lock();
        let held = inner.held.last().copied();
        match step {
            Step::Evicted => inner.registry.forget_process(),
            Step::ConnectionEnds => held.into_iter().for_each(|id| inner.registry.end(id)),
            Step::RepairsItself => held.into_iter().for_each(|id| inner.registry.repair(id)),
            Step::Reaped => inner.reap(),
            Step::AnotherComes => inner.registry.another(true),
            Step::AnotherLeaves => inner.registry.another(false),
            ends => inner.ends.add(ends),
        }
    }

    /// From here on each step works, as far as the registry's state lets it.
    pub(crate) fn ends_its_script(&self) {
        let mut inner = self.lock();
        inner.ends = Ends::default();
        inner.registry.works = true;
        inner.reap();
        drop(inner);
        self.saw(What::ScriptEnded);
    }

    pub(crate) fn saw(&self, what: What) {
        self.lock().saw(what);
    }

    pub(crate) fn record(&self) -> Vec<Seen> {
        self.lock().record.clone()
    }

    /// Whether the registry serves this process over the connection that it holds, and knows no other one of it.
    pub(crate) fn serves_the_process(&self) -> bool {
        let inner = self.lock();
        matches!(inner.held[..], [held] if inner.registry.serves(held) && inner.registry.connections() == 1)
    }

    pub(crate) fn serves_another(&self) -> bool {
        self.lock().registry.serves_another()
    }

    fn hold(&self, id: u32) -> Connection {
        self.lock().held.push(id);
        Connection { id, world: self.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().expect("nobody panics with the world in hand")
    }
}

impl Inner {
    fn saw(&mut self, what: What) {
        let at = self.start.elapsed();
        self.record.push(Seen { at, what });
    }

    fn reap(&mut self) {
        let held = self.held.clone();
        self.registry.reap(&held);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let Ok(mut inner) = self.world.0.lock() else { return };
        let id = self.id;
        inner.held.retain(|&held| held != id);
        inner.saw(What::Let { connection: id });
    }
}
