//! What one attempt does about its suspicion.

use std::task::{Context, Poll, ready};

use futures_util::future::BoxFuture;

use super::{HandleSuperseded, tick::Seat};
use crate::{Generation, Identity, Lease, ResolveError, attempt_scope};

/// Who is live when the registry was asked.
pub(crate) type Current = BoxFuture<'static, Result<(Generation, Identity), ResolveError>>;

/// What comes of a suspicion.
pub(crate) enum Suspected {
    /// The registry is asked, or has named another handle.
    Asking(Current),
    /// It has answered just now.
    Confirmed,
    /// It was asked too short a time ago: again at this tick.
    Later(u64),
}

/// Polled beside an attempt that is pending.
pub(crate) enum Watch {
    /// The attempt may not be given up, or was suspected.
    Settled,
    /// Idle => Waiting, when the attempt is pending for the first time.
    Idle,
    /// Waiting => Asking, or another seat where the registry was asked only just now.
    Waiting(Seat),
    /// Asking => Settled | done
    Asking(Current),
}

impl Watch {
    pub(crate) fn new(is_on: bool) -> Self {
        if is_on { Self::Idle } else { Self::Settled }
    }

    /// Ready when the attempt on the handle of this lease is to be given up.
    pub(crate) fn poll(&mut self, lease: &Lease, context: &mut Context<'_>) -> Poll<HandleSuperseded> {
        loop {
            *self = match self {
                Self::Settled => return Poll::Pending,
                Self::Idle => match lease.tick() {
                    Some(tick) => {
                        *self = Self::Waiting(tick.wait(context));
                        return Poll::Pending;
                    }
                    None => Self::Settled,
                },
                Self::Waiting(seat) => {
                    let due = ready!(seat.poll(context));
                    // It may have become impossible to repeat it, since it was called.
                    if !attempt_scope::may_still_be_given_up() {
                        *self = Self::Settled;
                        return Poll::Pending;
                    }
                    match lease.suspect(due) {
                        Suspected::Asking(current) => Self::Asking(current),
                        Suspected::Confirmed => Self::Settled,
                        Suspected::Later(next) => {
                            lease.tick().map_or(Self::Settled, |tick| Self::Waiting(tick.wait_until(next, context)))
                        }
                    }
                }
                Self::Asking(current) => match ready!(current.as_mut().poll(context)) {
                    Ok((_, identity)) if identity != *lease.identity() && attempt_scope::may_still_be_given_up() => {
                        *self = Self::Settled;
                        return Poll::Ready(HandleSuperseded { old: lease.identity().clone(), new: identity });
                    }
                    // The registry still names it, or does not answer: that is no reason to give anything up.
                    Ok(_) | Err(_) => Self::Settled,
                },
            };
        }
    }
}
