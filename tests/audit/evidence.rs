//! What is known of one client's run when it is over: what the callers saw, what the servers did, what the registry was asked.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, timeout};
use tower_recovery::{Delivery, RecoveryEvent};

use crate::audit::{
    callers::{Done, Failed, Outcome, make_calls},
    clients::Stack,
    ledger::Entry,
    look_ups::LookUp,
    script::{Script, is_refusal},
    seed::Seed,
    till::Trade,
    watch::{Seen, Watch},
    world::World,
};

/// A run that takes longer hangs: so much for each request, on a machine that does other things, too.
const BOUND_A_REQUEST: Duration = Duration::from_millis(20);
const LEAST_BOUND: Duration = Duration::from_secs(60);

pub(crate) struct Evidence {
    pub(crate) seed: Seed,
    pub(crate) calls: Vec<CallEvidence>,
    pub(crate) of_the_handles: Vec<Seen>,
    /// What was traded with the budget, in order.
    pub(crate) trades: Vec<Trade>,
    pub(crate) look_ups: Vec<LookUp>,
    pub(crate) connections: usize,
    /// By how much the latest timer was late.
    pub(crate) lateness: Duration,
    pub(crate) took: Duration,
}

/// One call, from both sides.
#[derive(Debug)]
pub(crate) struct CallEvidence {
    pub(crate) done: Done,
    pub(crate) entry: Entry,
    /// How often the servers' logs say that it was executed, refusals taken off.
    pub(crate) executed: usize,
}

impl Evidence {
    /// Runs all calls through this stack, lets everything settle, and reads the logs.
    pub(crate) async fn gather<Error, Calls>(
        script: Script,
        requests: usize,
        callers: usize,
        stack: impl FnOnce(&World, &Watch) -> Calls,
    ) -> Self
    where
        Error: Into<Failed> + Send + 'static,
        Calls: Stack<Error>,
    {
        let bound = LEAST_BOUND + BOUND_A_REQUEST * u32::try_from(requests).unwrap_or(u32::MAX);
        let gathered = timeout(bound, async {
            let world = Arc::new(World::new(script).await.expect("sockets can be bound"));
            let watch = Watch::default();
            let start = Instant::now();
            let stack = stack(&world, &watch);
            let (done, lateness) = make_calls(&world, stack, &watch, callers, requests).await;
            let took = start.elapsed();
            world.settle().await;
            Self {
                seed: script.seed,
                calls: done.into_iter().map(|done| CallEvidence::new(&world, done)).collect(),
                of_the_handles: watch.of_the_handles(),
                trades: watch.trades(),
                look_ups: world.look_ups.all(),
                connections: world.connections(),
                lateness,
                took,
            }
        });
        gathered.await.unwrap_or_else(|_| panic!("a call hangs: the run has not ended after {bound:?}"))
    }

    pub(crate) fn count(&self, which: impl Fn(&CallEvidence) -> bool) -> usize {
        self.calls.iter().filter(|call| which(call)).count()
    }
}

impl CallEvidence {
    fn new(world: &World, done: Done) -> Self {
        let number = done.call.number;
        let entry = world.ledger.entry(number);
        let in_the_logs = world.executed(number);
        // The log makes an entry of every run, and the application sees every run: of the two, the log is the proof.
        assert_eq!(in_the_logs, entry.run, "the log and the application of the servers agree");
        let refused = entry.run - entry.effects.len();
        Self { done, entry, executed: in_the_logs - refused }
    }

    /// What each attempt that failed proves, but for one that was cut off.
    pub(crate) fn failures(&self) -> impl Iterator<Item = Option<Delivery>> {
        self.done.events.iter().filter_map(|seen| match seen.event {
            RecoveryEvent::AttemptFailed { delivery, .. } => Some(delivery),
            _ => None,
        })
    }

    /// The repeats, as whether each was silenced and whether it was free.
    pub(crate) fn repeats(&self) -> impl Iterator<Item = (bool, bool)> {
        self.done.events.iter().filter_map(|seen| match seen.event {
            RecoveryEvent::CallRepeated { silenced, free, .. } => Some((silenced, free)),
            _ => None,
        })
    }

    /// How often it traded so with the budget.
    pub(crate) fn trades(&self, trade: Trade) -> usize {
        self.done.trades.iter().filter(|other| **other == trade).count()
    }

    pub(crate) fn attempts(&self) -> usize {
        1 + self.repeats().count()
    }

    /// Attempts of which nobody knows whether they executed: those that say so, and one that was ended from above.
    pub(crate) fn unknown_attempts(&self) -> usize {
        let said = self.failures().filter(|delivery| *delivery == Some(Delivery::MaybeSent)).count();
        let ended_from_above = match &self.done.outcome {
            Outcome::Dropped => true,
            Outcome::Failed(failed) => failed.cut_off,
            Outcome::Answered { .. } => false,
        };
        said + usize::from(ended_from_above)
    }

    /// Attempts that were answered for good: an answer, or the head of one whose body broke off.
    pub(crate) fn answered_attempts(&self) -> usize {
        let broken_off = self.failures().filter(|delivery| *delivery == Some(Delivery::Answered)).count();
        broken_off + usize::from(self.is_answered())
    }

    pub(crate) fn is_answered(&self) -> bool {
        matches!(self.done.outcome, Outcome::Answered { status, .. } if !is_refusal(status))
    }

    pub(crate) fn failed(&self) -> Option<&Failed> {
        match &self.done.outcome {
            Outcome::Failed(failed) => Some(failed),
            Outcome::Answered { .. } | Outcome::Dropped => None,
        }
    }

    pub(crate) fn is_dropped(&self) -> bool {
        matches!(self.done.outcome, Outcome::Dropped)
    }

    /// Whether it met anything but a server that answers at once.
    pub(crate) fn crossed_a_fault(&self) -> bool {
        self.entry.disturbed || self.failures().next().is_some()
    }
}
