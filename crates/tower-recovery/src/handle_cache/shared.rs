//! What the clones of a cache share: the state under its lock, and the number by which a clone knows that its copy still holds.

mod issuer;

use std::sync::Arc;

use futures_util::FutureExt;
use tokio::time::Instant;

use super::{
    Generation, Held, ResolveError,
    builder::Settings,
    flight::{Answer, Flight, Seat},
    refresh::{self, Refresher},
    resolver::{self, Resolve},
    state::{Acquired, FlightId, Joined, LiveHandle, Machine, Settled},
};
use crate::{
    Identity, Lease, RecoveryEvent, event,
    lease::Issuer,
    sync::{AtomicBool, AtomicU64, Mutex, Ordering, lock},
};

pub(crate) struct Shared<Handle> {
    /// The generation that serves, 0 for none; written under the lock of `core`, read by every call without it.
    live: AtomicU64,
    /// The newest generation that has answered a call, 0 for none.
    served: AtomicU64,
    core: Mutex<Core<Handle>>,
    resolve: Arc<Resolve<Handle>>,
    settings: Settings,
    refresher: Refresher,
}

struct Core<Handle> {
    machine: Machine<Handle>,
    flight: Option<Arc<Flight<Handle>>>,
    /// When the last resolve ended: the resolver answered, or everybody left.
    ended: Option<Instant>,
}

/// A place in a flight. Whoever holds one gives it up through [`Shared::leave`].
pub(super) struct Waiting<Handle> {
    pub(super) flight: Arc<Flight<Handle>>,
    pub(super) seat: Seat,
}

/// The handle, or a place to wait for it.
pub(super) enum Entry<Handle> {
    Live(Held<Handle>),
    Waiting(Waiting<Handle>),
}

