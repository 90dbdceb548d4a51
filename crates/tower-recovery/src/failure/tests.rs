//! What survives boxing, wrapping and sharing.

use std::{io, sync::Arc};

use tower::{
    ServiceExt,
    buffer::{
        Buffer,
        error::{Closed, ServiceError},
    },
    load_shed::error::Overloaded,
    timeout::error::Elapsed,
};

use super::*;

/// A foreign layer's error around another.
#[derive(Debug, thiserror::Error)]
#[error("a foreign layer failed")]
struct Wrapped(#[source] BoxError);

/// A foreign layer's error that several callers hold.
#[derive(Clone, Debug, thiserror::Error)]
#[error("a foreign layer failed for several callers")]
struct Shared(#[source] Arc<dyn Error + Send + Sync>);

fn refused() -> Failure {
    Failure::new(Verdict::never_sent().stale(), io::Error::from(io::ErrorKind::ConnectionRefused))
}

/// Not `Sync`: `Failure` must be all the same.
type NotSync = std::cell::Cell<u32>;

#[test]
fn a_failure_is_send_and_sync_and_one_pointer_wide_whatever_it_carries() {
    fn assert_error<E: Error + Send + Sync + 'static>(_: &E) {}
    let failure = refused().with_unsent(NotSync::new(1));
    assert_error(&failure);
    assert_eq!(size_of::<Failure>(), size_of::<usize>());
    assert_eq!(failure.take_unsent::<NotSync>().map(NotSync::into_inner), Some(1));
}

#[test]
fn at_the_top_it_is_unboxed_as_it_is() {
    let failure = refused();
    let details = std::ptr::from_ref(&*failure.0);
    let recovered = Failure::recover(Box::new(failure));
    assert_eq!(std::ptr::from_ref(&*recovered.0), details, "not boxed again");
}

#[test]
fn below_foreign_layers_its_knowledge_is_carried_over_and_the_outer_error_kept() {
    let mut failure = refused().with_unsent("the request");
    failure.set_attempts(3);
    failure.set_gave_up(GiveUp::Attempts);
    let recovered = Failure::recover(Box::new(Wrapped(Box::new(Wrapped(failure.into())))));

    assert_eq!(recovered.verdict(), Verdict::never_sent().stale());
    assert_eq!((recovered.attempts(), recovered.is_exhausted()), (3, true));
    assert_eq!(recovered.take_unsent(), Some("the request"));
    assert!(recovered.cause().unwrap().is::<Wrapped>());
    assert_eq!(recovered.find::<io::Error>().unwrap().kind(), io::ErrorKind::ConnectionRefused);
}

/// A foreign layer's error that gives its inner error's source as its own, and so skips the inner error.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct Transparent(BoxError);

#[test]
fn below_a_transparent_error_nothing_of_it_is_lost() {
    let wrappers: [fn(Failure) -> BoxError; 2] =
        [|failure| Box::new(Transparent(failure.into())), |failure| Box::new(Arc::new(failure))];
    for wrap in wrappers {
        let mut failure = refused().with_unsent("the request");
        failure.set_gave_up(GiveUp::Attempts);
        let recovered = Failure::recover(wrap(failure));
        assert_eq!((recovered.verdict(), recovered.is_exhausted()), (Verdict::never_sent().stale(), true));
        assert_eq!(recovered.take_unsent(), Some("the request"));
        assert!(recovered.find::<io::Error>().is_some());
    }
}

#[test]
fn of_a_shared_failure_the_first_to_recover_gets_the_request() {
    let shared = Shared(Arc::new(refused().with_unsent("the request")));
    let (first, second) = (Failure::recover(Box::new(shared.clone())), Failure::recover(Box::new(shared)));
    assert_eq!((first.take_unsent(), second.take_unsent::<&str>()), (Some("the request"), None));
    assert_eq!(second.delivery(), Some(Delivery::NeverSent));
}

#[test]
fn a_slot_is_emptied_once_and_only_by_its_own_type() {
    let failure = Failure::from_response(Verdict::refused(), 421_u16);
    assert_eq!(failure.take_response::<&str>(), None);
    assert_eq!(failure.take_response(), Some(421_u16));
    assert_eq!(failure.take_response::<u16>(), None);
}

#[test]
fn towers_own_errors_are_known_wherever_they_stand() {
    let known: [(fn() -> BoxError, Verdict); 3] = [
        (|| Box::new(Elapsed::new()), Verdict::maybe_sent().stale()),
        (|| Box::new(Overloaded::new()), Verdict::never_sent()),
        (|| Box::new(NotReady::new(Box::new(Elapsed::new()))), Verdict::never_sent().stale()),
    ];
    for (error, verdict) in known {
        assert_eq!(Failure::recover(error()).verdict(), verdict, "{:?}", error());
        assert_eq!(Failure::recover(Box::new(Wrapped(error()))).verdict(), verdict, "wrapped: {:?}", error());
    }
}

#[tokio::test]
async fn a_buffer_whose_worker_is_gone_is_maybe_sent_and_one_whose_service_died_never_sent() {
    let echo = tower::service_fn(|request: u32| async move { Ok::<_, BoxError>(request) });
    let (buffer, worker) = Buffer::pair(echo, 1);
    drop(worker);
    let closed = buffer.oneshot(1).await.unwrap_err();
    assert!(closed.is::<Closed>());
    assert_eq!(Failure::recover(closed).verdict(), Verdict::maybe_sent().stale());

    // A service whose `poll_ready` fails: a buffer that lost its own worker.
    let (lost, worker) = Buffer::<u32, std::future::Ready<Result<u32, BoxError>>>::pair(
        tower::service_fn(|request| std::future::ready(Ok(request))),
        1,
    );
    drop(worker);
    let dead = Buffer::new(lost, 1).oneshot(1).await.unwrap_err();
    assert!(dead.is::<ServiceError>());
    assert_eq!(Failure::recover(dead).verdict(), Verdict::never_sent().stale());
}

#[test]
fn the_outermost_link_that_says_something_decides() {
    // A registry that lies behind a stack of its own may have been asked; this call was never sent all the same.
    let registry = Failure::new(Verdict::maybe_sent(), Elapsed::new());
    let resolve = crate::ResolveError::Failed(Arc::new(registry));
    let failure = Failure::recover(Box::new(Wrapped(Failure::new(Verdict::never_sent(), resolve).into())));
    assert_eq!(failure.delivery(), Some(Delivery::NeverSent));
}

#[test]
fn an_error_that_nothing_recognised_has_no_delivery_and_passes_untouched() {
    let failure = Failure::recover(Box::new(Wrapped("somebody else's".into())));
    assert_eq!(failure.verdict(), Verdict::unrecognised());
    assert!(failure.into_cause().unwrap().is::<Wrapped>());
}

#[test]
fn an_error_of_poll_ready_is_never_sent_unless_it_is_a_failure_already() {
    let failure = Failure::not_ready(io::Error::other("closed"));
    assert_eq!(failure.verdict(), Verdict::never_sent().stale());
    assert!(failure.cause().unwrap().is::<NotReady>());
    assert!(failure.find::<io::Error>().is_some());

    let failure = Failure::not_ready(refused());
    assert!(failure.cause().unwrap().is::<io::Error>(), "not wrapped again");
}

#[test]
fn what_it_prints_tells_delivery_and_attempts_and_no_payload() {
    let mut failure = Failure::from_response(Verdict::refused(), "a secret").with_unsent("another secret");
    assert_eq!(failure.to_string(), "the peer refused the request unprocessed");
    assert_eq!(failure.source().unwrap().to_string(), "after 1 attempt");
    failure.set_attempts(2);
    assert_eq!(failure.source().unwrap().to_string(), "after 2 attempts");
    assert!(!format!("{:?}", failure.source()).contains("secret"));
    assert!(!format!("{failure:?}").contains("secret"));
}

#[test]
fn a_resolve_that_failed_gives_every_waiter_the_resolvers_own_error() {
    let resolve = crate::ResolveError::Failed(Arc::new(io::Error::from(io::ErrorKind::NotFound)));
    let failures = [resolve.clone(), resolve].map(|error| Failure::new(Verdict::never_sent(), error));
    let [first, second] = failures.each_ref().map(|failure| failure.find::<io::Error>().unwrap());
    assert_eq!(first.kind(), io::ErrorKind::NotFound);
    assert!(std::ptr::eq(first, second), "shared by pointer");
}
