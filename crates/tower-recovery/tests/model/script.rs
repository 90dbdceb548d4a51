//! Scripts: what a test does to the stack, step by step, as data that proptest makes and shrinks.

use proptest::{collection::vec, option, prelude::*};

use crate::protocol::{End, Method};

/// A whole test.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) steps: Vec<Step>,
    pub(crate) finish: Finish,
    /// The seed of the jitter.
    pub(crate) chance: u64,
}

/// One step. Whatever a step points at it points at by a number that is taken modulo what is there, so that every part of a script is a
/// script too, and shrinking may leave out any step; a step that finds nothing to act on does nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// A call is made through one of the clones of the stack; a held one is not polled.
    Start { method: Method, silent: Option<bool>, copyable: bool, clone: u8, held: bool },
    /// One of the attempts at the backend ends.
    End { attempt: u8, with: End },
    /// A call, or a refresh, is dropped where it stands.
    Drop { task: u8 },
    /// It is not polled from now on, whatever wakes it.
    Hold { task: u8 },
    /// It is polled again as it is woken.
    Release { task: u8 },
    /// It is polled once, woken or not, held or not.
    Poll { task: u8 },
    /// The resolver ends the resolve in flight.
    Resolver(Answer),
    /// The resolver ends each resolve at once in this way, or keeps its callers waiting.
    Registry(Option<Answer>),
    /// The backend ends each attempt at once in this way, or when it is told to.
    Backend(Option<End>),
    /// How handles answer `poll_ready` from now on.
    Handles(Readiness),
    /// Somebody asks the registry anew.
    Refresh { held: bool },
    /// Time passes.
    Advance(Amount),
}

/// How a resolve ends. One that hangs is one that no step ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    New,
    Same,
    Error,
    Panic,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readiness {
    Ready,
    Pending,
    Fails,
}

/// How much time passes, in milliseconds, or up to the next moment at which something is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Amount {
    Millis(u16),
    JustBeforeTheNext,
    ToTheNext,
    JustAfterTheNext,
}

/// What happens after the last step, until nothing is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finish {
    /// Everything that is asked is answered.
    Serve,
    /// Nothing is ever answered again: all ends by its own bounds.
    Starve,
    /// Every caller goes away.
    Leave,
}

pub(crate) const LONGEST: usize = 200;

pub(crate) fn scripts() -> impl Strategy<Value = Script> {
    let finish = prop_oneof![Just(Finish::Serve), Just(Finish::Starve), Just(Finish::Leave)];
    (vec(steps(), 0..=LONGEST), finish, any::<u64>()).prop_map(|(steps, finish, chance)| Script {
        steps,
        finish,
        chance,
    })
}

fn steps() -> impl Strategy<Value = Step> {
    let start = (methods(), option::weighted(0.2, any::<bool>()), prop::bool::weighted(0.8), 0..4_u8, rarely());
    prop_oneof![
        8 => start.prop_map(|(method, silent, copyable, clone, held)| Step::Start { method, silent, copyable, clone, held }),
        10 => (any::<u8>(), ends()).prop_map(|(attempt, with)| Step::End { attempt, with }),
        1 => any::<u8>().prop_map(|task| Step::Drop { task }),
        1 => any::<u8>().prop_map(|task| Step::Hold { task }),
        2 => any::<u8>().prop_map(|task| Step::Release { task }),
        1 => any::<u8>().prop_map(|task| Step::Poll { task }),
        6 => answers().prop_map(Step::Resolver),
        1 => option::weighted(0.6, answers()).prop_map(Step::Registry),
        1 => option::weighted(0.4, ends()).prop_map(Step::Backend),
        1 => readiness().prop_map(Step::Handles),
        1 => rarely().prop_map(|held| Step::Refresh { held }),
        7 => amounts().prop_map(Step::Advance),
    ]
}

fn rarely() -> impl Strategy<Value = bool> {
    prop::bool::weighted(0.15)
}

fn methods() -> impl Strategy<Value = Method> {
    prop_oneof![Just(Method::Write), Just(Method::Read), Just(Method::SilentRead)]
}

fn ends() -> impl Strategy<Value = End> {
    let stale = any::<bool>;
    prop_oneof![
        3 => stale().prop_map(|stale| End::Answered { stale }),
        1 => stale().prop_map(|stale| End::Denied { stale }),
        2 => stale().prop_map(|stale| End::Refused { stale }),
        1 => stale().prop_map(|stale| End::Bounced { stale }),
        3 => (stale(), any::<bool>()).prop_map(|(stale, handed_back)| End::NeverSent { stale, handed_back }),
        3 => stale().prop_map(|stale| End::MaybeSent { stale }),
        1 => (stale(), any::<bool>()).prop_map(|(stale, sent)| End::Permanent { stale, sent }),
        1 => Just(End::Unrecognised),
    ]
}

fn answers() -> impl Strategy<Value = Answer> {
    prop_oneof![5 => Just(Answer::New), 3 => Just(Answer::Same), 2 => Just(Answer::Error), 1 => Just(Answer::Panic)]
}

fn readiness() -> impl Strategy<Value = Readiness> {
    prop_oneof![2 => Just(Readiness::Ready), 1 => Just(Readiness::Pending), 1 => Just(Readiness::Fails)]
}

fn amounts() -> impl Strategy<Value = Amount> {
    prop_oneof![
        2 => (0..300_u16).prop_map(Amount::Millis),
        1 => (0..3_000_u16).prop_map(Amount::Millis),
        2 => Just(Amount::JustBeforeTheNext),
        4 => Just(Amount::ToTheNext),
        2 => Just(Amount::JustAfterTheNext),
    ]
}
