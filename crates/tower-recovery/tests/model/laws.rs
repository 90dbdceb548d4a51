//! The laws themselves, each checked on what is seen, without asking the reference.

use std::collections::BTreeMap;

use crate::{
    expect::broken,
    protocol::{End, Fate, Method},
    record::{Event, Outcome},
    reference::{Settings, Spec},
};

/// What happened so far, for whoever judges it.
#[derive(Debug)]
pub(crate) struct Oracle {
    settings: Settings,
    calls: BTreeMap<u32, History>,
    resolves: Resolves,
}

#[derive(Debug)]
struct History {
    spec: Spec,
    called: u32,
    ends: Option<u64>,
    attempts: BTreeMap<u32, Attempt>,
    /// Ended, or dropped by its caller.
    over: bool,
}

#[derive(Debug)]
struct Attempt {
    silent: Option<bool>,
    fate: Fate,
}

#[derive(Debug, Default)]
struct Resolves {
    called: u32,
    in_flight: Option<u32>,
    /// When the last one ended, by an answer or because nobody waited for it any more.
    ended: Option<u64>,
    installed: u32,
    live: Option<u64>,
    evictions: u32,
    failed: u32,
    left: u32,
    refreshes: u32,
}

impl Oracle {
    pub(crate) fn new(settings: Settings) -> Self {
        Self { settings, calls: BTreeMap::new(), resolves: Resolves::default() }
    }

    pub(crate) fn starts(&mut self, id: u32, spec: Spec) {
        let history = History { spec, called: 0, ends: None, attempts: BTreeMap::new(), over: false };
        self.calls.insert(id, history);
    }

    pub(crate) fn refreshes(&mut self) {
        self.resolves.refreshes += 1;
    }

    pub(crate) fn is_dropped(&mut self, id: u32) {
        self.calls.get_mut(&id).into_iter().for_each(|call| call.over = true);
    }

    pub(crate) fn ends_attempt(&mut self, call: u32, attempt: u32, end: End) {
        self.attempt(call, attempt).fate = end.fate();
    }

    fn attempt(&mut self, call: u32, attempt: u32) -> &mut Attempt {
        let history = self.calls.get_mut(&call).expect("an attempt belongs to a call that was made");
        history.attempts.get_mut(&attempt).expect("an attempt that was not seen to begin")
    }

    pub(crate) fn sees(&mut self, event: Event, now: u64, at_once: Option<End>) {
        match event {
            Event::Called { call, .. } => {
                let ends = self.settings.deadline.map_or(u64::MAX, |deadline| now + deadline);
                let history = self.calls.get_mut(&call).expect("nobody made this call");
                history.called += 1;
                let ends = *history.ends.get_or_insert(ends);
                self.law_9_a_call_that_is_over_starts_nothing(call);
                self.law_11_a_call_keeps_its_bounds(call, now, ends);
            }
            Event::Sent { call, silent, attempt, .. } => {
                self.law_9_a_call_that_is_over_starts_nothing(call);
                self.law_1_what_may_have_executed_is_not_sent_again(call);
                self.law_4_an_answered_call_is_over(call);
                self.law_3_silent_if_and_only_if_it_may_have_executed(call, silent);
                let begun = Attempt { silent, fate: at_once.map_or(Fate::Open, End::fate) };
                self.calls.entry(call).and_modify(|history| {
                    history.attempts.insert(attempt, begun);
                });
                self.law_3_nobody_is_counted_twice(call);
            }
            Event::AttemptDropped { call, attempt } => self.attempt(call, attempt).fate = Fate::MayHaveExecuted,
            Event::Ended { task, outcome } => {
                self.law_4_an_answer_comes_out_as_it_is(task, outcome);
                self.is_dropped(task);
            }
            Event::Resolve { number } => {
                self.law_5_one_resolve_at_a_time(number);
                self.law_11_resolves_keep_their_distance(now);
                self.resolves.called += 1;
                self.resolves.in_flight = Some(number);
                self.law_5_no_resolve_without_a_cause();
            }
            Event::ResolveDropped { .. } => {
                self.resolves.ends(now);
                self.resolves.left += 1;
            }
            Event::Installed { generation, .. } => {
                self.resolves.ends(now);
                self.resolves.installed += 1;
                self.resolves.live = Some(generation);
                if generation != u64::from(self.resolves.installed) {
                    broken("law 5, generations grow by one", format_args!("{generation}"));
                }
            }
            Event::ResolveFailed => {
                self.resolves.ends(now);
                self.resolves.failed += 1;
            }
            Event::Evicted { generation, .. } => {
                if self.resolves.live.take() != Some(generation) {
                    broken("law 5, a late failure of an old generation evicts nothing", format_args!("{generation}"));
                }
                self.resolves.evictions += 1;
            }
            Event::Asked | Event::Failed { .. } | Event::Repeated { .. } | Event::GivenUp { .. } => {}
        }
    }

