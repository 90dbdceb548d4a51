//! What is around the layer: a backend, a prober, and a record of all that they see.

mod backend;
mod probe;
mod tap;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

pub(crate) use self::{backend::Backend, backend::Items, probe::Prober, tap::Tap};
use crate::{
    record::{Event, Untaken, Word},
    script::{Feed, Health, Opening, Readiness},
};

/// So many signs of life are a flood: more than the layer takes in one go.
pub(crate) const FLOOD: u32 = 70;

/// Clones are the same one.
#[derive(Clone, Debug, Default)]
pub(crate) struct World(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    record: Vec<Event>,
    sends: u32,
    /// The sendings whose call or stream somebody still has.
    open: BTreeMap<u32, Inbox>,
    /// What the next sending will find.
    ahead: Inbox,
    backend: Option<Opening>,
    readiness: Option<Readiness>,
    unready: Vec<Waker>,
    probes: u32,
    probe: Option<Probe>,
    prober: Option<Health>,
}

/// What a sending was told and has not given yet.
#[derive(Debug, Default)]
struct Inbox {
    opening: Option<Opening>,
    feeds: VecDeque<Feed>,
    ended: bool,
    waker: Option<Waker>,
    opened: bool,
}

#[derive(Debug)]
struct Probe {
    number: u32,
    end: Option<Health>,
    waker: Option<Waker>,
}

impl World {
    fn state(&self) -> MutexGuard<'_, State> {
        // Panics are part of the scripts, and leave nothing half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self, event: Event) {
        self.state().record.push(event);
    }

    pub(crate) fn take_record(&self) -> Vec<Event> {
        std::mem::take(&mut self.state().record)
    }

    /// Writes down what the layer says.
    pub(crate) fn observer(&self) -> impl Fn(&tower_recovery::RecoveryEvent) + Send + Sync + 'static {
        let world = self.clone();
        move |event| {
            let untaken = world.untaken();
            let words = Word::of(event).into_iter();
            words.for_each(|(attempt, word)| world.write(Event::Said { attempt, word, untaken }));
        }
    }

    pub(crate) fn open_with(&self, opening: Opening) {
        self.tell(|inbox| {
            inbox.opening.get_or_insert(opening);
        });
    }

    pub(crate) fn feed(&self, feed: Feed) {
        self.tell(|inbox| {
            if inbox.ended {
                return;
            }
            inbox.ended = matches!(feed, Feed::End | Feed::Breaks { .. });
            match feed {
                Feed::Flood => inbox.feeds.extend((0..FLOOD).map(|_| Feed::KeepAlive)),
                feed => inbox.feeds.push_back(feed),
            }
        });
    }

    fn tell(&self, what: impl FnOnce(&mut Inbox)) {
        let mut state = self.state();
        let state = &mut *state;
        let inbox =
            state.open.last_entry().map_or(&mut state.ahead, std::collections::btree_map::OccupiedEntry::into_mut);
        what(inbox);
        if let Some(waker) = inbox.waker.take() {
            waker.wake();
        }
    }

    pub(crate) fn set_backend(&self, opening: Option<Opening>) {
        self.state().backend = opening;
    }

    pub(crate) fn set_readiness(&self, readiness: Readiness) {
        let mut state = self.state();
        state.readiness = Some(readiness);
        state.unready.drain(..).for_each(Waker::wake);
    }

    pub(crate) fn set_prober(&self, health: Option<Health>) {
        self.state().prober = health;
    }

    pub(crate) fn end_probe(&self, health: Health) {
        let mut state = self.state();
        let Some(probe) = state.probe.as_mut().filter(|probe| probe.end.is_none()) else { return };
        probe.end = Some(health);
        if let Some(waker) = probe.waker.take() {
            waker.wake();
        }
    }

    fn poll_readiness(&self, context: &Context<'_>) -> Poll<bool> {
        let mut state = self.state();
        match state.readiness.unwrap_or(Readiness::Ready) {
            Readiness::Ready => Poll::Ready(true),
            Readiness::Fails => Poll::Ready(false),
            Readiness::Pending => {
                state.unready.push(context.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Whether the newest sending has an answer, or its stream something, that nobody took.
    pub(crate) fn untaken(&self) -> Untaken {
        let state = self.state();
        let Some(inbox) = state.open.values().next_back() else { return Untaken::default() };
        Untaken { answer: !inbox.opened && inbox.opening.is_some(), item: inbox.opened && !inbox.feeds.is_empty() }
    }

    pub(crate) fn is_unready(&self) -> bool {
        self.state().readiness == Some(Readiness::Pending)
    }

    /// Whether a probe has its answer, and nobody took it.
    pub(crate) fn has_a_probe_answered(&self) -> bool {
        self.state().probe.as_ref().is_some_and(|probe| probe.end.is_some())
    }

    /// Whoever waited for this, and is gone, must not be woken by it.
    pub(crate) fn forget_the_unready(&self) {
        self.state().unready.clear();
    }

    /// How much is held of the world, and how many sendings and probes are open.
    pub(crate) fn alive(&self) -> (usize, usize, bool) {
        let state = self.state();
        (Arc::strong_count(&self.0), state.open.len(), state.probe.is_some())
    }
}
