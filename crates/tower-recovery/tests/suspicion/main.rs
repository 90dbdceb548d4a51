//! Suspicion: a read that has waited for long has the registry asked, and is given up where another instance is named.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail like the tests do")]

mod dropping;
mod evictions;
mod given_up;
mod layers;
mod once;
mod registry;
mod settings;
mod sharing;
#[path = "../support/mod.rs"]
mod support;
mod ticking;
mod unheard;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::runtime::Handle as Runtime;
use tokio_test::task::Spawn;
use tower::Service;
use tower_recovery::{Failure, HandleCache, HandleCacheBuilder, RecoveryEvent};
use tower_recovery_test::{ScriptedResolver, ScriptedService, Step};

use self::support::{Call, Fault, Reply, attempts, backend, done, fails, recovering};

/// How long a read waits before it has the registry asked, and the length of the tick that follows from it.
const SUSPECT_AFTER: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(100);
/// Whoever began to wait at any moment of a tick has been suspected by then.
const SURELY_DUE: Duration = Duration::from_millis(1_101);

type Backend = ScriptedService<Call, Reply>;

/// A cache that suspects, and whose look-ups wait for nothing.
fn suspecting<Handle: Clone + Send + 'static>(resolver: &ScriptedResolver<Handle>) -> HandleCacheBuilder<Handle> {
    HandleCache::builder(resolver.clone(), "service")
        .resolve_floor(Duration::ZERO, Duration::ZERO)
        .suspect_after(SUSPECT_AFTER)
        .unwrap()
}

/// The whole stack over such a cache.
fn stack(
    resolver: &ScriptedResolver<Backend>,
) -> impl Service<Call, Response = Reply, Error = Failure, Future: Send> + Clone + Send + 'static {
    recovering(suspecting(resolver).build(), attempts(3))
}

/// An instance that takes each call and does not answer.
fn frozen() -> Backend {
    backend([freezes()])
}

/// It fails after a month, so that a test whose call is not given up fails, too, and does not hang.
fn freezes() -> Step<Reply> {
    fails(Fault::NoSuchFile).delayed(Duration::from_secs(30 * 24 * 60 * 60))
}

/// One that answers so late.
fn answering_after(by: &'static str, delay: Duration) -> Backend {
    backend([done(by).delayed(delay)])
}

/// How many tasks the runtime of this test has beside the test itself.
fn tasks() -> usize {
    Runtime::current().metrics().num_alive_tasks()
}

/// Polls a call until it only waits: a resolve that lands wakes whoever drove it, too.
#[track_caller]
fn poll_pending<Call: Future>(call: &mut Spawn<Call>) {
    loop {
        assert!(call.poll().is_pending(), "it is not over");
        if !call.is_woken() {
            return;
        }
    }
}

/// Lets time pass, tick after tick, and everything run that is due.
async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
}

/// What a cache has reported.
#[derive(Clone, Default)]
struct Events(Arc<Mutex<Vec<RecoveryEvent>>>);

impl Events {
    fn observer(&self) -> impl Fn(&RecoveryEvent) + Send + Sync + 'static {
        let events = Arc::clone(&self.0);
        move |event: &RecoveryEvent| events.lock().unwrap().push(event.clone())
    }

    fn all(&self) -> Vec<RecoveryEvent> {
        self.0.lock().unwrap().clone()
    }

    /// How often a look-up was begun because of a suspicion.
    fn suspicions(&self) -> usize {
        self.all().iter().filter(|event| matches!(event, RecoveryEvent::HandleSuspected { .. })).count()
    }
}
