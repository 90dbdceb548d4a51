//! Taking turns on what serves one at a time.

use std::{
    fmt,
    sync::Arc,
    task::{Context, Poll, ready},
};

use futures_util::{FutureExt, future::BoxFuture};
use sync_wrapper::SyncWrapper;
use tokio::sync::{Mutex, OwnedMutexGuard};

/// A place that one clone at a time holds, in the order in which they asked.
///
/// A clone that is dropped gives up its turn; a new one has none.
pub(super) struct Turns<Shared> {
    shared: Arc<Mutex<Shared>>,
    turn: Option<OwnedMutexGuard<Shared>>,
    // Wrapped, so that a handle can be shared between threads, as the types of a stack are: it is polled through `&mut` alone.
    waiting: Option<SyncWrapper<BoxFuture<'static, OwnedMutexGuard<Shared>>>>,
}

impl<Shared: Send + 'static> Turns<Shared> {
    pub(super) fn new(shared: Shared) -> Self {
        Self { shared: Arc::new(Mutex::new(shared)), turn: None, waiting: None }
    }

    /// Waits for the turn of this clone, and gives what it may use then.
    pub(super) fn poll_turn(&mut self, context: &mut Context<'_>) -> Poll<&mut Shared> {
        if self.turn.is_none() {
            let turn = match self.waiting.as_mut() {
                Some(waiting) => ready!(waiting.get_mut().poll_unpin(context)),
                // Where nobody waits, nothing is allocated.
                None => match Arc::clone(&self.shared).try_lock_owned() {
                    Ok(turn) => turn,
                    Err(_) => {
                        let waiting = SyncWrapper::new(Arc::clone(&self.shared).lock_owned().boxed());
                        ready!(self.waiting.insert(waiting).get_mut().poll_unpin(context))
                    }
                },
            };
            self.waiting = None;
            self.turn = Some(turn);
        }
        Poll::Ready(self.turn.as_mut().expect("it was taken above"))
    }

    /// Uses the turn up; `None` where it was not this clone's turn.
    pub(super) fn take_turn(&mut self) -> Option<OwnedMutexGuard<Shared>> {
        self.turn.take()
    }
}

impl<Shared> Clone for Turns<Shared> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), turn: None, waiting: None }
    }
}

impl<Shared> fmt::Debug for Turns<Shared> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Turns").field("has_turn", &self.turn.is_some()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use tokio_test::{assert_pending, assert_ready, task};

    use super::*;

    fn polled(turns: &mut Turns<u32>) -> impl Future<Output = u32> {
        futures_util::future::poll_fn(move |context| turns.poll_turn(context).map(|shared| *shared))
    }

    #[test]
    fn clones_take_turns_in_the_order_in_which_they_asked() {
        let mut first = Turns::new(7);
        let (mut second, mut third) = (first.clone(), first.clone());
        assert_ready!(task::spawn(polled(&mut first)).poll());
        let mut waiting = task::spawn(polled(&mut second));
        assert_pending!(waiting.poll());
        let mut last = task::spawn(polled(&mut third));
        assert_pending!(last.poll());
        drop(first.take_turn().unwrap());
        assert!(waiting.is_woken() && !last.is_woken());
        assert_eq!(assert_ready!(waiting.poll()), 7);
        assert_pending!(last.poll());
    }

    #[test]
    fn a_clone_has_no_turn_and_one_that_is_dropped_gives_its_turn_up() {
        let mut first = Turns::new(7);
        assert_ready!(task::spawn(polled(&mut first)).poll());
        assert!(first.clone().take_turn().is_none());
        let mut second = first.clone();
        let mut waiting = task::spawn(polled(&mut second));
        assert_pending!(waiting.poll());
        drop(first);
        assert!(waiting.is_woken());
        assert_ready!(waiting.poll());
    }
}
