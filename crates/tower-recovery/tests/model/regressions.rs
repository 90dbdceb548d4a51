//! Scripts that once broke a law, each the shortest that did; and how to replay one.

use End::{Denied, NeverSent};
use Step::{Advance, Drop, End as Ends, Hold, Resolver, Start};

use crate::{
    broken_law,
    protocol::{
        End,
        Method::{self, Read, Write},
    },
    reference::Settings,
    script::{Amount::Millis, Answer::New, Finish, Script, Step},
};

fn keeps_the_laws(settings: Settings, steps: &[Step], finish: Finish, chance: u64) {
    let script = Script { steps: steps.to_vec(), finish, chance };
    if let Some(law) = broken_law(settings, &script) {
        panic!("{law}");
    }
}

const fn start(method: Method, copyable: bool) -> Step {
    Start { method, silent: None, copyable, clone: 0, held: false }
}

#[test]
fn law_11_a_verdict_that_comes_as_an_error_is_paid_in_as_an_answer() {
    let mut steps = vec![start(Write, false), Resolver(New), Ends { attempt: 0, with: Denied { stale: false } }];
    // The rest of the batch is answered at the end of the script.
    steps.extend([start(Write, false); 15]);
    keeps_the_laws(Settings::PLAIN, &steps, Finish::Serve, 0);
}

#[test]
fn law_11_a_resolve_that_everybody_left_counts_for_the_floor() {
    let steps = [start(Write, false), Drop { task: 0 }, start(Write, false)];
    for settings in [Settings::PLAIN, Settings::DEADLINE, Settings::LIMITED, Settings::BUFFERED] {
        keeps_the_laws(settings, &steps, Finish::Serve, 42);
    }
}

#[test]
fn law_6_a_resolver_that_nobody_had_time_to_ask_keeps_nobody_waiting() {
    let unsent = Ends { attempt: 0, with: NeverSent { stale: true, handed_back: true } };
    let floor = Advance(Millis(60));
    let steps =
        [start(Write, false), Resolver(New), unsent, Hold { task: 0 }, floor, Drop { task: 0 }, start(Write, false)];
    keeps_the_laws(Settings::PLAIN, &steps, Finish::Serve, 0);
    keeps_the_laws(Settings::BUFFERED, &steps, Finish::Serve, 0);
}

#[test]
fn law_11_a_pause_that_ended_in_time_starts_nothing_after_the_deadline() {
    let (first, second) = (start(Write, false), start(Write, false));
    let steps = [first, Hold { task: 0 }, second, Advance(Millis(1_668)), Advance(Millis(832))];
    keeps_the_laws(Settings::DEADLINE, &steps, Finish::Serve, 42);
    keeps_the_laws(Settings::LIMITED, &steps, Finish::Serve, 42);
}

#[test]
fn law_11_a_new_handle_starts_nothing_after_the_deadline() {
    let steps = [start(Read, true), start(Write, false), Resolver(New), Advance(Millis(2_500))];
    keeps_the_laws(Settings::DEADLINE, &steps, Finish::Serve, 42);
    keeps_the_laws(Settings::BUFFERED, &steps, Finish::Serve, 42);
}
