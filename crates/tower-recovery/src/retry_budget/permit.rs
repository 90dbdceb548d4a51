//! One permit.

use std::sync::Arc;

use super::RetryBudget;

/// The right to one repeat, taken before the pause and given back when it is dropped unused.
#[derive(Debug)]
#[must_use = "a permit that is dropped is given back"]
pub struct RetryPermit {
    budget: Arc<dyn RetryBudget>,
    spent: bool,
}

impl RetryPermit {
    /// Buys one, if the budget has enough for one.
    pub fn buy(budget: &Arc<dyn RetryBudget>) -> Option<Self> {
        budget.withdraw().then(|| Self { budget: Arc::clone(budget), spent: false })
    }

    /// The repeat is sent.
    pub fn spend(mut self) {
        self.spent = true;
    }
}

impl Drop for RetryPermit {
    fn drop(&mut self) {
        if !self.spent {
            self.budget.give_back();
        }
    }
}