    /// A look-up that confirmed the live handle leaves no event.
    pub(crate) fn no_resolve_in_flight(&mut self, now: u64) {
        if self.resolves.in_flight.is_some() {
            self.resolves.ends(now);
        }
    }

    fn law_1_what_may_have_executed_is_not_sent_again(&self, call: u32) {
        let history = &self.calls[&call];
        if !history.spec.method.is_write() {
            return;
        }
        if let Some((first, attempt)) = history.attempts.iter().find(|(_, attempt)| attempt.fate != Fate::Unexecuted) {
            let fate = attempt.fate;
            broken(
                "law 1, a write that may have executed is sent again",
                format_args!("call {call}, {first} is {fate:?}"),
            );
        }
    }

    fn law_3_silent_if_and_only_if_it_may_have_executed(&self, call: u32, silent: Option<bool>) {
        let history = &self.calls[&call];
        let in_doubt = history.attempts.values().any(|attempt| attempt.fate != Fate::Unexecuted);
        let silenced = in_doubt && history.spec.method == Method::SilentRead;
        let due = history.spec.silent.or_else(|| silenced.then_some(true));
        if silent != due {
            broken("law 3, silence", format_args!("call {call} is sent with {silent:?} and not with {due:?}"));
        }
    }

    fn law_3_nobody_is_counted_twice(&self, call: u32) {
        let history = &self.calls[&call];
        if history.spec.method != Method::SilentRead || history.spec.silent == Some(false) {
            return;
        }
        let counted = |attempt: &&Attempt| attempt.silent != Some(true) && attempt.fate != Fate::Unexecuted;
        if history.attempts.values().filter(counted).count() > 1 {
            broken("law 3, nobody is counted twice", format_args!("call {call}: {:?}", history.attempts));
        }
    }

    fn law_4_an_answered_call_is_over(&self, call: u32) {
        if self.calls[&call].attempts.values().any(|attempt| attempt.fate == Fate::Answered) {
            broken("law 4, an answered call is sent again", format_args!("call {call}"));
        }
    }

    fn law_4_an_answer_comes_out_as_it_is(&self, task: u32, outcome: Outcome) {
        let Outcome::Reply(reply) = outcome else { return };
        let history = &self.calls[&task];
        let last = history.attempts.keys().next_back().copied();
        if last != Some(reply.attempt) {
            broken("law 4, an answer is the last attempt's", format_args!("call {task}: {reply:?}, last {last:?}"));
        }
        if matches!(reply.end, End::Answered { .. }) != (history.attempts[&reply.attempt].fate == Fate::Answered) {
            broken("law 4, an answer comes out as it is", format_args!("call {task}: {reply:?}"));
        }
    }

    fn law_5_one_resolve_at_a_time(&self, number: u32) {
        if let Some(other) = self.resolves.in_flight {
            broken("law 5, two resolves in flight", format_args!("{number} beside {other}"));
        }
    }

    fn law_5_no_resolve_without_a_cause(&self) {
        let Resolves { called, evictions, failed, left, refreshes, .. } = self.resolves;
        if called > 1 + evictions + failed + left + refreshes {
            broken("law 5, one eviction, one resolve", format_args!("{:?}", self.resolves));
        }
    }

    fn law_9_a_call_that_is_over_starts_nothing(&self, call: u32) {
        if self.calls[&call].over {
            broken("law 9, a call that is over starts something", format_args!("call {call}"));
        }
    }

    fn law_11_a_call_keeps_its_bounds(&self, call: u32, now: u64, ends: u64) {
        let (called, most) = (self.calls[&call].called, self.settings.attempts);
        if called > most {
            broken("law 11, attempts are counted on the call", format_args!("call {call}: {called} of {most}"));
        }
        if now >= ends {
            broken("law 11, nothing starts after the deadline", format_args!("call {call}: at {now} of {ends} ms"));
        }
    }

    fn law_11_resolves_keep_their_distance(&self, now: u64) {
        let floor = self.settings.floor_step;
        if let Some(ended) = self.resolves.ended.filter(|ended| now < ended + floor) {
            broken(
                "law 11, resolves have a floor between them",
                format_args!("at {now}, the last one ended at {ended}"),
            );
        }
    }
}

impl Resolves {
    fn ends(&mut self, now: u64) {
        self.in_flight = None;
        self.ended = Some(now);
    }
}
