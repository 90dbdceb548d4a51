//! Scripts that once broke a law, each the shortest that did; and how to replay one.

use Step::{Close, Disconnected, Evicted, EvictionSeen, LookUps, Reaped, Registers, RepairsItself};

use crate::{
    broken_law,
    script::{
        Close as CloseEnd,
        LookUp::{Hangs, Missing, Truth},
        Register, Script, Setup, Step,
    },
};

/// The registry works from the end of the script on, so that comes late.
const LATER: (u32, Step) = (200_000, Reaped);

const PLAIN: Setup = Setup { connected: true, unanswered_look_ups: 1, busy_look_ups: 3 };

fn keeps_the_laws(setup: Setup, steps: &[(u32, Step)], chance: u64) {
    let script = Script { setup, steps: steps.to_vec(), chance };
    if let Some(law) = broken_law(&script) {
        panic!("{law}");
    }
}

#[test]
fn a_registration_that_the_registry_forgets_is_rebuilt() {
    keeps_the_laws(PLAIN, &[(100_000, Evicted), LATER], 0);
}

#[test]
fn a_process_that_starts_waits_for_no_answer() {
    let patient = Setup { connected: false, unanswered_look_ups: 2, ..PLAIN };
    keeps_the_laws(patient, &[(0, LookUps { number: 1, takes: 0, end: Hangs }), LATER], 0);
}

#[test]
fn without_a_connection_none_has_ended() {
    let starts = Setup { connected: false, ..PLAIN };
    keeps_the_laws(starts, &[(0, Disconnected { times: 1 }), LATER], 0);
}

#[test]
fn what_is_noticed_during_a_step_is_of_the_rebuild() {
    let ends = Disconnected { times: 1 };
    let steps = [
        (0, Evicted),
        (18_595, Registers { number: 2, takes: 0, end: Register::Hangs }),
        (2_881, Close { takes: 0, end: CloseEnd::Hangs { seen: false } }),
        (110_496, Evicted),
        (2_180, EvictionSeen { times: 1 }),
        (74_833, Evicted),
        (0, LookUps { number: 3, takes: 9_000, end: Truth }),
        (35_347, ends),
        (41_128, ends),
        LATER,
    ];
    keeps_the_laws(PLAIN, &steps, 12_559_536_587_744_586_345);
}

#[test]
fn a_disconnect_during_a_look_up_that_was_asked_for_is_looked_at() {
    let (told, ends) = (EvictionSeen { times: 1 }, Disconnected { times: 1 });
    let starts = Setup { connected: false, ..PLAIN };
    let steps =
        [(25_995, told), (0, Evicted), (34_126, ends), (35_000, ends), (0, told), (1, RepairsItself), (0, ends)];
    keeps_the_laws(starts, &steps, 0);
}

#[test]
fn a_second_look_up_stands_for_the_regular_one_that_was_due_meanwhile() {
    let steps = [
        (0, LookUps { number: 4, takes: 0, end: Missing }),
        (0, LookUps { number: 1, takes: 9_000, end: Truth }),
        (3_852, EvictionSeen { times: 1 }),
        (2_631, EvictionSeen { times: 1 }),
        LATER,
    ];
    keeps_the_laws(PLAIN, &steps, 7_533_455_748_388_313_936);
}