impl<Handle: Clone + Send + 'static> Shared<Handle> {
    pub(super) fn new(resolve: Arc<Resolve<Handle>>, settings: Settings) -> Self {
        Self {
            live: AtomicU64::new(0),
            served: AtomicU64::new(0),
            core: Mutex::new(Core { machine: Machine::new(settings.telling), flight: None, ended: None }),
            resolve,
            settings,
            refresher: Refresher::default(),
        }
    }

    /// The first handle starts the refreshing of all that follow.
    fn keep_fresh(self: &Arc<Self>) {
        if let Some(period) = self.settings.refresh_every {
            self.refresher.start(|| refresh::every(period, Arc::downgrade(self)));
        }
    }

    /// Whether this generation still serves: one load, without a lock.
    pub(crate) fn is_live(&self, generation: Generation) -> bool {
        self.live.load(Ordering::Acquire) == generation.get()
    }

    pub(super) fn live(&self) -> Option<Generation> {
        lock(&self.core).machine.live()
    }

    /// The live handle, if there is one now.
    pub(crate) fn held(self: &Arc<Self>) -> Option<Held<Handle>> {
        if self.live.load(Ordering::Acquire) == 0 {
            return None;
        }
        let mut core = lock(&self.core);
        core.machine.live()?;
        match core.machine.acquire() {
            Acquired::Ready(live) => Some(self.hold(live)),
            Acquired::Wait(_) => None,
        }
    }

    pub(super) fn enter(self: &Arc<Self>) -> Entry<Handle> {
        let mut core = lock(&self.core);
        match core.machine.acquire() {
            Acquired::Ready(live) => Entry::Live(self.hold(live)),
            Acquired::Wait(joined) => Entry::Waiting(self.board(&mut core, joined)),
        }
    }

    pub(super) fn look_up(self: &Arc<Self>) -> Waiting<Handle> {
        let mut core = lock(&self.core);
        let joined = core.machine.look_up();
        self.board(&mut core, joined)
    }

    /// Whether reads that have waited for long ask whether their handle is still the one.
    pub(crate) fn suspects(&self) -> bool {
        self.settings.suspicion.is_some()
    }

    fn board(self: &Arc<Self>, core: &mut Core<Handle>, joined: Joined) -> Waiting<Handle> {
        let flight = match (joined, &core.flight) {
            (Joined::Existing(id), Some(flight)) if flight.id == id => Arc::clone(flight),
            (Joined::Existing(id) | Joined::New(id), _) => {
                let flight = Arc::new(self.take_off(id, core));
                core.flight = Some(Arc::clone(&flight));
                flight
            }
        };
        let seat = flight.sit_down();
        Waiting { flight, seat }
    }

    fn take_off(self: &Arc<Self>, id: FlightId, core: &mut Core<Handle>) -> Flight<Handle> {
        let (floor, now) = (self.settings.floor, Instant::now());
        if floor.is_forgotten(core.ended, now) {
            core.machine.forget_strikes();
        }
        let start = floor.next_start(core.ended, core.machine.strikes(), now, fastrand::f64());
        let asked = Arc::new(AtomicBool::new(false));
        let limit = self.settings.resolve_timeout;
        // Whoever polls the flight holds the cache; the flight, which the cache holds, must not.
        let cache = Arc::downgrade(self);
        let ask = move || cache.upgrade().map(|cache| lock(&cache.core).machine.ask(id)).unwrap_or_default();
        let resolve = resolver::bounded(Arc::clone(&self.resolve), start, limit, Arc::clone(&asked), ask);
        Flight::new(id, asked, resolve.boxed())
    }

    /// Takes the answer of a flight into the cache.
    pub(super) fn settle(self: &Arc<Self>, flight: FlightId, answer: Answer<Handle>) -> Result<(), ResolveError> {
        let (resolved, outcome) = match answer {
            Ok(resolved) => (Some(resolved), Ok(())),
            Err(error) => (None, Err(error)),
        };
        let identity = resolved.as_ref().map(|resolved| resolved.identity.clone());
        let mut core = lock(&self.core);
        let (settled, left_over) = core.machine.settle(flight, resolved);
        if settled != Settled::Superseded {
            core.flight = None;
            core.ended = Some(Instant::now());
            self.publish(&core);
            if let Some(tick) = &self.settings.suspicion {
                tick.answered();
            }
        }
        drop(core);
        drop(left_over);
        if matches!(settled, Settled::Installed { .. }) {
            self.keep_fresh();
        }
        // Whoever waits for a flight that was given up under them waits for the next one, whatever became of it. So do those whose answer came too late.
        let outcome = if settled == Settled::Superseded { Ok(()) } else { outcome };
        self.report(settled, identity, outcome.as_ref().err());
        outcome
    }

    /// What the handles are made of was replaced.
    pub(super) fn invalidate(&self) {
        let mut core = lock(&self.core);
        let was_live = core.machine.invalidate();
        let flight = core.flight.take();
        // As where everybody leaves: a resolver that was asked counts.
        if flight.as_ref().is_some_and(|flight| flight.was_asked()) {
            core.ended = Some(Instant::now());
        }
        self.publish(&core);
        drop(core);
        // What it asks may hang, on what is gone.
        if let Some(flight) = flight {
            flight.give_up();
        }
        drop(was_live);
    }

    pub(super) fn leave(&self, waiting: &Waiting<Handle>) {
        waiting.flight.stand_up(waiting.seat);
        let mut core = lock(&self.core);
        let last = core.machine.leave(waiting.flight.id);
        if last {
            core.flight = None;
            // A resolver that was asked counts although nobody waited for its answer; one that was not yet asked does not.
            if waiting.flight.was_asked() {
                core.ended = Some(Instant::now());
                core.machine.strike();
            }
        }
        drop(core);
        if last {
            waiting.flight.ground();
        }
    }

    fn publish(&self, core: &Core<Handle>) {
        self.live.store(core.machine.live().map_or(0, Generation::get), Ordering::Release);
    }

    fn hold(self: &Arc<Self>, live: LiveHandle<Handle>) -> Held<Handle> {
        let issuer: Arc<dyn Issuer> = Arc::clone(self) as Arc<dyn Issuer>;
        Held { handle: live.handle, lease: Lease::new(issuer, live.generation, live.identity) }
    }

    fn report(&self, settled: Settled, identity: Option<Identity>, error: Option<&ResolveError>) {
        let name = Arc::clone(&self.settings.name);
        let event = match (settled, identity, error) {
            (Settled::Installed { generation, previous }, Some(identity), _) => {
                RecoveryEvent::HandleResolved { name, identity, generation, previous }
            }
            (Settled::Failed, _, Some(error)) => RecoveryEvent::ResolveFailed { name, cause: event::text(error) },
            _ => return,
        };
        self.settings.reporter.report(&event);
    }
}
