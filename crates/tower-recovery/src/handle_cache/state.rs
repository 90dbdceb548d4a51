//! The decisions of the handle cache: pure, without locks, clocks or futures.
//!
//! Three states, and what moves between them:
//!
//! ```text
//!            acquire                     settle(Ok)
//!   Empty ─────────────▶ Resolving ───────────────────▶ Live ◀─┐ settle(Ok) of a look-up:
//!     ▲                    │   ▲                        │ │ └──┘ the same or a new generation
//!     │  settle(Err),      │   │  evict, a look-up is   │ │
//!     ├────────────────────┘   └────────────────────────┘ │
//!     │  the last one left         in flight              │
//!     └───────────────────────────────────────────────────┘ evict
//! ```
//!
//! Where the resolver is told of evictions, `settle(Ok)` of a look-up that did not know of one, and names who was evicted, leads to Empty as well.
//!
//! `invalidate` leads to Empty from everywhere, and gives up the flight: what it would land is made of what is gone.
//!
//! Whatever leaves the state (an evicted handle, a superseded answer) is returned and never dropped here, so that the
//! caller can let go of its lock before a handle's own `Drop` runs.

use crate::{Generation, Identity, Resolved};

/// Which resolve: an answer of one that was given up is told apart from the answer of the one that followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FlightId(u64);

/// A handle that is in use, and how it is named.
#[derive(Clone, Debug)]
pub(super) struct LiveHandle<Handle> {
    pub(super) generation: Generation,
    pub(super) identity: Identity,
    pub(super) handle: Handle,
}

#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Machine<Handle> {
    state: State<Handle>,
    last_generation: Option<Generation>,
    last_flight: u64,
    telling: Telling,
    /// Who was evicted last and not replaced since, to tell a re-resolve that finds the same instance from one that finds another. Nobody while a handle is live.
    evicted: Option<Identity>,
    /// Resolves in a row that failed, or found the instance that had just been evicted and that has served nothing since.
    strikes: u32,
}

/// What is known when the resolver is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) evicted: Option<Identity>,
    pub(super) serving: Option<Identity>,
}

/// What the resolver is told. One that hears nothing has nothing to gain from being asked once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Telling {
    Nothing,
    OfEvictions,
}

#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
enum State<Handle> {
    /// Nobody waits. The next caller starts a flight.
    Empty,
    /// No handle: callers wait.
    Resolving(Flying),
    /// Callers are served, also while a look-up is in flight beside the handle.
    Live { live: LiveHandle<Handle>, lookup: Option<Flying> },
}

#[derive(Clone, Copy, Debug)]
struct Flying {
    id: FlightId,
    waiters: usize,
    asked: Asked,
}

/// Whether the resolver was asked for a flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    NotYet,
    Already,
    /// And the handle that was live then was evicted since.
    BeforeTheEviction,
}

/// What a caller gets that wants a handle.
#[derive(Debug)]
pub(super) enum Acquired<Handle> {
    Ready(LiveHandle<Handle>),
    Wait(Joined),
}

/// The place that a waiter got.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Joined {
    /// In the flight that is under way.
    Existing(FlightId),
    /// In a new one, which the caller has to start.
    New(FlightId),
}

/// What an answer of the resolver changed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// A new handle serves; `previous` served before it, if anybody did.
    Installed { generation: Generation, previous: Option<Identity> },
    /// A look-up found the identity that is live: the handle stays.
    Confirmed,
    /// The resolve failed: there is no handle, or the live one stays.
    Failed,
    /// A look-up that was asked before the live handle was evicted found the evicted instance: the resolver is to be asked once more.
    Unaware,
    /// The answer of a flight that was given up meanwhile.
    Superseded,
}

impl<Handle: Clone> Machine<Handle> {
    pub(super) fn new(telling: Telling) -> Self {
        Self { state: State::Empty, last_generation: None, last_flight: 0, telling, evicted: None, strikes: 0 }
    }

    /// The generation that serves, if any.
    pub(super) fn live(&self) -> Option<Generation> {
        self.live_handle().map(|live| live.generation)
    }

    pub(super) fn live_handle(&self) -> Option<&LiveHandle<Handle>> {
        match &self.state {
            State::Live { live, .. } => Some(live),
            State::Empty | State::Resolving(_) => None,
        }
    }

    /// How often in a row resolving did not help: the measure of the pause before the next resolve.
    pub(super) fn strikes(&self) -> u32 {
        self.strikes
    }

    /// A resolve did not help. Beside a live handle nothing was missing.
    pub(super) fn strike(&mut self) {
        if self.live().is_none() {
            self.strikes = self.strikes.saturating_add(1);
        }
    }

    /// What went before was long ago.
    pub(super) fn forget_strikes(&mut self) {
        self.strikes = 0;
    }

    /// A caller wants a handle.
    ///
    /// Empty => Resolving; Resolving and Live stay.
    pub(super) fn acquire(&mut self) -> Acquired<Handle> {
        match &mut self.state {
            State::Live { live, .. } => Acquired::Ready(live.clone()),
            State::Resolving(flying) => Acquired::Wait(flying.join()),
            State::Empty => {
                let flying = self.take_off();
                self.state = State::Resolving(flying);
                Acquired::Wait(Joined::New(flying.id))
            }
        }
    }

    /// Somebody wants the registry asked while the handle goes on serving. Without a handle this is `acquire`.
    ///
    /// Live => Live with a look-up; Empty => Resolving.
    pub(super) fn look_up(&mut self) -> Joined {
        if let State::Live { lookup: Some(flying), .. } | State::Resolving(flying) = &mut self.state {
            return flying.join();
        }
        let flying = self.take_off();
        match &mut self.state {
            State::Live { lookup, .. } => *lookup = Some(flying),
            State::Empty | State::Resolving(_) => self.state = State::Resolving(flying),
        }
        Joined::New(flying.id)
    }

