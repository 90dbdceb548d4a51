//! The reference: what the laws make of a script. It is written from the design, in plain numbers, with no future, waker or lock, and shares
//! no code with the crate. It is asked at each poll what must be seen in it; where chance decides (the jitter of a pause, the spread of the
//! floor) it gives the bounds, and takes what it sees within them.

mod attempt;
mod budget;
mod cache;
mod call;
mod slots;
mod task;

use std::collections::{BTreeMap, VecDeque};

pub(crate) use self::task::Spec;
use self::{
    budget::Budget,
    cache::{Cache, Found},
    slots::Slots,
    task::{Phase, Task},
};
use crate::{
    expect::Expect,
    protocol::End,
    record::{Cause, Event, Outcome},
    script::{Answer, Readiness},
};

/// The bounds of a stack, in milliseconds where they are times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) attempts: u32,
    pub(crate) deadline: Option<u64>,
    pub(crate) attempt_timeout: u64,
    pub(crate) pause_step: u64,
    pub(crate) pause_ceiling: u64,
    pub(crate) floor_step: u64,
    pub(crate) floor_ceiling: u64,
    pub(crate) resolve_timeout: u64,
    pub(crate) percent: u32,
    pub(crate) reserve: u32,
    pub(crate) ceiling: u32,
    /// A `ConcurrencyLimit` of so many below the retry.
    pub(crate) slots: Option<usize>,
    /// The whole stack under a `Buffer`.
    pub(crate) buffered: bool,
}

impl Settings {
    pub(crate) const PLAIN: Self = Self {
        attempts: 3,
        deadline: None,
        attempt_timeout: 1_000,
        pause_step: 100,
        pause_ceiling: 150,
        floor_step: 40,
        floor_ceiling: 200,
        resolve_timeout: 800,
        percent: 50,
        reserve: 3,
        ceiling: 6,
        slots: None,
        buffered: false,
    };
    /// Longer than one attempt, shorter than three.
    pub(crate) const DEADLINE: Self = Self { deadline: Some(2_500), ..Self::PLAIN };
    pub(crate) const LIMITED: Self = Self { slots: Some(2), ..Self::DEADLINE };
    pub(crate) const BUFFERED: Self = Self { buffered: true, ..Self::DEADLINE };
}

#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) settings: Settings,
    tasks: BTreeMap<u32, Task>,
    /// Calls that the buffer has not passed on.
    queue: VecDeque<u32>,
    cache: Cache,
    slots: Option<Slots>,
    budget: Budget,
    attempts: u32,
    pub(crate) backend: Option<End>,
    pub(crate) readiness: Readiness,
}

impl Model {
    /// The reference of a stack that is used through so many clones.
    pub(crate) fn new(settings: Settings, clones: usize) -> Self {
        Self {
            settings,
            tasks: BTreeMap::new(),
            queue: VecDeque::new(),
            cache: Cache::new(settings),
            slots: settings.slots.map(Slots::new),
            budget: Budget::new(settings, clones),
            attempts: 0,
            backend: None,
            readiness: Readiness::Ready,
        }
    }

    pub(crate) fn set_registry(&mut self, answer: Option<Answer>) {
        self.cache.registry = answer;
    }

    pub(crate) fn end_resolve(&mut self, answer: Answer) {
        self.cache.end_resolve(answer);
    }

    pub(crate) fn end_attempt(&mut self, call: u32, with: End) {
        let task = self.tasks.get_mut(&call).expect("the backend has an attempt of a call that is not under way");
        task.end_attempt(with);
    }

    pub(crate) fn start(&mut self, id: u32, spec: Spec, expect: &mut Expect<'_>) {
        let mut task = Task::new(id, spec);
        if self.settings.buffered {
            self.queue.push_back(id);
        } else if self.slots.is_none() {
            expect.event(Event::Asked);
            self.begin(&mut task, expect);
        }
        self.tasks.insert(id, task);
    }

    pub(crate) fn start_refresh(&mut self, id: u32) {
        self.tasks.insert(id, Task::refresh(id));
    }

    /// The worker of the buffer passes on all that it has.
    pub(crate) fn poll_worker(&mut self, expect: &mut Expect<'_>) {
        while let Some(id) = self.queue.pop_front() {
            let mut task = self.tasks.remove(&id).expect("a call that was dropped has left the queue");
            expect.event(Event::Asked);
            self.begin(&mut task, expect);
            self.tasks.insert(id, task);
        }
        expect.nothing_more();
    }

    /// A call or a refresh is polled. Whether it came to its end.
    pub(crate) fn poll(&mut self, id: u32, expect: &mut Expect<'_>) -> bool {
        let mut task = self.tasks.remove(&id).expect("only what is under way is polled");
        let outcome = self.run(&mut task, expect);
        let ended = outcome.is_some();
        match outcome {
            Some(outcome) => {
                // The caller hears of it when all that the call had is gone.
                self.clean_up(task, expect);
                expect.event(Event::Ended { task: id, outcome });
            }
            None => {
                self.tasks.insert(id, task);
            }
        }
        expect.nothing_more();
        ended
    }

    /// It is dropped where it stands.
    pub(crate) fn drop_task(&mut self, id: u32, expect: &mut Expect<'_>) {
        let task = self.tasks.remove(&id).expect("only what is under way is dropped");
        self.clean_up(task, expect);
        expect.nothing_more();
    }

    /// The law by which this task must have been woken for what has happened, if it must.
    pub(crate) fn must_run(&self, id: u32, now: u64) -> Option<&'static str> {
        let task = self.tasks.get(&id)?;
        if task.is_past_its_end(now) {
            Some("law 11, a call ends at its deadline")
        } else {
            (task.fresh || self.is_due(task, now)).then_some("law 9, nothing hangs")
        }
    }

    /// The next moment at which something is, or may be, due.
    pub(crate) fn next_moment(&self, now: u64) -> Option<u64> {
        let of_calls = self.tasks.values().flat_map(Task::moments);
        of_calls.chain(self.cache.moments()).filter(|moment| *moment > now).min()
    }

    pub(crate) fn permits(&self) -> u64 {
        self.budget.permits()
    }

    /// The clones of the stack are dropped, and pay in what they have counted.
    pub(crate) fn drop_clones(&mut self) {
        self.budget.settle_all();
    }

    pub(crate) fn generation(&self) -> Option<u64> {
        self.cache.live().map(|live| live.generation)
    }

    fn is_due(&self, task: &Task, now: u64) -> bool {
        match &task.phase {
            Phase::Queued => false,
            Phase::Readying { .. } => self.slots.as_ref().is_some_and(|slots| slots.is_assigned(task.id)),
            Phase::Attempt(attempt) => attempt.is_due(self, now),
            Phase::Renewing { waiting, .. } | Phase::Refreshing { waiting } => {
                waiting.is_some_and(|flight| self.cache.is_due(flight, now))
            }
            Phase::Pausing { latest, .. } => now >= *latest,
        }
    }

    fn refreshed(found: Result<Found, Cause>) -> Outcome {
        match found {
            Ok(live) => Outcome::Refreshed { generation: live.generation },
            Err(cause) => Outcome::NotRefreshed(cause),
        }
    }
}
