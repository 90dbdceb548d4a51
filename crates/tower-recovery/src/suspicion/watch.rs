//! What one attempt does about its suspicion.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_util::future::BoxFuture;
use pin_project_lite::pin_project;
use tokio::sync::futures::OwnedNotified;

use super::{HandleSuperseded, scope, tick::Place};
use crate::{Generation, Identity, Lease, ResolveError};

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

pin_project! {
    /// Polled beside an attempt that is pending.
    #[project = WatchProjection]
    pub(crate) enum Watch {
        // The attempt may not be given up, or was suspected.
        Settled,
        // Idle => Waiting, when the attempt is pending for the first time.
        Idle,
        // Waiting => Asking, or another place where the registry was asked only just now.
        Waiting { due: u64, #[pin] woken: OwnedNotified },
        // Asking => Settled | done
        Asking { current: Current },
    }
}

impl Watch {
    pub(crate) fn new(is_on: bool) -> Self {
        if is_on { Self::Idle } else { Self::Settled }
    }

    /// Ready when the attempt on the handle of this lease is to be given up.
    pub(crate) fn poll(mut self: Pin<&mut Self>, lease: &Lease, context: &mut Context<'_>) -> Poll<HandleSuperseded> {
        loop {
            let next = match self.as_mut().project() {
                WatchProjection::Settled => return Poll::Pending,
                WatchProjection::Idle => lease.tick().map_or(Self::Settled, |tick| Self::at(tick.wait())),
                WatchProjection::Waiting { due, woken } => {
                    let Some(tick) = lease.tick().filter(|tick| tick.is_due(*due) || woken.poll(context).is_ready())
                    else {
                        return Poll::Pending;
                    };
                    // It may have become impossible to repeat it, since it was called.
                    if !scope::may_still_be_given_up() {
                        self.set(Self::Settled);
                        return Poll::Pending;
                    }
                    match lease.suspect(*due) {
                        Suspected::Asking(current) => Self::Asking { current },
                        Suspected::Confirmed => Self::Settled,
                        Suspected::Later(next) => Self::at(tick.place(next)),
                    }
                }
                WatchProjection::Asking { current } => match ready!(current.as_mut().poll(context)) {
                    Ok((_, identity)) if identity != *lease.identity() && scope::may_still_be_given_up() => {
                        self.set(Self::Settled);
                        return Poll::Ready(HandleSuperseded { old: lease.identity().clone(), new: identity });
                    }
                    // The registry still names it, or does not answer: that is no reason to give anything up.
                    Ok(_) | Err(_) => Self::Settled,
                },
            };
            self.set(next);
        }
    }

    fn at(Place { due, woken }: Place) -> Self {
        Self::Waiting { due, woken }
    }
}
