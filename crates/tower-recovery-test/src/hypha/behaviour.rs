//! What a method of a Python service is told to do besides its work.

use std::time::Duration;

use rmpv::Value;

use super::pipe::map;

/// What a method does from now on: it answers, raises, hangs or dies, at once or after a while.
///
/// It is in the ledger as received when it comes, and as executed when it takes effect, which is after the delay.
#[derive(Debug, Clone)]
pub struct Behaviour {
    outcome: &'static str,
    raised: Option<(String, String)>,
    delay: Duration,
    times: Option<u32>,
}

impl Behaviour {
    /// It does its work and answers, as it does without a behaviour.
    #[must_use]
    pub const fn answer() -> Self {
        Self::new("answer")
    }

    /// It raises an error, such as `KeyError`, instead of its work. The ledger shows it as executed, with what it raised.
    #[must_use]
    pub fn raise(class: &str, text: &str) -> Self {
        Self { raised: Some((class.to_owned(), text.to_owned())), ..Self::new("raise") }
    }

    /// It is received, and never executed nor answered.
    #[must_use]
    pub const fn hang_before() -> Self {
        Self::new("hang_before")
    }

    /// It is executed, and never answered.
    #[must_use]
    pub const fn hang_after() -> Self {
        Self::new("hang_after")
    }

    /// The process ends before it executes.
    #[must_use]
    pub const fn exit_before() -> Self {
        Self::new("exit_before")
    }

    /// The process ends after it has executed, before it answers.
    #[must_use]
    pub const fn exit_after() -> Self {
        Self::new("exit_after")
    }

    /// It takes that long before it does so.
    #[must_use]
    pub const fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Only for so many calls; then it answers again. Without this, for all.
    ///
    /// # Panics
    ///
    /// If that is none.
    #[must_use]
    pub const fn times(mut self, times: u32) -> Self {
        assert!(times > 0, "a behaviour is for one call or more");
        self.times = Some(times);
        self
    }

    pub(super) fn value(&self) -> Value {
        let (class, text) = self.raised.clone().unwrap_or_default();
        map([
            ("outcome", Value::from(self.outcome)),
            ("delay", Value::from(self.delay.as_secs_f64())),
            ("times", self.times.map_or(Value::Nil, Value::from)),
            ("kind", Value::from(class)),
            ("text", Value::from(text)),
        ])
    }

    const fn new(outcome: &'static str) -> Self {
        Self { outcome, raised: None, delay: Duration::ZERO, times: None }
    }
}
