//! Requests that a transport hands back unsent.

use std::{
    future::{Ready, ready},
    sync::{Arc, Mutex},
};

use tokio::time::{Duration, Instant};
use tower::{BoxError, Service, ServiceBuilder, ServiceExt, service_fn};
use tower_recovery::{CallTiming, Delivery, Failure, ReadOnlyRetryLayer, Verdict};

use super::support::{Call, Fault, Reply, attempts, millis, rules, rules_without_copies};

/// The requests that a transport was given.
type Seen = Arc<Mutex<Vec<Call>>>;

/// A transport that hands back its first `times` requests, marked by key 99, and answers the next.
fn handing_back(
    times: usize,
) -> (
    Seen,
    impl Service<Call, Response = Reply, Error = BoxError, Future = Ready<Result<Reply, BoxError>>> + Clone + Send + 'static,
) {
    let seen = Seen::default();
    let log = Arc::clone(&seen);
    let service = service_fn(move |call: Call| {
        log.lock().unwrap().push(call.clone());
        if log.lock().unwrap().len() > times {
            return ready(Ok(Reply::Done("a")));
        }
        let handed_back = Failure::new(Verdict::never_sent(), Fault::NotWritten).with_unsent(call.with_key(99));
        ready(Err(handed_back.into()))
    });
    (seen, service)
}

fn keys(seen: &Seen) -> Vec<u32> {
    seen.lock().unwrap().iter().map(|call| call.key).collect()
}

#[tokio::test(start_paused = true)]
async fn what_is_handed_back_is_sent_before_a_copy() {
    let (seen, transport) = handing_back(1);
    let stack = ServiceBuilder::new().layer(ReadOnlyRetryLayer::new(rules())).service(transport);
    assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::Done("a"));
    assert_eq!(keys(&seen), [0, 99]);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_be_copied_survives_as_often_as_it_is_handed_back() {
    let (seen, transport) = handing_back(2);
    let stack = ServiceBuilder::new().layer(ReadOnlyRetryLayer::new(rules_without_copies())).service(transport);
    assert_eq!(stack.oneshot(Call::write()).await.unwrap(), Reply::Done("a"));
    assert_eq!(keys(&seen), [0, 99, 99]);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_neither_copied_nor_handed_back_is_sent_once() {
    let failing = service_fn(|_: Call| ready(Err::<Reply, _>(Failure::new(Verdict::never_sent(), Fault::NotWritten))));
    let stack = ServiceBuilder::new().layer(ReadOnlyRetryLayer::new(rules_without_copies())).service(failing);
    let failure = stack.oneshot(Call::write()).await.unwrap_err();
    assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::NeverSent), 1));
    assert!(!failure.is_exhausted(), "attempts are left, but there is nothing to send");
}

#[tokio::test(start_paused = true)]
async fn a_request_of_another_type_is_left_alone_and_the_copy_is_sent() {
    let seen = Seen::default();
    let log = Arc::clone(&seen);
    let failing = service_fn(move |call: Call| {
        log.lock().unwrap().push(call);
        ready(Err::<Reply, _>(Failure::new(Verdict::never_sent(), Fault::NotWritten).with_unsent("foreign")))
    });
    let layer = ReadOnlyRetryLayer::new(rules()).timing(attempts(2));
    let failure = ServiceBuilder::new().layer(layer).service(failing).oneshot(Call::write()).await.unwrap_err();
    assert_eq!(keys(&seen), [0, 0]);
    assert_eq!(failure.take_unsent(), Some("foreign"));
}

#[tokio::test(start_paused = true)]
async fn a_request_handed_back_after_a_lost_attempt_goes_out_silent() {
    let seen = Seen::default();
    let log = Arc::clone(&seen);
    let transport = service_fn(move |call: Call| {
        log.lock().unwrap().push(call.clone());
        ready(match log.lock().unwrap().len() {
            1 => Err(Failure::new(Verdict::maybe_sent(), Fault::Lost)),
            2 => Err(Failure::new(Verdict::never_sent(), Fault::NotWritten).with_unsent(call.with_key(99))),
            _ => Ok(Reply::Done("a")),
        })
    });
    let stack = ServiceBuilder::new().layer(ReadOnlyRetryLayer::new(rules())).service(transport);
    stack.oneshot(Call::counted_read()).await.unwrap();
    let silents: Vec<_> = seen.lock().unwrap().iter().map(|call| call.silent).collect();
    assert_eq!(silents, [None, Some(true), Some(true)]);
    assert_eq!(keys(&seen), [0, 0, 99]);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_outlives_the_attempts_goes_out_with_the_failure() {
    let (seen, transport) = handing_back(usize::MAX);
    let stack = ServiceBuilder::new().layer(ReadOnlyRetryLayer::new(rules_without_copies())).service(transport);
    let failure = stack.oneshot(Call::write()).await.unwrap_err();
    assert_eq!(keys(&seen), [0, 99, 99]);
    assert_eq!(failure.take_unsent(), Some(Call::write().with_key(99)));
}

#[tokio::test(start_paused = true)]
async fn a_request_for_which_the_deadline_leaves_no_time_goes_out_with_the_failure() {
    let (seen, transport) = handing_back(usize::MAX);
    let timing = CallTiming::builder().deadline(millis(40)).build().unwrap();
    let layer = ReadOnlyRetryLayer::new(rules_without_copies()).timing(timing);
    let started = Instant::now();
    let failure = ServiceBuilder::new().layer(layer).service(transport).oneshot(Call::write()).await.unwrap_err();

    assert_eq!((keys(&seen), started.elapsed()), (vec![0], Duration::ZERO), "the shortest pause is 50 ms");
    assert_eq!(failure.delivery(), Some(Delivery::NeverSent));
    assert_eq!(failure.take_unsent(), Some(Call::write().with_key(99)), "it is the only one there is");
}
