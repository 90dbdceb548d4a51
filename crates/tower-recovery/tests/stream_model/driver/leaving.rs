//! The end of every script, and of every reader: whatever is under way comes to its end, and nothing is left.

use std::{sync::Arc, time::Duration};

use tokio::{task::yield_now, time::advance};

use super::{Driver, Reader};
use crate::{
    record::{Event, broken},
    script::{Amount, Feed, Finish, Opening, Readiness},
};

/// More moments than the end of any script needs.
const MOST_MOMENTS: usize = 200;
/// More than the retry layer below pauses for.
const SHORT: Duration = Duration::from_secs(5);
/// More than lies between two moments at which anything is due.
const LONG: Duration = Duration::from_secs(2_000);

impl Driver {
    pub(super) fn leave(&mut self) {
        if matches!(self.reader, Reader::Nothing) {
            return;
        }
        self.oracle.is_about_to_leave();
        self.world.write(Event::Left);
        self.reader = Reader::Nothing;
        self.judge();
        self.oracle.all_is_closed();
        self.nothing_is_left();
    }

    /// Who has gone away, or has the end, leaves nothing: no future, no instance, no timer, no task.
    pub(super) fn nothing_is_left(&self) {
        self.world.forget_the_unready();
        let (held, open, probing) = self.world.alive();
        if open > 0 || probing {
            broken("law 9, no future is left", format_args!("{open} attempts, probing: {probing}"));
        }
        if matches!(self.reader, Reader::Nothing) && held != self.at_rest {
            broken("law 9, nothing is held", format_args!("{held} and not {}", self.at_rest));
        }
        let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
        if Arc::strong_count(&self.woken) > 1 || tasks > 0 {
            broken("law 9, no timer and no task is left", format_args!("{tasks} tasks"));
        }
    }

    /// Lets everything come to its end, and nothing may be left.
    pub(super) async fn finish(&mut self, finish: Finish) {
        self.held = false;
        match finish {
            Finish::Leave => self.leave(),
            Finish::Starve => {
                self.world.set_backend(None);
                self.world.set_prober(None);
            }
            Finish::Serve => {
                self.world.set_backend(Some(Opening::Stream { resumes: true }));
                self.world.set_readiness(Readiness::Ready);
                self.world.open_with(Opening::Stream { resumes: true });
            }
        }
        self.settle().await;
        for _ in 0..MOST_MOMENTS {
            if matches!(self.reader, Reader::Nothing) {
                break;
            }
            if finish == Finish::Serve {
                self.world.feed(Feed::Terminal);
                self.world.feed(Feed::End);
                self.settle().await;
            }
            let is_due = self.oracle.next_moment().is_some();
            if is_due {
                self.advance(Amount::ToTheNext).await
            } else {
                advance(SHORT).await
            }
            self.settle().await;
            // Nothing is due, and nothing comes: so it is for ever.
            if finish == Finish::Starve && !is_due && self.oracle.next_moment().is_none() {
                break;
            }
        }
        if finish == Finish::Serve && !self.oracle.is_over() && !matches!(self.reader, Reader::Nothing) {
            broken("nothing hangs", format_args!("{:?}", self.oracle));
        }
        self.leave();
        // What was due later is not.
        advance(LONG).await;
        yield_now().await;
        self.judge();
    }
}
