//! What is counted.

use std::{collections::HashSet, time::Duration};

use tokio::time::Instant;

use super::{
    INTERVAL,
    outside::{Seen, Use},
    process::Process,
    registry::{Entry, Question},
};

/// What one process came to, or the worst of all that a contender has.
#[derive(Clone, serde::Serialize)]
pub(crate) struct Numbers {
    /// From the eviction to the last echo that was answered before a consumer was served again.
    pub(crate) echo_green_while_missing_s: f64,
    /// From the eviction until a consumer is served again, and from then on always; or to the end of the run.
    pub(crate) missing_s: f64,
    /// By the registry's log: how often the process asked to be registered after the first time.
    pub(crate) rebuilds: usize,
    /// By the registry's log: how often it looked itself up in an interval, while all was well. The most of all intervals.
    pub(crate) lookups_per_interval: usize,
    /// The process ended, or its liveness was not answered at some time.
    pub(crate) condemned: bool,
    /// The same as above, the fewest of all intervals.
    #[serde(skip)]
    pub(crate) fewest_lookups_per_interval: usize,
    #[serde(skip)]
    pub(crate) back: bool,
    #[serde(skip)]
    pub(crate) served_until_eviction: bool,
    /// Echoes that failed on a connection that its process had not closed.
    #[serde(skip)]
    pub(crate) red_echoes: usize,
    #[serde(skip)]
    pub(crate) work_cancelled: usize,
}

impl Numbers {
    pub(crate) fn count(process: &Process, seen: &Seen, log: &[Entry], evicted: Instant, end: Instant) -> Self {
        let id = &process.membership.id;
        let registrations: Vec<&Entry> = log.iter().filter(|entry| entry.registers(id)).collect();
        let own: HashSet<u64> = registrations.iter().map(|entry| entry.connection).collect();
        let back = served_again(&seen.uses, evicted);
        let missing_until = back.unwrap_or(end);
        let echoes = log.iter().filter(|entry| entry.question == Question::Echo && own.contains(&entry.connection));
        let last_echo = echoes.map(|echo| echo.at).filter(|at| (evicted..missing_until).contains(at)).max();
        let look_ups: Vec<Instant> = log
            .iter()
            .filter(|entry| entry.looks_up(id) && entry.connection != seen.lane)
            .map(|entry| entry.at)
            .collect();
        let look_ups = each_interval(&look_ups, evicted);
        Self {
            echo_green_while_missing_s: seconds(last_echo.map(|last| last - evicted).unwrap_or_default()),
            missing_s: seconds(missing_until - evicted),
            rebuilds: registrations.len().saturating_sub(1),
            lookups_per_interval: look_ups.iter().copied().max().unwrap_or_default(),
            condemned: !seen.alive || process.has_ended(),
            fewest_lookups_per_interval: look_ups.iter().copied().min().unwrap_or_default(),
            back: back.is_some(),
            served_until_eviction: seen.uses.iter().filter(|one| one.ended < evicted).all(|one| one.served),
            red_echoes: process.membership.red_echoes(),
            work_cancelled: usize::from(!seen.work_done),
        }
    }

    /// The worst of both, number by number. What is cancelled or red adds up.
    pub(crate) fn or_worse(self, other: &Self) -> Self {
        Self {
            echo_green_while_missing_s: self.echo_green_while_missing_s.max(other.echo_green_while_missing_s),
            missing_s: self.missing_s.max(other.missing_s),
            rebuilds: self.rebuilds.max(other.rebuilds),
            lookups_per_interval: self.lookups_per_interval.max(other.lookups_per_interval),
            condemned: self.condemned || other.condemned,
            fewest_lookups_per_interval: self.fewest_lookups_per_interval.min(other.fewest_lookups_per_interval),
            back: self.back && other.back,
            served_until_eviction: self.served_until_eviction && other.served_until_eviction,
            red_echoes: self.red_echoes + other.red_echoes,
            work_cancelled: self.work_cancelled + other.work_cancelled,
        }
    }
}

impl Entry {
    fn registers(&self, wanted: &str) -> bool {
        matches!(&self.question, Question::Register { id, .. } if id == wanted)
    }

    fn looks_up(&self, wanted: &str) -> bool {
        matches!(&self.question, Question::LookUp { id } if id == wanted)
    }
}

/// When the first use after the last one that failed was served, if that was so to the end.
fn served_again(uses: &[Use], evicted: Instant) -> Option<Instant> {
    let after: Vec<&Use> = uses.iter().filter(|one| one.began >= evicted).collect();
    let first = after.iter().rposition(|one| !one.served).map_or(0, |last_failed| last_failed + 1);
    after.get(first).map(|one| one.ended)
}

/// How many there are in each whole interval before the eviction. The intervals lie around the moments at which look-ups are due, so that none falls on a border.
fn each_interval(look_ups: &[Instant], evicted: Instant) -> Vec<usize> {
    let Some(first) = look_ups.first() else { return Vec::new() };
    let begin = *first - INTERVAL / 2;
    let borders = (0..).map(|number| begin + INTERVAL * number);
    let whole = borders.take_while(|border| *border + INTERVAL <= evicted);
    whole.map(|border| look_ups.iter().filter(|at| (border..border + INTERVAL).contains(*at)).count()).collect()
}

/// To the millisecond, which reads better.
fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1_000.0).floor() / 1_000.0
}
