//! What is counted.

use std::{collections::HashMap, time::Duration};

use tokio::time::Instant;

use super::{
    load::{Call, Kind, Outcome},
    world::World,
};

/// What one contender came to under one fault.
#[derive(Clone, serde::Serialize)]
pub(crate) struct Numbers {
    pub(crate) calls: usize,
    pub(crate) reads: usize,
    pub(crate) writes: usize,
    /// Writes that the old instance had read and not executed when the fault came.
    pub(crate) writes_in_flight_at_fault: usize,
    /// Reads that ended in an error.
    pub(crate) reads_failed: usize,
    /// Writes that ended in an error which does not prove that they were not executed.
    pub(crate) writes_uncertain: usize,
    /// Writes that were given up before they had failed.
    pub(crate) writes_abandoned: usize,
    /// Writes that both instances together executed more than once.
    pub(crate) writes_executed_twice: usize,
    /// Reads that both instances together counted as a view more than once.
    pub(crate) views_counted_twice: usize,
    /// How often the registry was asked for each handle that was replaced, rounded up, without the look-ups that confirmed one. One is expected; on a busy machine an attempt on the
    /// new instance can time out, too.
    pub(crate) resolves_per_eviction: usize,
    /// Look-ups because reads had waited for long, and the reads that were given up by them.
    pub(crate) look_ups_by_suspicion: usize,
    pub(crate) reads_given_up: usize,
    pub(crate) calls_suspected_twice: usize,
    /// From the fault to the first answer to a read that was started after it.
    pub(crate) first_read_ms: Option<u128>,
    /// The longest time from the fault on in which no read was answered, up to the end of the run.
    pub(crate) unavailable_ms: u128,
    /// Not part of the table: what contradicts itself between a caller and the books.
    #[serde(skip)]
    pub(crate) contradictions: usize,
    #[serde(skip)]
    pub(crate) status_failed: usize,
}

impl Numbers {
    pub(crate) fn count(fault: Instant, end: Instant, in_flight: usize, calls: &[Call], world: &World) -> Self {
        let executed = world.executed();
        let told = executed.told;
        let found_by_suspicion = told.replacements.saturating_sub(told.evictions);
        let confirming = told.suspicions.saturating_sub(found_by_suspicion);
        let of = |kind| calls.iter().filter(move |call| call.kind == kind);
        let failed = |kind| of(kind).filter(|call| call.outcome != Outcome::Answered).count();
        Self {
            calls: calls.len(),
            reads: of(Kind::Read).count(),
            writes: of(Kind::Write).count(),
            writes_in_flight_at_fault: in_flight,
            reads_failed: failed(Kind::Read),
            writes_uncertain: of(Kind::Write).filter(|call| call.is_uncertain()).count(),
            writes_abandoned: of(Kind::Write).filter(|call| call.outcome == Outcome::Abandoned).count(),
            writes_executed_twice: twice(&executed.writes),
            views_counted_twice: twice(&executed.views),
            resolves_per_eviction: executed.look_ups.saturating_sub(confirming).div_ceil(told.evictions.max(1)),
            look_ups_by_suspicion: told.suspicions,
            reads_given_up: told.given_up,
            calls_suspected_twice: told.given_up_again,
            first_read_ms: first_answer(of(Kind::Read), fault).map(|first| first.as_millis()),
            unavailable_ms: longest_silence(of(Kind::Read), fault, end).as_millis(),
            contradictions: of(Kind::Write).filter(|write| contradicts(write, &executed.writes)).count(),
            status_failed: failed(Kind::Status),
        }
    }
}

fn twice(counts: &HashMap<String, usize>) -> usize {
    counts.values().filter(|count| **count > 1).count()
}

/// An answered write must have been executed, and one that is said not to have been executed must not.
fn contradicts(write: &Call, executed: &HashMap<String, usize>) -> bool {
    match write.outcome {
        Outcome::Answered => !executed.contains_key(&write.id),
        Outcome::NotExecuted => executed.contains_key(&write.id),
        Outcome::Uncertain | Outcome::Abandoned => false,
    }
}

fn answers<'calls>(reads: impl Iterator<Item = &'calls Call>, from: Instant) -> impl Iterator<Item = &'calls Call> {
    reads.filter(move |read| read.outcome == Outcome::Answered && read.ended >= from)
}

fn first_answer<'calls>(reads: impl Iterator<Item = &'calls Call>, fault: Instant) -> Option<Duration> {
    answers(reads, fault).filter(|read| read.started >= fault).map(|read| read.ended - fault).min()
}

fn longest_silence<'calls>(reads: impl Iterator<Item = &'calls Call>, fault: Instant, end: Instant) -> Duration {
    let mut moments: Vec<Instant> = answers(reads, fault).map(|read| read.ended.min(end)).collect();
    moments.extend([fault, end]);
    moments.sort_unstable();
    moments.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or_default()
}
