//! [`HandleCache`].

mod ending;
mod evicting;
mod waiting;

use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
};

use super::{
    Interruptions,
    checker::{CALLERS, block_on, explore, spawn},
    registry::{Course, Handle, Registry},
    together,
};
use crate::{Acquire, Generation, HandleCache, Held, ResolveError};

type Acquired = Result<Held<Handle>, ResolveError>;

const FIRST: Generation = Generation::FIRST;

fn second() -> Generation {
    FIRST.next()
}

/// Waits for the handle, and lets go of it.
fn acquired(cache: &HandleCache<Handle>) -> Result<Generation, ResolveError> {
    generation(block_on(cache.acquire()))
}

fn generation(acquired: Acquired) -> Result<Generation, ResolveError> {
    acquired.map(|held| held.lease.generation())
}

/// Polls as a task does that is dropped before it is polled again: it is woken in vain.
fn poll(acquire: &mut Acquire<Handle>) -> Poll<Acquired> {
    pin!(acquire).as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

/// Polls until there is an answer, so often at the most, and leaves.
fn poll_and_leave(mut acquire: Acquire<Handle>, polls: usize) {
    let _ = (0..polls).map(|_| poll(&mut acquire)).find(Poll::is_ready);
}

/// When all is quiet, the number that calls compare says what the state under the lock says, and a handle is lent only by it.
fn assert_published(cache: &HandleCache<Handle>, live: Option<Generation>) {
    assert_eq!(cache.generation(), live);
    for generation in std::iter::successors(Some(FIRST), |generation| Some(generation.next())).take(4) {
        assert_eq!(cache.shared().is_live(generation), live == Some(generation), "{generation}");
    }
    assert_eq!(cache.shared().held().map(|held| held.lease.generation()), live);
}
