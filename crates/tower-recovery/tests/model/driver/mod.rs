//! Runs a script on the real stack and on the reference, in step.

mod finish;

use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use tokio::{
    task::{unconstrained, yield_now},
    time::{Instant, advance},
};
use tower::{Service, ServiceExt};
use tower_recovery::{HandleCache, ShareBudget};

use crate::{
    corners::Corners,
    expect::{Expect, broken},
    flag::Flag,
    laws::Oracle,
    protocol::{Call, End},
    record::{Cause, Event, Outcome, Record},
    reference::{Model, Settings, Spec},
    script::{Amount, Answer, Readiness, Script, Step},
    stack::{self, Boxed, Stack, Worker},
    task::Task,
    world::{Handle, World},
};

/// So many clones of the stack make the calls.
const CLONES: usize = 3;

/// Runs a script, or ends by the law that it breaks.
pub(crate) fn run(settings: Settings, script: &Script) -> Corners {
    // The layers draw their jitter from this generator: the same script meets the same.
    fastrand::seed(script.chance);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime without I/O can be built");
    // The driver is made inside, where the clock is paused; unconstrained, because a script is more than tokio lets a task do in one go.
    runtime.block_on(unconstrained(async { Driver::new(settings).run(script).await }))
}

struct Driver {
    settings: Settings,
    record: Record,
    world: World,
    clones: Vec<Boxed>,
    worker: Option<Worker>,
    worker_woken: Arc<Flag>,
    cache: HandleCache<Handle>,
    budget: Arc<ShareBudget>,
    tasks: BTreeMap<u32, Task>,
    last_id: u32,
    backend: Option<End>,
    began: Instant,
    model: Model,
    oracle: Oracle,
    corners: Corners,
}

impl Driver {
    fn new(settings: Settings) -> Self {
        let record = Record::default();
        let world = World::new(&record);
        let Stack { service, worker, cache, budget } = stack::build(&settings, &world, &record);
        Self {
            settings,
            record,
            world,
            clones: vec![service; CLONES],
            worker,
            worker_woken: Flag::new(),
            cache,
            budget,
            tasks: BTreeMap::new(),
            last_id: 0,
            backend: None,
            began: Instant::now(),
            model: Model::new(settings, CLONES),
            oracle: Oracle::new(settings),
            corners: Corners::default(),
        }
    }

