//! What the tests have in common.

mod calls;
mod watched;
mod world;

use std::time::Duration;

pub(crate) use self::{
    calls::{cause, commits, create, of, outcome, outcomes, reads, start, under},
    watched::Watched,
    world::World,
};

/// How many call at a time.
pub(crate) const CALLERS: usize = 200;

/// What a test waits for at most, if nothing that it does takes longer by intent.
pub(crate) async fn within<Output>(test: impl Future<Output = Output>) -> Output {
    tokio::time::timeout(Duration::from_secs(90), test).await.expect("the test ends")
}