    /// The resolver is asked for this flight now. Returns whom it had better not name, and who serves meanwhile.
    pub(super) fn ask(&mut self, flight: FlightId) -> Known {
        let Some(flying) = self.flying_mut().filter(|flying| flying.id == flight) else { return Known::default() };
        flying.asked = Asked::Already;
        Known { evicted: self.evicted.clone(), serving: self.live_handle().map(|live| live.identity.clone()) }
    }

    /// A failure indicts the handle of this generation. Of any other generation: nothing happens. If it has served, the resolve that found it
    /// has helped, and so did those before it, whoever is found next.
    ///
    /// Live => Empty, or Resolving where a look-up is under way: it answers those who come now. Returns what was evicted.
    pub(super) fn evict(&mut self, generation: Generation, has_served: bool) -> Option<LiveHandle<Handle>> {
        if self.live() != Some(generation) {
            return None;
        }
        let State::Live { live, lookup } = std::mem::replace(&mut self.state, State::Empty) else {
            return None;
        };
        if let Some(mut flying) = lookup {
            if flying.asked == Asked::Already {
                flying.asked = Asked::BeforeTheEviction;
            }
            self.state = State::Resolving(flying);
        }
        if has_served {
            self.forget_strikes();
        }
        self.evicted = Some(live.identity.clone());
        Some(live)
    }

    /// What handles are made of was replaced: the live one is of no use, nor is the one that a flight will land. That says nothing against any instance, nor
    /// against the registry.
    ///
    /// Live, Resolving => Empty. Returns the handle that was live.
    pub(super) fn invalidate(&mut self) -> Option<LiveHandle<Handle>> {
        self.forget_strikes();
        self.evicted = None;
        match std::mem::replace(&mut self.state, State::Empty) {
            State::Live { live, .. } => Some(live),
            State::Empty | State::Resolving(_) => None,
        }
    }

    /// The resolver of this flight has answered, or failed (`None`). Returns the handle that is of no use any more beside what changed.
    ///
    /// Resolving => Live | Empty; Live with a look-up => Live without.
    pub(super) fn settle(&mut self, flight: FlightId, answer: Option<Resolved<Handle>>) -> (Settled, Option<Handle>) {
        let Some(flying) = self.flying().filter(|flying| flying.id == flight) else {
            return (Settled::Superseded, answer.map(|resolved| resolved.handle));
        };
        let unaware = self.telling == Telling::OfEvictions && flying.asked == Asked::BeforeTheEviction;
        let before = match std::mem::replace(&mut self.state, State::Empty) {
            State::Live { live, .. } => Some(live),
            State::Empty | State::Resolving(_) => None,
        };
        match (before, answer) {
            (None, None) => {
                self.strike();
                (Settled::Failed, None)
            }
            (Some(live), None) => {
                self.state = State::Live { live, lookup: None };
                (Settled::Failed, None)
            }
            (Some(live), Some(resolved)) if live.identity == resolved.identity => {
                self.state = State::Live { live, lookup: None };
                (Settled::Confirmed, Some(resolved.handle))
            }
            (None, Some(resolved)) if unaware && self.evicted.as_ref() == Some(&resolved.identity) => {
                (Settled::Unaware, Some(resolved.handle))
            }
            (before, Some(resolved)) => self.install(before, resolved),
        }
    }

    /// A waiter gives up its place before the flight has ended. True: it was the last one, and the flight is to be ended.
    ///
    /// Resolving => Empty, Live with a look-up => Live without, where nobody waits any more.
    pub(super) fn leave(&mut self, flight: FlightId) -> bool {
        let Some(flying) = self.flying_mut().filter(|flying| flying.id == flight) else {
            return false;
        };
        flying.waiters -= 1;
        if flying.waiters > 0 {
            return false;
        }
        match &mut self.state {
            State::Live { lookup, .. } => *lookup = None,
            State::Empty | State::Resolving(_) => self.state = State::Empty,
        }
        true
    }

    fn install(&mut self, before: Option<LiveHandle<Handle>>, resolved: Resolved<Handle>) -> (Settled, Option<Handle>) {
        let generation = self.last_generation.map_or(Generation::FIRST, Generation::next);
        let (previous, replaced) = match before {
            Some(live) => (Some(live.identity), Some(live.handle)),
            None => (self.evicted.take(), None),
        };
        self.strikes = match &previous {
            Some(identity) if *identity == resolved.identity => self.strikes.saturating_add(1),
            _ => 0,
        };
        self.last_generation = Some(generation);
        self.state = State::Live {
            live: LiveHandle { generation, identity: resolved.identity, handle: resolved.handle },
            lookup: None,
        };
        (Settled::Installed { generation, previous }, replaced)
    }

    fn take_off(&mut self) -> Flying {
        self.last_flight += 1;
        Flying { id: FlightId(self.last_flight), waiters: 1, asked: Asked::NotYet }
    }

    fn flying(&self) -> Option<&Flying> {
        match &self.state {
            State::Resolving(flying) => Some(flying),
            State::Live { lookup, .. } => lookup.as_ref(),
            State::Empty => None,
        }
    }

    fn flying_mut(&mut self) -> Option<&mut Flying> {
        match &mut self.state {
            State::Resolving(flying) => Some(flying),
            State::Live { lookup, .. } => lookup.as_mut(),
            State::Empty => None,
        }
    }
}

impl Flying {
    fn join(&mut self) -> Joined {
        self.waiters += 1;
        Joined::Existing(self.id)
    }
}

#[cfg(test)]
mod tests;
