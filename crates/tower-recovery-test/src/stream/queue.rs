//! What a stream and its handles share.

use std::{
    collections::VecDeque,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Waker},
};

use tokio::sync::Notify;

use crate::{BoxError, Gate, lock::lock};

pub(super) type Maker = Box<dyn FnMut() -> BoxError + Send>;

/// What was sent at once.
pub(super) enum Step<Item> {
    Item(Item),
    Items(Item, usize, fn(&Item) -> Item),
    End,
    Fail(BoxError),
    FailForEver(Maker),
}

pub(super) struct Shared<Item> {
    queue: Mutex<Queue<Item>>,
    polls: AtomicUsize,
    polled: Notify,
    pub(super) dropped: Gate,
}

struct Queue<Item> {
    steps: VecDeque<Step<Item>>,
    /// Whether the end was sent.
    ended: bool,
    waker: Option<Waker>,
}

impl<Item> Shared<Item> {
    /// Puts a step at the end; `false` if something was put there after which there is nothing.
    pub(super) fn put(&self, step: Step<Item>) -> bool {
        let mut queue = lock(&self.queue);
        if queue.ended {
            return false;
        }
        queue.ended = !matches!(step, Step::Item(_) | Step::Items(..));
        queue.steps.push_back(step);
        let waker = queue.waker.take();
        // What is woken may poll at once.
        drop(queue);
        if let Some(waker) = waker {
            waker.wake();
        }
        true
    }

    /// Takes the next step; `None` if there is none yet, which wakes the task once there is.
    pub(super) fn next(&self, context: &Context<'_>) -> Option<Step<Item>> {
        let mut queue = lock(&self.queue);
        let next = queue.steps.pop_front();
        if next.is_none() {
            queue.waker = Some(context.waker().clone());
        }
        next
    }

    pub(super) fn count_poll(&self) {
        self.polls.fetch_add(1, Ordering::SeqCst);
        self.polled.notify_waiters();
    }

    pub(super) fn polls(&self) -> usize {
        self.polls.load(Ordering::SeqCst)
    }

    pub(super) async fn polls_at_least(&self, wanted: usize) {
        loop {
            // Made before the look, so that no poll falls between the two.
            let polled = self.polled.notified();
            if self.polls() >= wanted {
                return;
            }
            polled.await;
        }
    }
}

impl<Item> Default for Shared<Item> {
    fn default() -> Self {
        Self {
            queue: Mutex::new(Queue { steps: VecDeque::new(), ended: false, waker: None }),
            polls: AtomicUsize::new(0),
            polled: Notify::new(),
            dropped: Gate::new(),
        }
    }
}
