//! The end of every script: whatever is under way comes to its end, and nothing is left.

use std::task::{Context, Waker};

use tower::Service;

use super::Driver;
use crate::{
    expect::broken,
    protocol::End,
    script::{Amount, Answer, Finish, Readiness},
    stack::Boxed,
};

/// More moments than the end of any script needs.
const MOST_MOMENTS: usize = 5_000;

impl Driver {
    /// Lets everything come to its end. Nothing may hang, and nothing may be left.
    pub(super) async fn finish(&mut self, finish: Finish) {
        self.tasks.values_mut().for_each(|task| task.held = false);
        match finish {
            Finish::Leave => self.ids().into_iter().for_each(|id| self.drop_task(id)),
            Finish::Starve => {
                self.set_backend(None);
                self.set_readiness(Readiness::Ready);
                self.world.set_registry(None);
                self.model.set_registry(None);
            }
            Finish::Serve => {
                self.set_backend(Some(End::Answered { stale: false }));
                self.set_readiness(Readiness::Ready);
                self.world.set_registry(Some(Answer::New));
                self.model.set_registry(Some(Answer::New));
                for (attempt, call) in self.world.open_attempts() {
                    self.end_attempt(call, attempt, End::Answered { stale: false });
                }
                self.end_resolves(Answer::New);
            }
        }
        self.settle().await;
        for _ in 0..MOST_MOMENTS {
            if self.tasks.is_empty() {
                break;
            }
            self.advance(Amount::ToTheNext).await;
            self.settle().await;
        }
        self.nothing_is_left();
    }

    fn nothing_is_left(&mut self) {
        if !self.tasks.is_empty() {
            broken("law 9, nothing hangs", format_args!("{:?} did not come to their end", self.ids()));
        }
        let alive = self.world.alive();
        if alive != (0, 0) {
            broken("law 9, no future is left", format_args!("(attempts, resolves) alive: {alive:?}"));
        }
        let slots = self.settings.slots.unwrap_or_default();
        let mut asking = vec![self.clones[0].clone(); slots];
        let got = |clone: &mut Boxed| clone.poll_ready(&mut Context::from_waker(Waker::noop())).is_ready();
        if !asking.iter_mut().all(got) {
            broken("law 9, others proceed", format_args!("not all of the {slots} slots came back"));
        }
        self.record.take();
        drop((asking, self.worker.take()));
        self.clones.clear();
        self.compare(|model, _| model.drop_clones());
    }
}
