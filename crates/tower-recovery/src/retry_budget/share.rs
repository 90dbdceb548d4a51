//! A share of the calls that are answered, in whole numbers and without a clock.

use crate::{
    InvalidSetting,
    sync::{AtomicU64, Ordering},
};

use super::RetryBudget;

/// One permit is this much of the balance: a call that is answered pays in its percentage.
const PERMIT: u64 = 100;

/// Repeats up to a share of the calls that are answered.
///
/// It begins with a reserve, grows by `percent` of a permit with each answered call, up to a ceiling, and does not grow while nothing is answered: in a
/// total outage a client sends its reserve once and then no repeat at all. A repeat that finds another instance after a re-resolve is free and not asked for here.
///
/// # Examples
///
/// ```
/// use tower_recovery::{RetryBudget, ShareBudget};
///
/// let budget = ShareBudget::builder().percent(20).reserve(1).build()?;
/// assert!(budget.withdraw(), "the reserve");
/// assert!(!budget.withdraw());
/// budget.deposit(5);
/// assert!(budget.withdraw(), "a fifth of five answered calls");
/// assert!(!budget.withdraw());
///
/// let refused = ShareBudget::builder().percent(0).build().unwrap_err();
/// assert_eq!(refused.to_string(), "percent is 0, but it must be from 1 to 100");
/// # Ok::<(), tower_recovery::InvalidSetting>(())
/// ```
#[derive(Debug)]
pub struct ShareBudget {
    percent: u64,
    ceiling: u64,
    balance: AtomicU64,
}

impl ShareBudget {
    const DEFAULT: ShareBudgetBuilder = ShareBudgetBuilder { percent: 10, reserve: 10, ceiling: 100 };
    const MOST_PERMITS: u32 = 1_000_000;

    /// Starts from the defaults: 10 % of the answered calls, 10 permits in reserve, never more than 100.
    pub fn builder() -> ShareBudgetBuilder {
        Self::DEFAULT
    }

    fn of(settings: ShareBudgetBuilder) -> Self {
        Self {
            percent: u64::from(settings.percent),
            ceiling: u64::from(settings.ceiling) * PERMIT,
            balance: AtomicU64::new(u64::from(settings.reserve) * PERMIT),
        }
    }

    /// How many permits could be bought at this moment.
    #[must_use]
    pub fn permits(&self) -> u64 {
        self.balance.load(Ordering::Relaxed) / PERMIT
    }

    fn add(&self, amount: u64) {
        let add = |balance: u64| Some(balance.saturating_add(amount).min(self.ceiling));
        // It never refuses: the closure always gives a balance.
        let _ = self.balance.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    }
}

impl Default for ShareBudget {
    fn default() -> Self {
        Self::of(Self::DEFAULT)
    }
}

// Relaxed all through: the balance is all that is shared, and each change of it is one compare-and-swap.
impl RetryBudget for ShareBudget {
    fn deposit(&self, answered: u32) {
        self.add(u64::from(answered) * self.percent);
    }

    fn withdraw(&self) -> bool {
        self.balance.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |balance| balance.checked_sub(PERMIT)).is_ok()
    }

    fn give_back(&self) {
        self.add(PERMIT);
    }
}

/// Sets the parts of a [`ShareBudget`].
#[derive(Clone, Copy, Debug)]
#[must_use = "a builder does nothing before `build`"]
pub struct ShareBudgetBuilder {
    percent: u32,
    reserve: u32,
    ceiling: u32,
}

impl ShareBudgetBuilder {
    /// How many repeats a hundred answered calls pay for: from 1 to 100, default 10.
    pub fn percent(mut self, percent: u32) -> Self {
        self.percent = percent;
        self
    }

    /// How many permits there are at the beginning: up to the ceiling, default 10.
    pub fn reserve(mut self, permits: u32) -> Self {
        self.reserve = permits;
        self
    }

    /// How many permits there may be at the most: from 1 to 1,000,000, default 100.
    pub fn ceiling(mut self, permits: u32) -> Self {
        self.ceiling = permits;
        self
    }

    /// # Errors
    ///
    /// [`InvalidSetting`] names the field, its value and the bound that it breaks.
    pub fn build(self) -> Result<ShareBudget, InvalidSetting> {
        if !(1..=100).contains(&self.percent) {
            return Err(InvalidSetting::new("percent", self.percent, "from 1 to 100"));
        }
        if !(1..=ShareBudget::MOST_PERMITS).contains(&self.ceiling) {
            return Err(InvalidSetting::new("ceiling", self.ceiling, "from 1 to 1000000"));
        }
        if self.reserve > self.ceiling {
            return Err(InvalidSetting::new("reserve", self.reserve, format!("up to the ceiling of {}", self.ceiling)));
        }
        Ok(ShareBudget::of(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(percent: u32, reserve: u32, ceiling: u32) -> ShareBudget {
        ShareBudget::builder().percent(percent).reserve(reserve).ceiling(ceiling).build().unwrap()
    }

    #[test]
    fn every_percentage_is_exact_over_a_thousand_answered_calls() {
        for percent in 1..=100 {
            let budget = budget(percent, 0, 1_000);
            (0..1_000).for_each(|_| budget.deposit(1));
            let bought = (0..2_000).take_while(|_| budget.withdraw()).count();
            assert_eq!(bought, 10 * percent as usize, "{percent} %");
        }
    }

    #[test]
    fn the_default_is_ten_permits_in_reserve_a_tenth_of_the_answers_and_a_hundred_at_the_most() {
        for budget in [ShareBudget::default(), ShareBudget::builder().build().unwrap()] {
            assert_eq!(budget.permits(), 10);
            budget.deposit(9);
            assert_eq!(budget.permits(), 10, "a part of a permit is none");
            budget.deposit(1);
            assert_eq!(budget.permits(), 11);
            budget.deposit(10_000);
            assert_eq!(budget.permits(), 100);
        }
    }

    #[test]
    fn nothing_piles_up_beyond_the_ceiling() {
        let budget = budget(100, 0, 3);
        budget.deposit(u32::MAX);
        assert_eq!(budget.permits(), 3);
        budget.give_back();
        assert_eq!(budget.permits(), 3);
    }

    #[test]
    fn a_permit_that_was_given_back_can_be_bought_again() {
        let budget = budget(1, 1, 1);
        assert!(budget.withdraw() && !budget.withdraw());
        budget.give_back();
        assert!(budget.withdraw() && !budget.withdraw());
    }

    #[test]
    fn what_is_out_of_bounds_is_refused_by_name_value_and_bound() {
        for (percent, reserve, ceiling, message) in [
            (0, 0, 1, "percent is 0, but it must be from 1 to 100"),
            (101, 0, 1, "percent is 101, but it must be from 1 to 100"),
            (1, 0, 0, "ceiling is 0, but it must be from 1 to 1000000"),
            (1, 0, 1_000_001, "ceiling is 1000001, but it must be from 1 to 1000000"),
            (1, 3, 2, "reserve is 3, but it must be up to the ceiling of 2"),
        ] {
            let refused = ShareBudget::builder().percent(percent).reserve(reserve).ceiling(ceiling).build();
            assert_eq!(refused.unwrap_err().to_string(), message);
        }
        budget(1, 0, 1);
        budget(100, 1_000_000, 1_000_000);
    }
}
