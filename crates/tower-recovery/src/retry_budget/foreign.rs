//! tower's own budgets.

use std::fmt;

use tower::retry::budget::Budget;

use super::RetryBudget;

/// A budget of tower's as one of ours.
///
/// tower's trait knows no giving back, so a permit that is not used is lost: fewer repeats than allowed, never more. Of tower 0.5's own
/// `TpsBudget` mind that it truncates its percentage to whole repeats a deposit, and that its check races with its withdrawal.
pub struct TowerBudget<Foreign>(Foreign);

impl<Foreign: Budget + Send + Sync> TowerBudget<Foreign> {
    /// Adapts this budget.
    pub fn new(budget: Foreign) -> Self {
        Self(budget)
    }
}

impl<Foreign: Budget + Send + Sync> RetryBudget for TowerBudget<Foreign> {
    fn deposit(&self, answered: u32) {
        (0..answered).for_each(|_| self.0.deposit());
    }

    fn withdraw(&self) -> bool {
        self.0.withdraw()
    }

    fn give_back(&self) {}
}

impl<Foreign> fmt::Debug for TowerBudget<Foreign> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TowerBudget").finish_non_exhaustive()
    }
}
