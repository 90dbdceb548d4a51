//! [`RetryPermit`] and the budget it is bought from.

use std::sync::Arc;

use super::{
    Interruptions,
    checker::{CALLERS, explore, spawn},
    together,
};
use crate::{RetryBudget, RetryPermit, ShareBudget, retry_budget::Deposits};

/// Every answered call pays for a whole permit, so that the balance can be counted in permits.
fn budget(reserve: u32, ceiling: u32) -> (Arc<ShareBudget>, Arc<dyn RetryBudget>) {
    let budget = Arc::new(ShareBudget::builder().percent(100).reserve(reserve).ceiling(ceiling).build().unwrap());
    (Arc::clone(&budget), budget)
}

#[test]
fn the_last_permit_is_sold_once() {
    explore(Interruptions::Any, || {
        let (balance, budget) = budget(1, 1);
        let bought = together(move || RetryPermit::buy(&budget));
        assert_eq!(bought.iter().flatten().count(), 1);
        assert_eq!(balance.permits(), 0);
        drop(bought);
        assert_eq!(balance.permits(), 1);
    });
}

#[test]
fn a_permit_dropped_unused_can_be_bought_again_and_a_spent_one_cannot() {
    explore(Interruptions::Any, || {
        let (balance, budget) = budget(1, 1);
        let spent = together(move || {
            drop(RetryPermit::buy(&budget));
            RetryPermit::buy(&budget).map(RetryPermit::spend).is_some()
        });
        let spent = spent.into_iter().filter(|spent| *spent).count() as u64;
        assert!(spent <= 1);
        assert_eq!(balance.permits(), 1 - spent, "bought and given back, or spent, or never sold");
    });
}

/// Two clones of a stack pay in, a whole batch and a rest each, while the calls of a third one are repeated.
#[test]
fn deposits_and_withdrawals_at_once_conserve_the_balance() {
    const ANSWERED: u64 = 17;
    explore(Interruptions::UpTo(4), || {
        let (balance, budget) = budget(1, 1_000);
        let clones = [(); 2].map(|()| {
            let deposits = Deposits::new(Arc::clone(&budget));
            spawn(move || (0..ANSWERED).for_each(|_| deposits.answered()))
        });
        let spent = (0..3).filter_map(|_| RetryPermit::buy(&budget)).map(RetryPermit::spend).count() as u64;
        clones.into_iter().for_each(|clone| clone.join().unwrap());
        assert_eq!(balance.permits(), 1 + 2 * ANSWERED - spent);
    });
}

/// The calls of one clone end on several threads.
#[test]
fn each_call_of_one_clone_is_paid_in_once_on_whatever_thread_it_is_answered() {
    const ANSWERED: u64 = 9;
    explore(Interruptions::Any, || {
        let (balance, budget) = budget(0, 1_000);
        let deposits = Arc::new(Deposits::new(budget));
        together({
            let deposits = Arc::clone(&deposits);
            move || (0..ANSWERED).for_each(|_| deposits.answered())
        });
        drop(deposits);
        assert_eq!(balance.permits(), ANSWERED * CALLERS as u64);
    });
}

#[test]
fn the_balance_never_passes_the_ceiling() {
    const CEILING: u64 = 2;
    explore(Interruptions::Any, || {
        let (balance, budget) = budget(1, CEILING as u32);
        let seen = together({
            let balance = Arc::clone(&balance);
            move || {
                let permit = RetryPermit::buy(&budget);
                budget.deposit(2);
                let before = balance.permits();
                drop(permit);
                before.max(balance.permits())
            }
        });
        assert!(seen.iter().all(|permits| *permits <= CEILING), "{seen:?}");
        assert_eq!(balance.permits(), CEILING);
    });
}
