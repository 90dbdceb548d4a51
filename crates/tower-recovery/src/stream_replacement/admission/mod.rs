//! What is handed out, and when: the user's explicit choice.

mod admitted;
mod held;
mod marked;
mod resumed;
mod until_first_item;
mod whole;

pub use self::{
    admitted::{Admitted, AdmittedFuture, AdmittedStream},
    marked::{Marked, MarkedFuture, MarkedItem, MarkedStream, Restarted},
    resumed::Resumed,
    until_first_item::UntilFirstItem,
    whole::{Whole, WholeFuture, WholeStream},
};
use super::{Resume, ResumeRefused};

/// A replaced stream begins anew.
#[derive(Clone, Copy, Debug)]
pub struct Restart(());

impl Restart {
    pub(super) const fn new() -> Self {
        Self(())
    }
}

impl<Request, Head, Item> Resume<Request, Head, Item> for Restart {
    fn begin(&mut self, _: &Head) {}

    fn ask(&self, _: &mut Request) -> Result<(), ResumeRefused> {
        Ok(())
    }

    fn accept(&mut self, _: &Head) -> Result<(), ResumeRefused> {
        Ok(())
    }

    fn hand_out(&mut self, _: &Item) -> Result<(), ResumeRefused> {
        Ok(())
    }
}
