//! The stage of a call, and what of it is pinned.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep, sleep_until};

/// The stage of a call. Each is left for another one before anything new is begun.
pub(super) enum Stage<Inner, Items> {
    /// The call of an attempt is under way, and pinned elsewhere.
    Calling,
    /// The stream of an attempt is under way.
    Streaming(Items),
    /// The next attempt begins then.
    Pausing(Instant),
    /// The instance for the next attempt is not ready yet.
    Readying(Inner),
    Over,
}

pin_project! {
    /// What is pinned: the future of the attempt whose stage is [`Calling`](Stage::Calling), and the one timer of the stream.
    pub(super) struct Attempt<Calling> {
        #[pin]
        calling: Option<Calling>,
        #[pin]
        timer: Option<Sleep>,
    }
}

impl<Calling> Attempt<Calling> {
    pub(super) fn calling(future: Calling) -> Self {
        Self { calling: Some(future), timer: None }
    }

    pub(super) fn idle() -> Self {
        Self { calling: None, timer: None }
    }

    pub(super) fn call(self: Pin<&mut Self>, future: Calling) {
        self.project().calling.set(Some(future));
    }

    pub(super) fn end_call(self: Pin<&mut Self>) {
        self.project().calling.set(None);
    }

    /// Nothing is waited for any more.
    pub(super) fn end(self: Pin<&mut Self>) {
        let mut this = self.project();
        this.calling.set(None);
        this.timer.set(None);
    }

    /// Ready at this moment or after it. The timer is armed anew only where it would come too late, or has come: a moment that is put off again and again
    /// costs nothing until the first one has passed.
    pub(super) fn poll_timer(self: Pin<&mut Self>, moment: Instant, context: &mut Context<'_>) -> Poll<()> {
        let mut timer = self.project().timer;
        loop {
            let armed_for = match timer.as_mut().as_pin_mut() {
                Some(armed) if armed.deadline() <= moment => armed.deadline(),
                _ => {
                    timer.set(Some(sleep_until(moment)));
                    moment
                }
            };
            ready!(timer.as_mut().as_pin_mut().expect("it is armed").poll(context));
            timer.set(None);
            if armed_for >= moment {
                return Poll::Ready(());
            }
        }
    }
}

impl<Calling: Future> Attempt<Calling> {
    pub(super) fn poll_call(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Calling::Output> {
        self.project().calling.as_pin_mut().expect("the stage says that a call is under way").poll(context)
    }
}

#[cfg(test)]
mod tests {
    use std::{pin::pin, task::Waker};

    use tokio::time::{Duration, advance};

    use super::*;

    const IDLE: Duration = Duration::from_secs(900);

    #[tokio::test(start_paused = true)]
    async fn a_moment_that_is_put_off_a_million_times_arms_one_timer() {
        let mut attempt = pin!(Attempt::<()>::idle());
        let mut context = Context::from_waker(Waker::noop());
        let start = Instant::now();
        for items in 0..1_000_000 {
            assert!(
                attempt.as_mut().poll_timer(start + IDLE + Duration::from_micros(items), &mut context).is_pending()
            );
        }
        assert_eq!(attempt.timer.as_ref().unwrap().deadline(), start + IDLE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_moment_is_met_exactly_whether_it_was_put_off_or_brought_forward() {
        let mut attempt = pin!(Attempt::<()>::idle());
        let mut context = Context::from_waker(Waker::noop());
        let start = Instant::now();
        let later = start + 2 * IDLE;
        assert!(attempt.as_mut().poll_timer(start + IDLE, &mut context).is_pending());
        advance(IDLE).await;
        assert!(attempt.as_mut().poll_timer(later, &mut context).is_pending(), "the first has passed, and is not it");
        advance(IDLE - Duration::from_millis(1)).await;
        assert!(attempt.as_mut().poll_timer(later, &mut context).is_pending());
        advance(Duration::from_millis(1)).await;
        assert!(attempt.as_mut().poll_timer(later, &mut context).is_ready());

        assert!(attempt.as_mut().poll_timer(later + IDLE, &mut context).is_pending());
        advance(Duration::from_secs(1)).await;
        let sooner = later + Duration::from_secs(1);
        assert!(attempt.as_mut().poll_timer(sooner, &mut context).is_ready(), "it is brought forward");
    }
}
