//! What the model expects beside what was seen, one event after the other.

use std::panic::resume_unwind;

use crate::record::{Cause, Event, Outcome};

/// Ends the script: a law is broken. The text begins with the law's number.
///
/// Not `panic!`, whose hook would print each of the many failures on the way to the shortest script.
pub(crate) fn broken(law: &str, what: impl std::fmt::Display) -> ! {
    resume_unwind(Box::new(format!("{law}: {what}")));
}

/// The events of one poll, or of one step.
#[derive(Debug)]
pub(crate) struct Expect<'events> {
    seen: &'events [Event],
    at: usize,
    now: u64,
}

impl<'events> Expect<'events> {
    pub(crate) fn new(seen: &'events [Event], now: u64) -> Self {
        Self { seen, at: 0, now }
    }

    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    /// What was seen next: asked only where chance decides, and both outcomes are lawful.
    pub(crate) fn next(&self) -> Option<Event> {
        self.seen.get(self.at).copied()
    }

    pub(crate) fn event(&mut self, expected: Event) {
        let seen = self.next();
        if seen != Some(expected) {
            self.differs(law_of(seen, Some(expected)), seen, Some(expected));
        }
        self.at += 1;
    }

    pub(crate) fn nothing_more(&self) {
        if let Some(seen) = self.next() {
            self.differs(law_of(Some(seen), None), Some(seen), None);
        }
    }

    fn differs(&self, law: &str, seen: Option<Event>, expected: Option<Event>) -> ! {
        let (now, before) = (self.now, &self.seen[..self.at]);
        let say = |event: Option<Event>| event.map_or_else(|| String::from("nothing"), |event| format!("{event:?}"));
        broken(law, format_args!("expected {}, saw {}, at {now} ms, after {before:?}", say(expected), say(seen)));
    }
}

/// Which law speaks of a difference.
fn law_of(seen: Option<Event>, expected: Option<Event>) -> &'static str {
    const REPORT: &str = "the report: delivery, attempts, exhausted, cause";
    if let (Some(seen), Some(due)) = (seen.and_then(silence), expected.and_then(silence))
        && seen != due
    {
        return "law 3, silence";
    }
    if seen.is_some_and(is_of_a_resolve) || expected.is_some_and(is_of_a_resolve) {
        return "law 6, a failed resolve reaches every waiter with its cause";
    }
    match (seen.map_or(Kind::Nothing, kind), expected.map_or(Kind::Nothing, kind)) {
        (Kind::Answer, Kind::Answer | Kind::Failure) | (Kind::Failure, Kind::Answer) => "law 4, an answer is final",
        (Kind::GivenUp, Kind::GivenUp) | (Kind::Failure, Kind::Failure) => REPORT,
        // Given up is what would have been sent again but for the bounds of its call.
        (Kind::GivenUp, Kind::Failure | Kind::Answer) => "law 1, what may have executed is not sent again",
        (Kind::GivenUp, Kind::Drop) => "law 1 or 2, what is sent again",
        (Kind::GivenUp, _) => "law 2, what did not execute is sent again",
        (_, Kind::GivenUp) => "law 2 or 11, what may be sent again is sent within the bounds of its call",
        (Kind::Handle, _) | (_, Kind::Handle) => "law 5, one eviction, one resolve",
        (Kind::ResolveFailed, _) | (_, Kind::ResolveFailed) => "law 6, failed resolves",
        (Kind::Attempt | Kind::Resolve, Kind::Answer | Kind::Failure) => "law 1 or 4, a call that is over is over",
        (Kind::Answer | Kind::Failure, Kind::Attempt | Kind::Resolve) => "law 2, what did not execute is sent again",
        (Kind::Resolve, _) => "law 5, one eviction, one resolve; law 11, the floor",
        (_, Kind::Resolve) => "law 6, the next call tries again",
        (Kind::Drop, _) | (_, Kind::Drop) => "law 9, dropping",
        (Kind::Attempt, Kind::Attempt) => "law 11, attempts, pauses and permits",
        (_, Kind::Attempt) => "law 2, what did not execute is sent again",
        (Kind::Attempt, _) => "law 11, nothing is sent before its time",
        _ => REPORT,
    }
}

/// What an event is about.
enum Kind {
    Nothing,
    Attempt,
    Drop,
    Resolve,
    ResolveFailed,
    Handle,
    Answer,
    GivenUp,
    Failure,
}

fn kind(event: Event) -> Kind {
    match event {
        Event::Asked | Event::Called { .. } | Event::Sent { .. } | Event::Repeated { .. } => Kind::Attempt,
        Event::AttemptDropped { .. } | Event::ResolveDropped { .. } => Kind::Drop,
        Event::Resolve { .. } => Kind::Resolve,
        Event::ResolveFailed => Kind::ResolveFailed,
        Event::Installed { .. } | Event::Evicted { .. } => Kind::Handle,
        Event::Ended { outcome: Outcome::Reply(_), .. } => Kind::Answer,
        Event::GivenUp { .. } => Kind::GivenUp,
        Event::Failed { .. } | Event::Ended { .. } => Kind::Failure,
    }
}

fn silence(event: Event) -> Option<Option<bool>> {
    match event {
        Event::Called { silent, .. } | Event::Sent { silent, .. } => Some(silent),
        Event::Repeated { silenced, .. } => Some(Some(silenced)),
        _ => None,
    }
}

/// Whether somebody is told why there is no handle.
fn is_of_a_resolve(event: Event) -> bool {
    let Event::Ended { outcome: Outcome::Failure { cause, .. } | Outcome::NotRefreshed(cause), .. } = event else {
        return false;
    };
    matches!(cause, Cause::LookUpFailed(_) | Cause::LookUpTimedOut | Cause::LookUpPanicked)
}
