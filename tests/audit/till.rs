//! The budget of the audit: a [`ShareBudget`], of which every trade is noted.

use std::sync::{Mutex, MutexGuard};

use tower_recovery::{RetryBudget, ShareBudget};

use crate::audit::{
    clients::{MOST_PERMITS, PERMITS_IN_PERCENT, RESERVED_PERMITS},
    watch::Watch,
};

/// What a retry layer did with its budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trade {
    PaidIn { answered: u32 },
    Sold,
    Refused,
    GivenBack,
}

/// Sells what a [`ShareBudget`] sells, and shows each trade to the watch.
#[derive(Debug)]
pub(crate) struct Till {
    /// Held until a trade is noted, so that trades are noted in the order in which they were made.
    budget: Mutex<ShareBudget>,
    watch: Watch,
}

impl Till {
    pub(crate) fn new(watch: Watch) -> Self {
        let budget =
            ShareBudget::builder().percent(PERMITS_IN_PERCENT).reserve(RESERVED_PERMITS).ceiling(MOST_PERMITS).build();
        Self { budget: Mutex::new(budget.expect("it is within its bounds")), watch }
    }

    fn budget(&self) -> MutexGuard<'_, ShareBudget> {
        self.budget.lock().expect("nobody panics with it")
    }
}

impl RetryBudget for Till {
    fn deposit(&self, answered: u32) {
        let budget = self.budget();
        budget.deposit(answered);
        self.watch.note(Trade::PaidIn { answered });
    }

    fn withdraw(&self) -> bool {
        let budget = self.budget();
        let is_sold = budget.withdraw();
        self.watch.note(if is_sold { Trade::Sold } else { Trade::Refused });
        is_sold
    }

    fn give_back(&self) {
        let budget = self.budget();
        budget.give_back();
        self.watch.note(Trade::GivenBack);
    }
}
