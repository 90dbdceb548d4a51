//! The laws of the design, checked over the evidence. Each says how often it was at stake, and what broke it.

mod answers;
mod bounds;
mod dropped;
mod permits;
mod reads;
mod registry;
mod repeats;
mod silence;
mod writes;

use std::{fmt, time::Duration};

use crate::audit::evidence::{CallEvidence, Evidence};

/// What a client promises, to be held against the evidence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) floor: Duration,
    /// Whether requests that must be sent once are told apart.
    pub(crate) knows_once: bool,
}

/// A law, or a part of one.
pub(crate) struct Finding {
    pub(crate) law: &'static str,
    /// What was counted.
    pub(crate) premise: &'static str,
    pub(crate) at_stake: usize,
    /// A hundred thousand calls must put it at stake so often, fewer calls in proportion, at least once.
    pub(crate) least: usize,
    pub(crate) broken: Vec<String>,
}

impl Finding {
    fn new(law: &'static str, premise: &'static str, least: usize) -> Self {
        Self { law, premise, at_stake: 0, least, broken: Vec::new() }
    }

    fn stake_if(&mut self, premise: bool) {
        self.at_stake += usize::from(premise);
    }

    /// It was broken, unless this holds.
    fn hold(&mut self, holds: bool, call: &CallEvidence, why: impl fmt::Display) {
        if !holds {
            self.broken.push(format!("{why}: {call:?}"));
        }
    }

    /// The same for what belongs to no single call.
    fn hold_overall(&mut self, holds: bool, why: impl fmt::Display) {
        if !holds {
            self.broken.push(why.to_string());
        }
    }

    pub(crate) fn is_at_stake_enough(&self, calls: usize) -> bool {
        self.at_stake >= (self.least * calls / 100_000).max(1)
    }
}

/// All laws that this audit looks at.
pub(crate) fn examine(evidence: &Evidence, terms: Terms) -> Vec<Finding> {
    vec![
        no_write_twice(evidence),
        repeats::what_was_not_executed_is_repeated(evidence, terms),
        repeats::what_is_proven_is_so(evidence),
        permits::who_lacks_a_permit_was_refused_one(evidence),
        silence::repeats_are_silent_only_where_needed(evidence),
        answers::answers_are_final(evidence),
        registry::one_resolve_an_eviction(evidence),
        registry::failed_resolves_surface(evidence),
        dropped::dropped_calls_start_nothing(evidence),
        bounds::nobody_hammers(evidence),
        permits::repeats_are_paid_for(evidence),
        permits::permits_are_a_share_of_the_answers(evidence),
        bounds::resolves_have_a_floor(evidence, terms),
        reads::reads_end_in_time(evidence),
    ]
}

pub(crate) use self::writes::no_write_twice;
