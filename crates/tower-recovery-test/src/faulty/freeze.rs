//! Whether the server is frozen, and who waits for the thaw.

use tokio::sync::watch;

/// The freeze switch. One lock orders it with the beginnings of executions: after [`Freeze::freeze`] has returned, nothing begins that was
/// not thawed before.
#[derive(Debug)]
pub(super) struct Freeze(watch::Sender<State>);

#[derive(Clone, Copy, Debug, Default)]
struct State {
    frozen: bool,
    /// Thaws are counted, so that one that is followed at once by another freeze is not missed by those that waited for it.
    thaws: usize,
}

/// A moment before a thaw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BeforeThaw(usize);

impl Freeze {
    pub(super) fn new() -> Self {
        Self(watch::Sender::new(State::default()))
    }

    pub(super) fn freeze(&self) {
        self.0.send_modify(|state| state.frozen = true);
    }

    pub(super) fn thaw(&self) {
        self.0.send_modify(|state| {
            state.frozen = false;
            state.thaws += 1;
        });
    }

    /// The present moment, to wait for the thaw that comes after it.
    pub(super) fn now(&self) -> BeforeThaw {
        BeforeThaw(self.0.borrow().thaws)
    }

    /// Begins something, unless the server is frozen.
    pub(super) fn begin(&self, begin: impl FnOnce()) -> Result<(), BeforeThaw> {
        let state = self.0.borrow();
        if state.frozen {
            return Err(BeforeThaw(state.thaws));
        }
        begin();
        Ok(())
    }

    /// Waits for the first thaw after that moment.
    pub(super) async fn thawed(&self, since: BeforeThaw) {
        self.0
            .subscribe()
            .wait_for(|state| state.thaws > since.0)
            .await
            .expect("the sender is borrowed, so the channel is open");
    }
}
