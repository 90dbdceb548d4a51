//! A panic takes down the call that it happens in, or not even that, and nobody else.

use std::panic::AssertUnwindSafe;

use futures_util::{FutureExt, StreamExt};
use tokio::time::{Duration, Instant};
use tower::{Layer, ServiceExt};
use tower_recovery::{
    RecoveryEvent, StreamReplacementLayer,
    classify::ClassifyService,
    stream_replacement::{Health, Marked},
};
use tower_recovery_test::Step;

use super::{
    support::{Call, Fault, Protocol, rules},
    world::{Lines, Seen, breaks, fault, gives, over, peer, prober, replacing, stalls, watching, whole},
};

#[tokio::test(start_paused = true)]
async fn a_probe_that_panics_gave_no_answer() {
    for panics in [Step::panic_in_call(), Step::panic_in_poll()] {
        let probe = prober([panics.clone(), panics, Step::answer(Health::Healthy)]);
        let peer = peer([stalls(&[]), gives(&["."])]);
        let seen = Seen::default();
        let layer = watching(whole()).health_probe(probe.clone()).observer(seen.observer());
        let started = Instant::now();
        over(layer, peer).oneshot(Call::write()).await.unwrap();
        assert_eq!(probe.calls(), 3);
        assert!(started.elapsed() >= Duration::from_secs(1800 + 60));
        let causes: Vec<_> = seen
            .take()
            .into_iter()
            .filter_map(|event| match event {
                RecoveryEvent::RecoveryProbeFailed { cause, .. } => Some(cause),
                _ => None,
            })
            .collect();
        assert_eq!(causes, ["the probe panicked", "the probe panicked"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_below_takes_down_its_own_call_alone() {
    for panics in [Step::panic_in_call(), Step::panic_in_poll()] {
        let peer = peer([fault(Fault::Lost), panics, fault(Fault::Lost), gives(&["."])]);
        let stack = over(watching(whole()), peer.clone());
        // In a replacement, whose instance comes from the template that all calls of the clone share.
        let call = stack.clone().oneshot(Call::write());
        assert!(AssertUnwindSafe(call).catch_unwind().await.is_err());
        assert_eq!(stack.oneshot(Call::write()).await.unwrap().items, ["."]);
        assert_eq!((peer.calls(), peer.in_flight()), (4, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn rules_of_streams_that_panic_take_down_the_stream_that_they_look_at_alone() {
    let peer = peer([breaks(&[], Fault::Lost), gives(&["panic"]), gives(&["a", "."])]);
    let stack = over(watching(Marked), peer.clone());
    let mut items = stack.clone().oneshot(Call::write()).await.unwrap().items.boxed();
    items.next().await.unwrap().unwrap();
    assert!(AssertUnwindSafe(items.next()).catch_unwind().await.is_err());
    drop(items);
    assert_eq!(stack.oneshot(Call::write()).await.unwrap().items.count().await, 2);
}

#[tokio::test(start_paused = true)]
async fn rules_of_requests_that_panic_take_down_the_call_that_they_look_at_alone() {
    let rules = rules().copied_by(|call| match call.key {
        13 => panic!("the rules panic"),
        _ => Some(call.clone()),
    });
    let peer = peer([fault(Fault::Lost), gives(&["."])]);
    let layer = StreamReplacementLayer::new(replacing().build().unwrap(), rules, Lines::default(), whole());
    let stack = layer.layer(ClassifyService::new(peer.clone(), Protocol));
    let call = stack.clone().oneshot(Call::write().with_key(13));
    assert!(AssertUnwindSafe(call).catch_unwind().await.is_err());
    assert_eq!(peer.calls(), 0);
    assert_eq!(stack.oneshot(Call::write()).await.unwrap().items, ["."]);
}

#[tokio::test(start_paused = true)]
async fn an_observer_that_panics_changes_nothing() {
    let peer = peer([breaks(&["a"], Fault::Lost), gives(&["."])]);
    let layer = watching(whole()).observer(|_: &RecoveryEvent| panic!("the observer panics"));
    assert_eq!(over(layer, peer).oneshot(Call::write()).await.unwrap().report.attempts, 2);
}
