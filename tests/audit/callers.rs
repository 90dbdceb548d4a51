//! The callers: as many as a client has, each with one call after the other until none is left.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    task::Poll,
    time::Duration,
};

use bytes::Bytes;
use futures::future::{Either, join_all, select};
use http::StatusCode;
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};
use tower::ServiceExt;
use tower_recovery::{DeadlineExceeded, Delivery, Failure, GiveUp};

use crate::audit::{
    call::{Call, Patience},
    clients::Stack,
    look_ups::RegistryDown,
    till::Trade,
    watch::{OfOneCall, Seen, Watch},
    world::World,
};

/// One call, as its caller saw it.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) call: Call,
    /// The place of its beginning among the events.
    pub(crate) began: u64,
    pub(crate) took: Duration,
    pub(crate) outcome: Outcome,
    pub(crate) events: Vec<Seen>,
    pub(crate) trades: Vec<Trade>,
}

#[derive(Debug)]
pub(crate) enum Outcome {
    Answered {
        status: StatusCode,
        body: Bytes,
    },
    Failed(Failed),
    /// The caller dropped the future.
    Dropped,
}

/// What a caller learns from a failure.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) delivery: Option<Delivery>,
    pub(crate) permanent: bool,
    pub(crate) gave_up: Option<GiveUp>,
    pub(crate) attempts: u32,
    pub(crate) has_cause: bool,
    /// Whether the deadline ended an attempt, of which there is no event then.
    pub(crate) cut_off: bool,
    /// Which look-up failed, where that was the cause.
    pub(crate) look_up: Option<usize>,
}

/// Makes all calls, and gives what became of each, together with the longest time by which a timer was late meanwhile.
pub(crate) async fn make_calls<Error, Calls>(
    world: &Arc<World>,
    stack: Calls,
    watch: &Watch,
    callers: usize,
    requests: usize,
) -> (Vec<Done>, Duration)
where
    Error: Into<Failed> + Send + 'static,
    Calls: Stack<Error>,
{
    let next = Arc::new(AtomicUsize::new(1));
    let lateness = Lateness::measure();
    let callers = (0..callers).map(|_| {
        let caller = Caller { world: Arc::clone(world), stack: stack.clone(), watch: watch.clone() };
        let next = Arc::clone(&next);
        tokio::spawn(caller.make_calls(next, requests))
    });
    let done = join_all(callers).await.into_iter().flat_map(|done| done.expect("no caller panics")).collect();
    (done, lateness.longest())
}

struct Caller<Calls> {
    world: Arc<World>,
    stack: Calls,
    watch: Watch,
}

impl<Calls> Caller<Calls> {
    async fn make_calls<Error>(mut self, next: Arc<AtomicUsize>, requests: usize) -> Vec<Done>
    where
        Error: Into<Failed> + Send + 'static,
        Calls: Stack<Error>,
    {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number > requests {
                return done;
            }
            self.world.before_request(number).await;
            done.push(self.make(Call::planned(self.world.seed, number)).await);
        }
    }

    async fn make<Error>(&mut self, call: Call) -> Done
    where
        Error: Into<Failed> + Send + 'static,
        Calls: Stack<Error>,
    {
        let began = self.watch.now();
        let start = Instant::now();
        let stack = &mut self.stack;
        let request = call.request();
        let made = async { stack.ready().await?.call(request).await };
        let arrival = self.world.ledger.arrival(call.number);
        let (outcome, OfOneCall { events, trades }) = self.watch.over(patiently(call.patience, arrival, made)).await;
        let outcome = match outcome {
            None => Outcome::Dropped,
            Some(Ok(response)) => Outcome::Answered { status: response.status(), body: response.into_body() },
            Some(Err(error)) => Outcome::Failed(error.into()),
        };
        Done { call, began, took: start.elapsed(), outcome, events, trades }
    }
}

/// `None` where the future was dropped before its end.
async fn patiently<Output>(
    patience: Patience,
    arrival: impl Future<Output = ()>,
    call: impl Future<Output = Output>,
) -> Option<Output> {
    match patience {
        Patience::ToTheEnd => Some(call.await),
        Patience::For(limit) => timeout(limit, call).await.ok(),
        Patience::UntilItArrives => match select(pin!(arrival), pin!(call)).await {
            Either::Left(((), _)) => None,
            Either::Right((output, _)) => Some(output),
        },
        Patience::Polls(polls) => {
            let mut call = pin!(call);
            let mut left = polls;
            poll_fn(|context| match call.as_mut().poll(context) {
                Poll::Ready(output) => Poll::Ready(Some(output)),
                Poll::Pending => {
                    left -= 1;
                    if left == 0 { Poll::Ready(None) } else { Poll::Pending }
                }
            })
            .await
        }
    }
}

impl From<Failure> for Failed {
    fn from(failure: Failure) -> Self {
        Self {
            delivery: failure.delivery(),
            permanent: failure.is_permanent(),
            gave_up: failure.gave_up(),
            attempts: failure.attempts(),
            has_cause: failure.cause().is_some_and(|cause| !cause.to_string().is_empty()),
            cut_off: failure.find::<DeadlineExceeded>().is_some(),
            look_up: failure.find::<RegistryDown>().map(|down| down.look_up),
        }
    }
}

/// Whatever it was: nothing is known of it.
impl From<tower::BoxError> for Failed {
    fn from(_: tower::BoxError) -> Self {
        Self {
            delivery: None,
            permanent: false,
            gave_up: None,
            attempts: 1,
            has_cause: true,
            cut_off: false,
            look_up: None,
        }
    }
}

/// How late timers were: the machine's share in how long calls took.
struct Lateness {
    longest: Arc<Mutex<Duration>>,
    pulses: Vec<JoinHandle<()>>,
}

impl Lateness {
    const PULSE: Duration = Duration::from_millis(5);

    fn measure() -> Self {
        let longest = Arc::new(Mutex::new(Duration::ZERO));
        // More than there are threads, so that one that stands still is noticed.
        let pulses = (0..4).map(|_| tokio::spawn(Self::pulse(Arc::clone(&longest)))).collect();
        Self { longest, pulses }
    }

    async fn pulse(longest: Arc<Mutex<Duration>>) {
        loop {
            let due = Instant::now() + Self::PULSE;
            sleep(Self::PULSE).await;
            let late = Instant::now().saturating_duration_since(due);
            let mut longest = longest.lock().expect("nobody panics with it");
            *longest = late.max(*longest);
        }
    }

    fn longest(self) -> Duration {
        self.pulses.iter().for_each(JoinHandle::abort);
        *self.longest.lock().expect("nobody panics with it")
    }
}
