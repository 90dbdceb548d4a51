//! shuttle.

use std::sync::Arc;

use shuttle::{
    Config, Runner,
    scheduler::{PctScheduler, RandomScheduler, Scheduler},
};

pub(crate) use shuttle::{
    future::block_on,
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::spawn,
};

use super::Interruptions;
pub(crate) use super::timers::{sleep_until, timeout};

/// How many callers a model has.
pub(crate) const CALLERS: usize = 3;

const SEEDS: u64 = 4;
const ORDERS_PER_SEED: usize = 2_000;
/// Faults that need more than this many changes of thread at the right moments are rare.
const PCT_DEPTH: usize = 3;

/// Runs the model in so many random orders, and in as many by probabilistic concurrency testing. The bound is for loom.
pub(crate) fn explore(_: Interruptions, model: impl Fn() + Send + Sync + 'static) {
    let model = Arc::new(model);
    for seed in 0..SEEDS {
        run(RandomScheduler::new_from_seed(seed, ORDERS_PER_SEED), &model);
        run(PctScheduler::new_from_seed(seed, PCT_DEPTH, ORDERS_PER_SEED), &model);
    }
}

fn run(scheduler: impl Scheduler + 'static, model: &Arc<impl Fn() + Send + Sync + 'static>) {
    let model = Arc::clone(model);
    Runner::new(scheduler, Config::new()).run(move || model());
}
