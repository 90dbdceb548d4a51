//! The errors of tower itself, which may come from anywhere in a stack.

use std::error::Error;

use tower::{
    buffer::error::{Closed, ServiceError},
    load_shed::error::Overloaded,
    timeout::error::Elapsed,
};

use crate::{NotReady, Verdict};

/// What one link of a source chain proves, if it is an error of tower's or this crate's own.
///
/// The core knows them, not an adapter, because a timeout above `ClassifyLayer` must not switch recovery off.
pub(super) fn recognise(error: &(dyn Error + 'static)) -> Option<Verdict> {
    if error.is::<NotReady>() {
        Some(NotReady::VERDICT)
    } else if error.is::<Overloaded>() {
        // Load shedding answers in place of the inner service, which is not called.
        Some(Verdict::never_sent())
    } else if error.is::<ServiceError>() {
        // The worker's service failed in `poll_ready`; the buffer is dead, and with it the handle that it may be.
        Some(Verdict::never_sent().stale())
    } else if error.is::<Closed>() || error.is::<Elapsed>() {
        // `Closed` out of a call: the worker may have died inside it. `Elapsed`: the timer starts after the call.
        Some(Verdict::maybe_sent().stale())
    } else {
        None
    }
}
