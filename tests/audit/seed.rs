//! Chance that is the same in every run: a function of the seed and of numbers, never of time.

use std::{env, str::FromStr};

const DEFAULT_SEED: u64 = 20_261;
const DEFAULT_REQUESTS: usize = 10_000;

/// Where all chance comes from: `TOWER_RECOVERY_AUDIT_SEED`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seed(u64);

/// What is drawn. Two draws about different things have nothing to do with each other.
#[derive(Clone, Copy, Debug)]
pub(crate) enum About {
    Call,
    Act,
    Refusal,
    Answer,
    Accept,
    Plan,
    LookUp,
    Schedule,
}

impl Seed {
    pub(crate) fn from_environment() -> Self {
        Self(number("TOWER_RECOVERY_AUDIT_SEED", DEFAULT_SEED))
    }

    pub(crate) fn get(self) -> u64 {
        self.0
    }

    /// The chance of this one thing, told apart by two numbers.
    pub(crate) fn draw(self, about: About, first: usize, second: usize) -> fastrand::Rng {
        let words = [about as u64, first as u64, second as u64];
        let mixed = words.into_iter().fold(self.0, |mixed, word| fastrand::Rng::with_seed(mixed ^ word).u64(..));
        fastrand::Rng::with_seed(mixed)
    }
}

/// How many requests each client makes: `TOWER_RECOVERY_AUDIT_REQUESTS`.
pub(crate) fn requests() -> usize {
    number("TOWER_RECOVERY_AUDIT_REQUESTS", DEFAULT_REQUESTS)
}

fn number<Number: FromStr>(name: &str, default: Number) -> Number {
    let Ok(text) = env::var(name) else { return default };
    text.parse().unwrap_or_else(|_| panic!("{name} is {text}, but it must be a number"))
}
