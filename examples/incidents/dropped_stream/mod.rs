//! The dropped stream: a model's answer breaks off in the middle, falls silent, or turns out to be a no.
//!
//! The call has succeeded long ago when that happens, so whoever retries calls does not see it. Who repeats it by hand puts the second
//! answer behind the half of the first one, believes an end that is none, waits for what never comes, or asks again where the model has
//! said no.
//!
//! In each case the first call meets the fault, and the second one is served whole, with other words: so a result that is made of both shows it.

mod by_hand;
mod case;
mod contender;
mod model;
mod numbers;
mod recovering;
mod report;

use std::time::Duration;

use futures::StreamExt;

pub(crate) use self::report::Report;
use self::{case::Case, contender::Contender, model::Model, numbers::Numbers};

/// How long who does it by hand waits for one answer.
const PATIENCE: Duration = Duration::from_millis(1_200);
/// How long a stream may be without a byte before it is silent: it stands for the 900 s of the incident.
const IDLE: Duration = Duration::from_millis(400);
/// The same with nothing but pings.
const KEEP_ALIVE_IDLE: Duration = Duration::from_millis(800);
/// How long a silent stream is waited for after its route has answered a probe. No pause before a replacement is longer.
const GRACE: Duration = Duration::from_millis(150);
/// How often a stream may be replaced; and how often who does it by hand calls again.
const MAX_REPLACEMENTS: u32 = 1;
/// A call that has not ended by then is given up, so that the run ends.
const LIMIT: Duration = Duration::from_secs(20);
/// How many replays are under way at a time, each with a model of its own.
const AT_A_TIME: usize = 16;

/// Runs every contender through every case.
pub(crate) async fn run() -> Report {
    let all = Case::all().flat_map(|case| Contender::ALL.map(|contender| (case, contender)));
    let replays = futures::stream::iter(all).map(async |(case, contender)| {
        let numbers = tokio::spawn(replay(case, contender)).await.expect("no replay panics");
        (case, contender, numbers)
    });
    Report::new(replays.buffered(AT_A_TIME).collect().await)
}

async fn replay(case: Case, contender: Contender) -> Numbers {
    let model = Model::start(case).await.expect("a server can be started on loopback");
    let told = tokio::time::timeout(LIMIT, contender.ask(case, &model.origin())).await.unwrap_or_default();
    Numbers::count(case, &told, &model).await
}
