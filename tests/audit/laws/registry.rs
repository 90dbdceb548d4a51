//! Laws 5 and 6.

use std::collections::{HashMap, HashSet};

use tower_recovery::{Generation, RecoveryEvent};

use super::Finding;
use crate::audit::evidence::{CallEvidence, Evidence};

/// One eviction causes one resolve, however many calls failed; each handle is evicted once, and by a call that ran on it.
pub(super) fn one_resolve_an_eviction(evidence: &Evidence) -> Finding {
    let mut finding = Finding::new("5", "attempts that failed on a handle that another one had evicted", 2_000);
    let mut gone = HashSet::new();
    let (mut live, mut resolved, mut evicted, mut failed) = (None, 0, 0, 0);
    for seen in in_order(evidence) {
        match &seen.event {
            RecoveryEvent::HandleResolved { generation, .. } => {
                resolved += 1;
                finding.hold_overall(live.is_none(), format_args!("{generation} came while {live:?} was live"));
                live = Some(*generation);
            }
            RecoveryEvent::HandleEvicted { generation, .. } => {
                evicted += 1;
                gone.insert(*generation);
                finding.hold_overall(live == Some(*generation), format_args!("{generation} was evicted, not {live:?}"));
                live = None;
            }
            RecoveryEvent::ResolveFailed { .. } => failed += 1,
            _ => {}
        }
    }
    finding.hold_overall(resolved <= evicted + 1, format_args!("{resolved} handles after {evicted} evictions"));
    let unheard = evidence.look_ups.iter().filter(|look_up| !look_up.heard).count();
    let asked = evidence.look_ups.len();
    let most = evicted + 1 + failed + unheard;
    finding.hold_overall(asked <= most, format_args!("{asked} look-ups, but {most} at the most had a reason"));
    for call in &evidence.calls {
        finding.at_stake += failures_on_what_was_evicted(call);
        finding.hold(evicts_only_its_own(call), call, "a call evicted a handle that it had not run on");
        let indicted = timed_out_on(call).all(|generation| gone.contains(&generation));
        finding.hold(indicted, call, "a handle outlived an attempt that timed out on it");
    }
    finding
}

/// Events of the handles are reported outside of the lock that orders them: two threads may report in the other order what happened one after
/// the other. The generation says which was first.
fn in_order(evidence: &Evidence) -> Vec<&crate::audit::watch::Seen> {
    let mut events: Vec<_> = evidence.of_the_handles.iter().collect();
    events.sort_by_key(|seen| match &seen.event {
        RecoveryEvent::HandleResolved { generation, .. } => (generation.get(), 0),
        RecoveryEvent::HandleEvicted { generation, .. } => (generation.get(), 1),
        _ => (0, 0),
    });
    events
}

fn failures_on_what_was_evicted(call: &CallEvidence) -> usize {
    let on_a_handle = |event: &RecoveryEvent| matches!(event, RecoveryEvent::AttemptFailed { generation: Some(_), .. });
    let is_eviction = |event: &RecoveryEvent| matches!(event, RecoveryEvent::HandleEvicted { .. });
    let events = || call.done.events.iter().map(|seen| &seen.event);
    events()
        .filter(|event| on_a_handle(event))
        .count()
        .saturating_sub(events().filter(|event| is_eviction(event)).count())
}

/// The handles on which attempts of this call timed out.
fn timed_out_on(call: &CallEvidence) -> impl Iterator<Item = Generation> {
    call.done.events.iter().filter_map(|seen| match &seen.event {
        RecoveryEvent::AttemptFailed { generation, cause, .. } if cause.starts_with("the attempt ") => *generation,
        _ => None,
    })
}

/// An eviction is followed by the failure of the attempt that ran on what was evicted, or by the end of the call.
fn evicts_only_its_own(call: &CallEvidence) -> bool {
    let mut evicted: Option<Generation> = None;
    for seen in &call.done.events {
        match &seen.event {
            RecoveryEvent::HandleEvicted { generation, .. } => evicted = Some(*generation),
            RecoveryEvent::AttemptFailed { generation, .. }
                if evicted.take().is_some_and(|evicted| *generation != Some(evicted)) =>
            {
                return false;
            }
            _ => {}
        }
    }
    true
}

/// A failed resolve reaches those who wait for it with its cause, and nobody who came later.
pub(super) fn failed_resolves_surface(evidence: &Evidence) -> Finding {
    let mut finding = Finding::new("6", "attempts that failed by a resolve", 100);
    let mut over = HashMap::new();
    for seen in &evidence.of_the_handles {
        if let RecoveryEvent::ResolveFailed { cause, .. } = &seen.event {
            over.extend(look_up_of(cause).map(|look_up| (look_up, seen.order)));
        }
    }
    for call in &evidence.calls {
        let mut began = call.done.began;
        for seen in &call.done.events {
            match &seen.event {
                RecoveryEvent::CallRepeated { .. } => began = seen.order,
                RecoveryEvent::AttemptFailed { generation: None, cause, .. } => {
                    finding.stake_if(true);
                    let is_of_a_resolve = cause.starts_with("the resolver ");
                    finding.hold(is_of_a_resolve, call, "an attempt without a handle failed otherwise");
                    let Some(look_up) = look_up_of(cause) else { continue };
                    let heard_in_time = over.get(&look_up).is_some_and(|over| began < *over);
                    finding.hold(heard_in_time, call, format_args!("the failure of look-up {look_up} was kept"));
                }
                _ => {}
            }
        }
        let last = last_failed_look_up(call);
        if let Some(failed) = call.failed().filter(|failed| !failed.cut_off && last.is_some()) {
            finding.hold(failed.look_up == last, call, "a failure has not its cause");
        }
    }
    finding
}

/// The look-up by which the last attempt failed, if that was why.
fn last_failed_look_up(call: &CallEvidence) -> Option<usize> {
    let mut failures = call.done.events.iter().rev().filter_map(|seen| match &seen.event {
        RecoveryEvent::AttemptFailed { cause, .. } => Some(cause),
        _ => None,
    });
    look_up_of(failures.next()?)
}

/// Which look-up this text of [`RegistryDown`](crate::audit::look_ups::RegistryDown) speaks of.
fn look_up_of(cause: &str) -> Option<usize> {
    let number = cause.split_once("at look-up ")?.1.split_once('.')?.0;
    number.parse().ok()
}
