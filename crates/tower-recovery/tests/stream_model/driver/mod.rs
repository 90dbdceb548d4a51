//! Runs a script: does to the world what it says, polls the reader as it is woken, and lets the [oracle](crate::oracle) judge.

mod leaving;

use std::{
    any::Any,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    task::{unconstrained, yield_now},
    time::{Instant, advance},
};

use crate::{
    flag::Flag,
    oracle::Oracle,
    record::{Event, Out, broken},
    script::{Amount, Script, Setup, Step},
    stack::{self, Opened, Reading},
    stakes::Stakes,
    world::World,
};

/// Runs a script, or ends by the law that it breaks.
pub(crate) fn run(script: &Script) -> Stakes {
    // The layer draws its jitter from this generator: the same script meets the same.
    fastrand::seed(script.chance);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime without I/O can be built");
    // The driver is made inside, where the clock is paused; unconstrained, because a script is more than tokio lets a task do in one go.
    runtime.block_on(unconstrained(async { Driver::new(script.setup).run(script).await }))
}

struct Driver {
    world: World,
    reader: Reader,
    woken: Arc<Flag>,
    held: bool,
    /// What the call stands on, and how often the world is referred to by that alone.
    _service: Box<dyn Any>,
    at_rest: usize,
    began: Instant,
    oracle: Oracle,
}

/// How often a world is referred to by a layer without a call.
fn at_rest(setup: &Setup) -> usize {
    let world = World::default();
    let (call, _service) = stack::call(setup, &world);
    drop(call);
    world.alive().0
}

/// What the reader holds.
enum Reader {
    Call(stack::Opening),
    Stream(Pin<Box<dyn Reading>>),
    /// Nothing, or a stream at its end.
    Nothing,
    Ended(Pin<Box<dyn Reading>>),
}

impl Driver {
    fn new(setup: Setup) -> Self {
        let world = World::default();
        let (call, service) = stack::call(&setup, &world);
        let mut driver = Self {
            at_rest: at_rest(&setup),
            reader: Reader::Call(call),
            woken: Flag::new(),
            held: false,
            _service: service,
            began: Instant::now(),
            oracle: Oracle::new(setup),
            world,
        };
        driver.judge();
        driver
    }

    async fn run(mut self, script: &Script) -> Stakes {
        for step in &script.steps {
            self.step(*step).await;
            self.settle().await;
        }
        self.finish(script.finish).await;
        self.oracle.stakes
    }

    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    async fn step(&mut self, step: Step) {
        match step {
            Step::Head(opening) => self.world.open_with(opening),
            Step::Feed(feed) => self.world.feed(feed),
            Step::Backend(opening) => self.world.set_backend(opening),
            Step::Instances(readiness) => self.world.set_readiness(readiness),
            Step::Probe(health) => self.world.end_probe(health),
            Step::Prober(health) => self.world.set_prober(health),
            Step::Advance(amount) => self.advance(amount).await,
            Step::Hold => self.held = true,
            Step::Release => self.held = false,
            Step::Poll => self.poll(),
            Step::Drop => self.leave(),
        }
    }

    async fn advance(&self, amount: Amount) {
        let now = self.now();
        let next = self.oracle.next_moment().unwrap_or(now).max(now);
        let milli = Duration::from_millis(1);
        let until = match amount {
            Amount::Millis(millis) => now + Duration::from_millis(millis.into()),
            Amount::JustBeforeTheNext => next.saturating_sub(milli).max(now),
            Amount::ToTheNext => next,
            Amount::JustAfterTheNext => next + milli,
        };
        advance(until - now).await;
    }

    /// Polls the reader once.
    fn poll(&mut self) {
        let waker = self.woken.lower();
        let context = &mut Context::from_waker(&waker);
        let mut ended = false;
        let polled = match &mut self.reader {
            Reader::Nothing | Reader::Ended(_) => return,
            Reader::Call(call) => call.as_mut().poll(context).map(|outcome| match outcome {
                Ok(Opened::Whole { head, items, report }) => {
                    self.reader = Reader::Nothing;
                    Out::Whole { head, items, report }
                }
                Ok(Opened::Stream { head, items, report }) => {
                    self.reader = Reader::Stream(items);
                    Out::Opened { head, report }
                }
                Err(failure) => {
                    self.reader = Reader::Nothing;
                    Out::Failed(failure.into())
                }
            }),
            Reader::Stream(stream) => {
                let polled = stream.as_mut().poll_out(context);
                ended = matches!(polled, Poll::Ready(Out::End | Out::Failed(_)));
                polled
            }
        };
        if ended && let Reader::Stream(stream) = std::mem::replace(&mut self.reader, Reader::Nothing) {
            self.reader = Reader::Ended(stream);
        }
        match polled {
            Poll::Pending => self.world.write(Event::Pending),
            Poll::Ready(out) => {
                self.world.write(Event::Got(out));
                // Who got something asks for more.
                self.woken.raise();
            }
        }
        drop(waker);
        self.judge();
        self.after_the_end();
    }

    fn judge(&mut self) {
        let now = self.now();
        for event in self.world.take_record() {
            self.oracle.sees(event, now);
        }
    }

    /// After the end nothing comes, and nothing is done.
    fn after_the_end(&mut self) {
        let Reader::Ended(stream) = &mut self.reader else { return };
        for _ in 0..3 {
            let waker = self.woken.lower();
            let polled = stream.as_mut().poll_out(&mut Context::from_waker(&waker));
            let seen = self.world.take_record();
            if polled != Poll::Ready(Out::End) || !seen.is_empty() {
                broken("fused", format_args!("after the end {polled:?}, {seen:?}"));
            }
        }
        self.oracle.reports(&stream.report_so_far());
        self.oracle.all_is_closed();
        self.oracle.stakes.meets("fused");
        // It is kept no longer: what it held must be gone before.
        self.nothing_is_left();
        self.reader = Reader::Nothing;
    }

    /// Polls as often as the reader is woken; then it must not have been forgotten.
    async fn settle(&mut self) {
        loop {
            // Timers fire when the runtime is given a turn.
            yield_now().await;
            if self.held || !self.woken.is_up() || matches!(self.reader, Reader::Nothing) {
                break;
            }
            self.poll();
        }
        let now = self.now();
        if !self.held {
            self.oracle.nobody_was_forgotten(&self.world, now);
        }
    }
}
