//! Scripts that once broke a law, each the shortest that did; and how to replay one.

use Step::{Advance, Feed, Head, Instances, Prober};
use tower_recovery::StreamMode::RetryOnHealthyProbe;

use crate::{
    broken_law,
    faults::{By, Kind},
    protocol::Method,
    script::{
        Admission,
        Amount::{Millis, ToTheNext},
        Feed::{Breaks, Content, End},
        Finish,
        Health::Healthy,
        Opening::{Fails, Stream, Verdict},
        Readiness::{Pending, Ready},
        Script, Setup, Step,
    },
};

/// One replacement of a read that can be silenced.
const PLAIN: Setup = Setup {
    admission: Admission::Marked,
    retries: false,
    mode: RetryOnHealthyProbe,
    max_replacements: 1,
    probed: true,
    slow_probe: false,
    counts: false,
    method: Method::SilentRead,
    silent: None,
    copyable: true,
    resumable: true,
};

fn keeps_the_laws(setup: Setup, steps: &[Step], finish: Finish) {
    let script = Script { setup, steps: steps.to_vec(), finish, chance: 0 };
    if let Some(law) = broken_law(&script) {
        panic!("{law}");
    }
}

const STREAM: Step = Head(Stream { resumes: true });

#[test]
fn law_3_a_stream_that_was_opened_has_executed_whatever_breaks_it() {
    for kind in [Kind::NeverSent, Kind::Refused] {
        for known in [false, true] {
            keeps_the_laws(PLAIN, &[STREAM, Feed(Breaks { kind, known })], Finish::Serve);
        }
    }
}

#[test]
fn law_3_an_instance_that_is_never_ready_has_executed_nothing() {
    let setup = Setup { max_replacements: 2, ..PLAIN };
    let unsent = Head(Fails { kind: Kind::NeverSent, handed_back: false });
    let silent = [Advance(ToTheNext); 4];
    let steps = [[unsent, Instances(Pending), Prober(Some(Healthy))].as_slice(), &silent].concat();
    keeps_the_laws(setup, &steps, Finish::Serve);
    // Nor is it said to have done so at the end.
    keeps_the_laws(PLAIN, &steps, Finish::Starve);
}

#[test]
fn silence_who_is_sent_something_late_in_a_silence_is_given_its_time() {
    let late = [STREAM, Feed(End), Instances(Pending), Advance(ToTheNext), Advance(ToTheNext)];
    // During the probe, and in the grace.
    keeps_the_laws(PLAIN, &late, Finish::Serve);
    let steps = [[Prober(Some(Healthy))].as_slice(), &late, &[Instances(Ready), Advance(Millis(12_000))]].concat();
    keeps_the_laws(PLAIN, &steps, Finish::Serve);
}

#[test]
fn law_11_what_a_layer_below_has_spent_stays_spent() {
    let kind = Kind::Spent { by: By::Budget, sent: true };
    keeps_the_laws(PLAIN, &[STREAM, Feed(Breaks { kind, known: true })], Finish::Serve);
}

#[test]
fn law_2_a_request_that_is_not_sent_again_is_handed_on() {
    let setup = Setup { max_replacements: 0, ..PLAIN };
    for kind in [Kind::NeverSent, Kind::Permanent { sent: false }] {
        keeps_the_laws(setup, &[Head(Fails { kind, handed_back: true })], Finish::Serve);
    }
}

#[test]
fn law_8_attempts_below_are_counted_whatever_ends_the_stream() {
    let never_sent = Head(Fails { kind: Kind::NeverSent, handed_back: false });
    let spent_below = [never_sent, Advance(Millis(1_000)), never_sent, Advance(ToTheNext), STREAM];
    let ends: [&[Step]; 3] =
        [&[Feed(Content); 4], &[Feed(End)], &[Feed(Breaks { kind: Kind::MaybeSent, known: false })]];
    for end in ends {
        let setup = Setup { retries: true, admission: Admission::Whole { limit: 100 }, ..PLAIN };
        keeps_the_laws(setup, &[spent_below.as_slice(), end].concat(), Finish::Serve);
    }
}

#[test]
fn law_8_a_verdict_in_place_of_the_rest_ends_the_stream_with_its_account() {
    let setup = Setup { admission: Admission::Resumed, ..PLAIN };
    let breaks = Breaks { kind: Kind::MaybeSent, known: false };
    let steps = [STREAM, Feed(Content), Feed(breaks), Advance(ToTheNext), Head(Verdict)];
    keeps_the_laws(setup, &steps, Finish::Serve);
}
