//! The stream layer against its laws, over random scripts on the paused clock.
//!
//! A script is a setup and a list of steps: attempts are answered, streams give items and break, probes end, time passes, the reader reads, waits, or goes away. The
//! [driver] does that to one call, one poll at a time, and writes down what its [world] and its reader see. The [oracle] judges that record alone: what the layer is inside
//! it does not know.
//!
//! A failure names the law and prints the shortest script that breaks it, in a form to be pasted into [regressions].
//!
//! `TOWER_RECOVERY_SCRIPTS` sets how many scripts each shape of the layer runs; long runs take 100,000.

mod audit;
mod driver;
mod faults;
#[path = "../support/flag.rs"]
mod flag;
mod oracle;
mod protocol;
mod record;
mod regressions;
mod script;
mod stack;
mod stakes;
mod strategies;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

use proptest::{
    strategy::{Just, Strategy},
    test_runner::{Config, RngAlgorithm, TestError, TestRunner},
};

use crate::{
    script::{Admission, Script, Setup},
    strategies::{any_admission, scripts, setups, whole},
};

const SCRIPTS: u32 = 1_000;

fn wanted() -> u32 {
    match std::env::var("TOWER_RECOVERY_SCRIPTS") {
        Ok(number) => number.parse().expect("TOWER_RECOVERY_SCRIPTS is a number"),
        Err(_) => SCRIPTS,
    }
}

/// Looks for a script that breaks a law, and prints the shortest.
fn no_script_breaks_a_law(setups: impl Strategy<Value = Setup>) {
    // What fails is kept as a test of its own, and not in a file of seeds.
    let config = Config {
        cases: wanted(),
        failure_persistence: None,
        max_shrink_iters: 20_000,
        // The default generator takes half of the time where nothing is optimised.
        rng_algorithm: RngAlgorithm::XorShift,
        ..Config::default()
    };
    let outcome = TestRunner::new(config).run(&scripts(setups), |script| {
        driver::run(&script);
        Ok(())
    });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(reason, script)) => {
            let (script, law) = shortest(script);
            panic!("{}\n{}", law.unwrap_or_else(|| reason.to_string()), in_one_piece(&script));
        }
        Err(TestError::Abort(reason)) => panic!("{reason}"),
    }
}

/// Leaves out what can be left out: proptest tries each step once, while the others are still there.
fn shortest(mut script: Script) -> (Script, Option<String>) {
    let mut law = broken_law(&script);
    let mut place = 0;
    while place < script.steps.len() {
        let mut shorter = script.clone();
        shorter.steps.remove(place);
        match broken_law(&shorter) {
            Some(still) => (script, law, place) = (shorter, Some(still), 0),
            None => place += 1,
        }
    }
    (script, law)
}

/// What the script breaks, if it breaks anything.
fn broken_law(script: &Script) -> Option<String> {
    let panic = catch_unwind(AssertUnwindSafe(|| driver::run(script))).err()?;
    Some(panic.downcast().map_or_else(|_| String::from("a panic that is no text"), |text| *text))
}

/// The script as the arguments of a regression: its `Debug` form is Rust.
fn in_one_piece(script: &Script) -> String {
    let steps: String = script.steps.iter().map(|step| format!("    {step:?},\n")).collect();
    format!("{:?},\n&[\n{steps}], Finish::{:?}, {}", script.setup, script.finish, script.chance)
}

#[test]
fn whole_streams_keep_the_laws() {
    no_script_breaks_a_law(setups(whole(), false));
}

#[test]
fn streams_until_their_first_item_keep_the_laws() {
    no_script_breaks_a_law(setups(Just(Admission::UntilFirstItem), false));
}

#[test]
fn marked_streams_keep_the_laws() {
    no_script_breaks_a_law(setups(Just(Admission::Marked), false));
}

#[test]
fn resumed_streams_keep_the_laws() {
    no_script_breaks_a_law(setups(Just(Admission::Resumed), false));
}

#[test]
fn streams_above_a_retry_layer_keep_the_laws() {
    no_script_breaks_a_law(setups(any_admission(), true));
}
