//! The machine beside those who know what it must do.

use tokio::time::{Duration, Instant};

use super::{
    super::{Order, Phase, Probed, Silence, Supervision},
    Times,
    events::{Event, Failure, OTHER_FAILURES},
    laws::{Laws, Seen},
    milliseconds,
    model::{Facts, Model},
};
use crate::{StreamMode, stream_replacement::StreamEnd};

/// Beyond the sum of several deadlines.
const FAR: i64 = 1_000_000;

/// The machine, and who knows what it must do.
#[derive(Clone)]
pub(super) struct World {
    now: Instant,
    machine: Supervision,
    pub(super) model: Model,
    laws: Laws,
}

/// All that the future depends on.
pub(super) type State = (Facts, Seen, (u32, bool, bool), Duration, Duration, [i128; 5]);

impl World {
    pub(super) fn new(times: Times, mode: StreamMode, has_probe: bool, max_replacements: u32) -> Self {
        let now = Instant::now();
        Self {
            now,
            machine: Supervision::new(times.policy(mode, max_replacements), has_probe, now),
            model: Model::new(times, mode, has_probe, max_replacements),
            laws: Laws::new(times, mode, has_probe, max_replacements),
        }
    }

    pub(super) fn can_happen(&self, event: Event) -> bool {
        let (facts, due_in) = (&self.model.facts, self.model.due_in());
        match event {
            Event::Asked => due_in.is_some_and(|time| time <= 0),
            // A late answer changes nothing, which is looked at everywhere, and followed from nowhere.
            Event::Probed(_) => facts.probe_is_out,
            Event::JustBeforeTheDeadline => due_in.is_some_and(|time| time > 1),
            Event::TheDeadline => due_in.is_some_and(|time| time > 0),
            Event::FarBeyond | Event::FarBeyondUnasked => due_in.is_none_or(|time| time > 0),
            Event::Started => facts.is_new || !facts.is_under_way && !facts.has_ended,
            Event::Committed => facts.is_under_way && !facts.is_committed,
            Event::Settled => facts.is_under_way && !facts.has_verdict,
            // Who tells of a sign has waited.
            Event::Sign(_) => facts.is_under_way && !facts.is_new,
            Event::Failed(_) | Event::EndedIncomplete => facts.is_under_way,
        }
    }

    pub(super) fn happens(&mut self, event: Event) {
        let due_in = self.model.due_in();
        match event {
            Event::Sign(sign) => {
                let order = self.machine.sign(sign, self.now);
                assert_eq!(order, self.model.sign(sign));
                self.laws.sign(sign, order, self.machine.silence().is_some());
            }
            Event::Probed(probed) => self.probed(probed),
            Event::JustBeforeTheDeadline => self.pass(due_in.map_or(0, |time| time - 1)),
            Event::TheDeadline => {
                self.pass(due_in.unwrap_or(0));
                self.asked();
            }
            Event::FarBeyond => {
                self.pass(due_in.unwrap_or(0) + FAR);
                self.asked();
            }
            Event::FarBeyondUnasked => self.pass(due_in.unwrap_or(0) + FAR),
            Event::Asked => self.asked(),
            Event::Failed(failure) => {
                let order = self.machine.failed(failure.verdict, failure.is_spent);
                let expected = self.model.gone(StreamEnd::Dropped, failure.is_final);
                self.ordered(Some(order), Some(expected));
            }
            Event::EndedIncomplete => {
                let order = self.machine.ended_incomplete();
                let expected = self.model.gone(StreamEnd::Incomplete, false);
                self.ordered(Some(order), Some(expected));
            }
            Event::Committed => {
                self.machine.commit();
                self.model.facts.is_committed = true;
                self.laws.committed();
            }
            Event::Settled => {
                let order = self.machine.settle();
                assert_eq!(order, self.model.settle());
                self.laws.settled(order, self.machine.silence().is_some());
            }
            Event::Started => {
                self.machine.started(self.now);
                self.model.start();
                self.laws.started();
            }
        }
    }

    fn pass(&mut self, time: i64) {
        self.now += milliseconds(time);
        self.model.pass(time);
        self.laws.pass(time);
    }

