//! Calls and streams that are polled by hand: never before they were woken.

use std::{future::Future, task::Poll, time::Duration};

use futures_util::Stream;
use tokio::time::advance;
use tokio_test::task::{self, Spawn};

pub(crate) fn seconds(number: u64) -> Duration {
    Duration::from_secs(number)
}

/// A future or a stream. A lost wake-up fails here and hangs nowhere.
pub(crate) struct Driven<Task> {
    task: Spawn<Task>,
    is_pending: bool,
}

impl<Task> Driven<Task> {
    pub(crate) fn new(task: Task) -> Self {
        Self { task: task::spawn(task), is_pending: false }
    }

    pub(crate) fn is_woken(&self) -> bool {
        self.task.is_woken()
    }

    #[track_caller]
    fn may_be_polled(&self) {
        assert!(!self.is_pending || self.is_woken(), "a wake-up was lost");
    }
}

impl<Task: Future> Driven<Task> {
    #[track_caller]
    pub(crate) fn poll(&mut self) -> Poll<Task::Output> {
        self.may_be_polled();
        let polled = self.task.poll();
        self.is_pending = polled.is_pending();
        polled
    }

    #[track_caller]
    pub(crate) fn waits(&mut self) {
        assert!(self.poll().is_pending(), "it has ended");
    }

    #[track_caller]
    pub(crate) fn output(&mut self) -> Task::Output {
        match self.poll() {
            Poll::Ready(output) => output,
            Poll::Pending => panic!("it has not ended"),
        }
    }

    /// Its end within this time.
    pub(crate) async fn output_within(&mut self, time: Duration) -> Task::Output {
        let mut left = time;
        while !left.is_zero() {
            left -= tick(left).await;
            if self.is_woken()
                && let Poll::Ready(output) = self.poll()
            {
                return output;
            }
        }
        panic!("it has not ended")
    }

    /// Whether it ends within this time.
    pub(crate) async fn ends_within(&mut self, time: Duration) -> bool {
        let mut left = time;
        while !left.is_zero() {
            left -= tick(left).await;
            if self.is_woken() && self.poll().is_ready() {
                return true;
            }
        }
        false
    }

    /// So much time passes, in which it does not end.
    pub(crate) async fn waits_for(&mut self, time: Duration) {
        let mut left = time;
        while !left.is_zero() {
            left -= tick(left).await;
            if self.is_woken() {
                self.waits();
            }
        }
    }
}

impl<Items: Stream> Driven<Items> {
    #[track_caller]
    pub(crate) fn poll_next(&mut self) -> Poll<Option<Items::Item>> {
        self.may_be_polled();
        let polled = self.task.poll_next();
        self.is_pending = polled.is_pending();
        polled
    }

    #[track_caller]
    pub(crate) fn is_silent(&mut self) {
        assert!(self.poll_next().is_pending(), "something has come");
    }

    #[track_caller]
    pub(crate) fn next(&mut self) -> Option<Items::Item> {
        match self.poll_next() {
            Poll::Ready(next) => next,
            Poll::Pending => panic!("nothing has come"),
        }
    }

    /// What comes within this time.
    pub(crate) async fn next_within(&mut self, time: Duration) -> Option<Items::Item> {
        let mut left = time;
        while !left.is_zero() {
            left -= tick(left).await;
            if self.is_woken()
                && let Poll::Ready(next) = self.poll_next()
            {
                return next;
            }
        }
        panic!("nothing has come")
    }

    /// So much time passes, in which nothing comes.
    pub(crate) async fn is_silent_for(&mut self, time: Duration) {
        let mut left = time;
        while !left.is_zero() {
            left -= tick(left).await;
            if self.is_woken() {
                self.is_silent();
            }
        }
    }
}

/// A second at the most: who waits for one thing after another wakes in between.
async fn tick(left: Duration) -> Duration {
    let tick = left.min(seconds(1));
    advance(tick).await;
    tick
}