    async fn run(mut self, script: &Script) -> Corners {
        for step in &script.steps {
            self.step(*step).await;
            self.settle().await;
        }
        self.finish(script.finish).await;
        self.corners
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).expect("no script takes that long")
    }

    async fn step(&mut self, step: Step) {
        match step {
            Step::Start { method, silent, copyable, clone, held } => {
                // Behind a buffer or a limit the calls share one clone, or have one each.
                let shared = self.settings.buffered || self.settings.slots.is_some();
                let clone = if shared { 0 } else { usize::from(clone) % CLONES };
                self.start(Spec { method, silent, copyable, clone }, held);
            }
            Step::End { attempt, with } => {
                let open = self.world.open_attempts();
                if let Some(&(attempt, call)) = pick(&open, attempt) {
                    self.end_attempt(call, attempt, with);
                }
            }
            Step::Drop { task } => {
                if let Some(&id) = pick(&self.ids(), task) {
                    self.drop_task(id);
                }
            }
            Step::Hold { task } => self.hold(task, true),
            Step::Release { task } => self.hold(task, false),
            Step::Poll { task } => {
                if let Some(&id) = pick(&self.ids(), task) {
                    self.poll(id);
                }
            }
            Step::Resolver(answer) => self.end_resolves(answer),
            Step::Registry(answer) => {
                self.world.set_registry(answer);
                self.model.set_registry(answer);
            }
            Step::Backend(end) => self.set_backend(end),
            Step::Handles(readiness) => self.set_readiness(readiness),
            Step::Refresh { held } => self.refresh(held),
            Step::Advance(amount) => self.advance(amount).await,
        }
    }

    fn start(&mut self, spec: Spec, held: bool) {
        self.last_id += 1;
        let id = self.last_id;
        let call = Call { id, method: spec.method, silent: spec.silent, copyable: spec.copyable };
        self.oracle.starts(id, spec);
        let service = &mut self.clones[spec.clone];
        let future: Pin<Box<dyn Future<Output = Outcome> + Send>> = if self.settings.slots.is_some() {
            let oneshot = service.clone().oneshot(call);
            Box::pin(async { Outcome::of(oneshot.await) })
        } else {
            let ready = service.poll_ready(&mut Context::from_waker(Waker::noop()));
            assert!(ready.is_ready(), "nothing makes it wait");
            let call = service.call(call);
            Box::pin(async { Outcome::of(call.await) })
        };
        self.tasks.insert(id, Task { future, woken: Flag::new(), held, refreshes: false });
        self.compare(|model, expect| {
            model.start(id, spec, expect);
            expect.nothing_more();
        });
    }

    fn refresh(&mut self, held: bool) {
        self.last_id += 1;
        let id = self.last_id;
        self.oracle.refreshes();
        let refresh = self.cache.refresh();
        let future = Box::pin(async {
            match refresh.await {
                Ok(held) => Outcome::Refreshed { generation: held.lease.generation().get() },
                Err(error) => Outcome::NotRefreshed(Cause::of_resolve(&error)),
            }
        });
        self.tasks.insert(id, Task { future, woken: Flag::new(), held, refreshes: true });
        self.model.start_refresh(id);
    }

    fn ids(&self) -> Vec<u32> {
        self.tasks.keys().copied().collect()
    }

    fn hold(&mut self, task: u8, held: bool) {
        if let Some(id) = pick(&self.ids(), task) {
            self.tasks.entry(*id).and_modify(|task| task.held = held);
        }
    }

    fn end_attempt(&mut self, call: u32, attempt: u32, with: End) {
        self.oracle.ends_attempt(call, attempt, with);
        self.world.end_attempt(attempt, with);
        self.model.end_attempt(call, with);
    }

    fn end_resolves(&mut self, answer: Answer) {
        for number in self.world.open_resolves() {
            self.world.end_resolve(number, answer);
            self.model.end_resolve(answer);
        }
    }

    fn set_backend(&mut self, end: Option<End>) {
        self.backend = end;
        self.world.set_backend(end);
        self.model.backend = end;
    }

    fn set_readiness(&mut self, readiness: Readiness) {
        self.world.set_readiness(readiness);
        self.model.readiness = readiness;
    }

    async fn advance(&self, amount: Amount) {
        let now = self.now();
        let next = self.model.next_moment(now).unwrap_or(now);
        let until = match amount {
            Amount::Millis(millis) => now + u64::from(millis),
            Amount::JustBeforeTheNext => next.saturating_sub(1).max(now),
            Amount::ToTheNext => next,
            Amount::JustAfterTheNext => next + 1,
        };
        advance(Duration::from_millis(until - now)).await;
    }

    fn drop_task(&mut self, id: u32) {
        self.oracle.is_dropped(id);
        drop(self.tasks.remove(&id));
        self.compare(|model, expect| model.drop_task(id, expect));
    }

    fn poll(&mut self, id: u32) {
        let Some(task) = self.tasks.get_mut(&id) else { return };
        let waker = task.woken.lower();
        let polled = task.future.as_mut().poll(&mut Context::from_waker(&waker));
        if let Poll::Ready(outcome) = polled {
            self.record.write(Event::Ended { task: id, outcome });
            drop(self.tasks.remove(&id));
        }
        self.compare(|model, expect| {
            model.poll(id, expect);
        });
    }

    fn poll_worker(&mut self) -> bool {
        let Some(worker) = self.worker.as_mut().filter(|_| self.worker_woken.is_up()) else { return false };
        let waker = self.worker_woken.lower();
        if worker.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
            broken("law 9, others proceed", "the worker of the buffer has ended");
        }
        self.compare(Model::poll_worker);
        true
    }

    /// Polls whoever is woken and not held, until nobody is; then nobody must have been forgotten.
    async fn settle(&mut self) {
        loop {
            // Timers fire when the runtime is given a turn.
            yield_now().await;
            if !self.poll_woken() {
                break;
            }
        }
        let now = self.now();
        for (id, task) in self.tasks.iter().filter(|(_, task)| !task.held) {
            if let Some(law) = self.model.must_run(*id, now) {
                let what = if task.refreshes { "refresh" } else { "call" };
                broken(law, format_args!("{what} {id} was not woken, at {now} ms"));
            }
        }
    }

    fn poll_woken(&mut self) -> bool {
        let mut any = self.poll_worker();
        for id in self.ids() {
            if self.tasks.get(&id).is_some_and(|task| task.woken.is_up() && !task.held) {
                any = true;
                self.poll(id);
            }
        }
        any
    }

    /// What was seen since the last time is lawful, and is what the reference expects.
    fn compare(&mut self, expected: impl FnOnce(&mut Model, &mut Expect<'_>)) {
        let (seen, now) = (self.record.take(), self.now());
        for event in &seen {
            self.corners.sees(*event);
            self.oracle.sees(*event, now, self.backend);
        }
        if self.world.alive().1 == 0 {
            self.oracle.no_resolve_in_flight(now);
        }
        let mut expect = Expect::new(&seen, now);
        expected(&mut self.model, &mut expect);

        let (permits, due) = (self.budget.permits(), self.model.permits());
        if permits != due {
            broken(
                "law 11, permits are conserved",
                format_args!("{permits} and not {due}, at {now} ms, after {seen:?}"),
            );
        }
        let (live, due) = (self.cache.generation().map(|generation| generation.get()), self.model.generation());
        if live != due {
            broken("law 5, who is live", format_args!("{live:?} and not {due:?}, at {now} ms, after {seen:?}"));
        }
    }
}

/// One of those that are there.
fn pick<Item>(items: &[Item], number: u8) -> Option<&Item> {
    items.get(usize::from(number).checked_rem(items.len())?)
}