    fn probed(&mut self, probed: Probed) {
        let order = self.machine.probed(probed, self.now);
        assert_eq!(order, self.model.probed(probed));
        self.laws.probed(probed, order);
    }

    fn asked(&mut self) {
        for _ in 0..4 {
            let order = self.machine.due(self.now);
            let expected = self.model.due();
            self.ordered(order, expected);
            match order {
                None => return,
                Some(Order::TimeOutProbe) => self.probed(Probed::Unanswered),
                Some(_) => {}
            }
        }
        panic!("there is no end to what is due");
    }

    fn ordered(&mut self, order: Option<Order>, expected: Option<Order>) {
        assert_eq!(order, expected);
        order.into_iter().for_each(|order| self.laws.ordered(order));
        if let Some(Order::Replace(_)) = order {
            let replacement = i64::from(self.model.facts.attempts) - 1;
            let pause = milliseconds((5000 * replacement).min(self.model.times.grace));
            assert_eq!(self.machine.replaced(0.0), pause);
        }
    }

    pub(super) fn check(&self) {
        let Self { machine, model, .. } = self;
        let facts = &model.facts;
        assert_eq!(machine.attempt(), facts.attempts);
        assert_eq!(machine.is_new(), facts.is_new);
        assert_eq!(machine.is_watched(), model.is_watched());
        assert_eq!(machine.may_replace(), model.refusal().is_none());
        assert_eq!(machine.silence().map(|silence| silence.missing), facts.lacks);
        if facts.is_under_way {
            if !facts.is_new {
                assert_eq!(machine.last_sign() + milliseconds(facts.since_sign), self.now);
            }
            for Failure { verdict, is_spent, is_final } in OTHER_FAILURES {
                let order = machine.clone().failed(verdict, is_spent);
                assert_eq!(order, model.clone().gone(StreamEnd::Dropped, is_final), "{verdict:?}");
            }
        }
        if !facts.probe_is_out {
            for late in [Probed::Healthy, Probed::Unanswered] {
                assert_eq!(machine.clone().probed(late, self.now), None, "a late answer changes nothing");
            }
        }
        let deadline = machine.deadline();
        assert_eq!(deadline, model.due_in().map(|time| moment(self.now, time)));
        let due = |now| machine.clone().due(now);
        match deadline {
            None => assert_eq!(due(self.now + milliseconds(FAR)), None, "where nothing can be due, nothing is"),
            Some(deadline) => {
                assert_eq!(due(deadline - milliseconds(1)), None, "nothing is due before the deadline");
                assert!(due(deadline).is_some(), "something is due at the deadline");
            }
        }
    }

    pub(super) fn state(&self) -> State {
        let Supervision { attempt, committed, settled, last_sign, last_content, phase, .. } = self.machine;
        let relative = |moment: Instant| match moment.checked_duration_since(self.now) {
            Some(left) => left.as_nanos() as i128,
            None => -(self.now.duration_since(moment).as_nanos() as i128),
        };
        let phase = match phase {
            Phase::Open => [0; 5],
            Phase::NoAttempt => [1, 0, 0, 0, 0],
            Phase::New => [5, 0, 0, 0, 0],
            Phase::Probing { silence, since } => of_silence(2, silence, relative(since)),
            Phase::Resting { silence, until } => of_silence(3, silence, until.map_or(i128::MAX, relative)),
            Phase::Grace { silence, until } => of_silence(4, silence, relative(until)),
        };
        let (since_sign, since_content) = (self.now - last_sign, self.now - last_content);
        let flags = (attempt, committed, settled);
        (self.model.facts.clone(), self.laws.seen().clone(), flags, since_sign, since_content, phase)
    }
}

fn of_silence(phase: i128, silence: Silence, moment: i128) -> [i128; 5] {
    [phase, silence.missing as i128, silence.round.into(), silence.unanswered.into(), moment]
}

fn moment(now: Instant, time: i64) -> Instant {
    if time < 0 { now - milliseconds(time) } else { now + milliseconds(time) }
}
