//! Scripts that once broke a law, each the shortest that did; and how to replay one.

use Step::{Disconnected, Evicted, EvictionSeen, LookUps, Registers};

use crate::{
    broken_law,
    script::{
        LookUp::{Hangs, Missing, Truth},
        Register, Script, Setup, Step,
    },
};

const PLAIN: Setup = Setup { connected: true, unanswered_look_ups: 1, busy_look_ups: 3 };

fn keeps_the_laws(setup: Setup, steps: &[(u32, Step)], chance: u64) {
    let script = Script { setup, steps: steps.to_vec(), chance };
    if let Some(law) = broken_law(&script) {
        panic!("{law}");
    }
}

#[test]
fn a_registration_that_the_registry_forgets_is_rebuilt() {
    keeps_the_laws(PLAIN, &[(100_000, Evicted)], 0);
}

#[test]
fn a_process_that_starts_waits_for_no_answer() {
    let patient = Setup { connected: false, unanswered_look_ups: 2, ..PLAIN };
    keeps_the_laws(patient, &[(0, LookUps { number: 1, takes: 0, end: Hangs })], 0);
}

#[test]
fn without_a_connection_none_has_ended() {
    let starts = Setup { connected: false, ..PLAIN };
    keeps_the_laws(starts, &[(0, Disconnected { times: 1 })], 0);
}

#[test]
fn what_is_noticed_during_a_step_is_of_the_rebuild() {
    let hangs = Registers { number: 3, takes: 0, end: Register::Hangs };
    let half_done = Registers { number: 1, takes: 0, end: Register::HalfDone { hangs: true } };
    for signal in [EvictionSeen { times: 1 }, Disconnected { times: 1 }] {
        for second in 0..60 {
            let lost = [(100_000, Evicted), (0, EvictionSeen { times: 1 }), (0, hangs), (0, half_done)];
            keeps_the_laws(PLAIN, &[lost.as_slice(), &[(second * 1_000, signal)]].concat(), 0);
        }
    }
}

#[test]
fn a_second_look_up_stands_for_the_regular_one_that_was_due_meanwhile() {
    let steps = [
        (0, LookUps { number: 4, takes: 0, end: Missing }),
        (0, LookUps { number: 1, takes: 9_000, end: Truth }),
        (3_852, EvictionSeen { times: 1 }),
        (2_631, EvictionSeen { times: 1 }),
        (70_000, Disconnected { times: 0 }),
    ];
    keeps_the_laws(PLAIN, &steps, 7_533_455_748_388_313_936);
}
