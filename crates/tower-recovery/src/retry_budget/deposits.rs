//! What one clone of a stack pays in, in batches.

use std::sync::Arc;

use super::RetryBudget;
use crate::sync::{AtomicU64, Ordering};

/// Counts the answered calls of one clone, so that a call writes to no memory that another thread's calls write to.
#[derive(Debug)]
pub(crate) struct Deposits {
    budget: Arc<dyn RetryBudget>,
    answered: AtomicU64,
}

/// How many answered calls are paid in together.
const BATCH: u32 = 16;

impl Deposits {
    pub(crate) fn new(budget: Arc<dyn RetryBudget>) -> Self {
        Self { budget, answered: AtomicU64::new(0) }
    }

    pub(crate) fn budget(&self) -> &Arc<dyn RetryBudget> {
        &self.budget
    }

    pub(crate) fn answered(&self) {
        let before = self.answered.fetch_add(1, Ordering::Relaxed);
        if (before + 1).is_multiple_of(u64::from(BATCH)) {
            self.budget.deposit(BATCH);
        }
    }
}

impl Drop for Deposits {
    fn drop(&mut self) {
        let rest = self.answered.load(Ordering::Relaxed) % u64::from(BATCH);
        if rest > 0 {
            // Below the size of a batch.
            self.budget.deposit(rest as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ShareBudget;

    #[test]
    fn each_answered_call_is_paid_in_once_the_last_ones_at_the_end() {
        for calls in 0..=40 {
            let budget = Arc::new(ShareBudget::builder().percent(100).reserve(0).build().unwrap());
            let deposits = Deposits::new(Arc::clone(&budget) as Arc<dyn RetryBudget>);
            (0..calls).for_each(|_| deposits.answered());
            assert_eq!(budget.permits(), calls / u64::from(BATCH) * u64::from(BATCH), "whole batches of {calls}");
            drop(deposits);
            assert_eq!(budget.permits(), calls);
        }
    }
}
