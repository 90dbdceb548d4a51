//! The whole stack against a reference model, over random scripts on the paused clock.
//!
//! A script is a list of steps: calls are made, attempts end, callers are dropped or held, the registry answers, time passes. The
//! [driver] runs it on the real stack (`ReadOnlyRetry > Reresolve > Classify > AttemptTimeout > Dispatch`) and on the [reference], one
//! poll at a time, and compares all that is seen: what is asked, sent, dropped, evicted, resolved, reported and returned, the permits,
//! and who must have been woken. Beside that the [laws] are checked on what is seen, without asking the reference.
//!
//! A failure names the law by its number and prints the shortest script that breaks it, in a form to be pasted into [regressions].
//!
//! `TOWER_RECOVERY_SCRIPTS` sets how many scripts each shape of the stack runs; long runs take 20,000.

mod corners;
mod driver;
mod expect;
#[path = "../support/flag.rs"]
mod flag;
mod laws;
mod protocol;
mod record;
mod reference;
mod regressions;
mod script;
mod stack;
mod task;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

use proptest::test_runner::{Config, TestError, TestRunner};

use crate::{
    reference::Settings,
    script::{Script, scripts},
};

const SCRIPTS: u32 = 128;

fn wanted() -> u32 {
    match std::env::var("TOWER_RECOVERY_SCRIPTS") {
        Ok(number) => number.parse().expect("TOWER_RECOVERY_SCRIPTS is a number"),
        Err(_) => SCRIPTS,
    }
}

/// Looks for a script that breaks a law, and prints the shortest.
fn no_script_breaks_a_law(settings: Settings) {
    // What fails is kept as a test of its own, and not in a file of seeds.
    let config = Config { cases: wanted(), failure_persistence: None, max_shrink_iters: 50_000, ..Config::default() };
    let outcome = TestRunner::new(config).run(&scripts(), |script| {
        driver::run(settings, &script);
        Ok(())
    });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(reason, script)) => {
            let (script, law) = shortest(settings, script);
            panic!("{}\n{}", law.unwrap_or_else(|| reason.to_string()), in_one_piece(&script));
        }
        Err(TestError::Abort(reason)) => panic!("{reason}"),
    }
}

/// Leaves out what can be left out: proptest tries each step once, while the others are still there.
fn shortest(settings: Settings, mut script: Script) -> (Script, Option<String>) {
    let mut law = broken_law(settings, &script);
    let mut place = 0;
    while place < script.steps.len() {
        let mut shorter = script.clone();
        shorter.steps.remove(place);
        match broken_law(settings, &shorter) {
            Some(still) => (script, law, place) = (shorter, Some(still), 0),
            None => place += 1,
        }
    }
    (script, law)
}

/// What the script breaks, if it breaks anything.
fn broken_law(settings: Settings, script: &Script) -> Option<String> {
    let panic = catch_unwind(AssertUnwindSafe(|| driver::run(settings, script))).err()?;
    Some(panic.downcast().map_or_else(|_| String::from("a panic that is no text"), |text| *text))
}

/// The script as the arguments of a regression: its `Debug` form is Rust.
fn in_one_piece(script: &Script) -> String {
    let steps: String = script.steps.iter().map(|step| format!("    {step:?},\n")).collect();
    format!("&[\n{steps}], Finish::{:?}, {}", script.finish, script.chance)
}

#[test]
fn the_plain_stack_keeps_the_laws() {
    no_script_breaks_a_law(Settings::PLAIN);
}

#[test]
fn the_stack_with_a_deadline_keeps_the_laws() {
    no_script_breaks_a_law(Settings::DEADLINE);
}

#[test]
fn the_stack_with_a_concurrency_limit_keeps_the_laws() {
    no_script_breaks_a_law(Settings::LIMITED);
}

#[test]
fn the_stack_under_a_buffer_keeps_the_laws() {
    no_script_breaks_a_law(Settings::BUFFERED);
}
