//! The registration probe against its laws, over random scripts on the paused clock.
//!
//! A script is a setup and a list of steps: the registry forgets the process, another one comes and goes, look-ups lie, hang and panic, and so do the steps of a
//! rebuild, which may also be half done; the process is told of disconnects and of its eviction. The [driver] does that to one probe and its [world]. After the script
//! the registry works, and so the process must be registered in the end, unless somebody else is. The [oracle] judges the record of all that was asked of the registry, and
//! does not know what the probe is inside.
//!
//! A failure names the law and prints the shortest script that breaks it, in a form to be pasted into [regressions].
//!
//! `TOWER_RECOVERY_SCRIPTS` sets how many scripts each test runs; long runs take 20,000.

mod driver;
mod oracle;
mod record;
mod regressions;
mod script;
mod strategies;
mod times;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRunner};

use crate::{script::Script, strategies::scripts};

const SCRIPTS: u32 = 500;

fn wanted() -> u32 {
    match std::env::var("TOWER_RECOVERY_SCRIPTS") {
        Ok(number) => number.parse().expect("TOWER_RECOVERY_SCRIPTS is a number"),
        Err(_) => SCRIPTS,
    }
}

/// Looks for a script that breaks a law, and prints the shortest.
fn no_script_breaks_a_law(connected: bool) {
    // What fails is kept as a test of its own, and not in a file of seeds.
    let config = Config {
        cases: wanted(),
        failure_persistence: None,
        max_shrink_iters: 20_000,
        // The default generator takes half of the time where nothing is optimised.
        rng_algorithm: RngAlgorithm::XorShift,
        ..Config::default()
    };
    let outcome = TestRunner::new(config).run(&scripts(connected), |script| {
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
    let text = panic.downcast::<String>().map(|text| *text);
    Some(
        text.unwrap_or_else(|panic| {
            panic.downcast::<&str>().map_or("a panic that is no text", |text| *text).to_owned()
        }),
    )
}

/// The script as the arguments of a regression: its `Debug` form is Rust.
fn in_one_piece(script: &Script) -> String {
    let steps: String = script.steps.iter().map(|step| format!("    {step:?},\n")).collect();
    format!("{:?},\n&[\n{steps}], {}", script.setup, script.chance)
}

#[test]
fn the_probe_of_a_registered_process_keeps_the_laws() {
    no_script_breaks_a_law(true);
}

#[test]
fn the_probe_of_a_process_that_starts_keeps_the_laws() {
    no_script_breaks_a_law(false);
}
