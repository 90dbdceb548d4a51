//! A call, or a stream, dropped in each of its states closes what is open, starts nothing more and takes nobody down with it.

use std::time::Duration;

use futures_util::StreamExt;
use tokio::time::advance;
use tower::{Service, ServiceExt};
use tower_recovery::stream_replacement::{Marked, Resumed, UntilFirstItem};
use tower_recovery_test::{Gate, ReadyStep, ScriptedReadiness, Step};

use super::{
    support::{Call, Fault},
    world::{Driven, Seen, breaks, fault, fed, gives, healthy, over, peer, prober, seconds, stalls, watching, whole},
};

const LONG: Duration = Duration::from_secs(100_000);
const IDLE: Duration = Duration::from_secs(900);

#[tokio::test(start_paused = true)]
async fn before_it_is_polled() {
    let peer = peer([Step::hang(), gives(&["."])]);
    let mut stack = over(watching(whole()), peer.clone());
    drop(stack.ready().await.unwrap().call(Call::write()));
    advance(LONG).await;
    assert_eq!((peer.calls(), peer.in_flight(), peer.dropped()), (1, 0, 1));
    assert_eq!(stack.oneshot(Call::write()).await.unwrap().items, ["."], "others go on");
}

#[tokio::test(start_paused = true)]
async fn in_its_first_attempt() {
    let peer = peer([Step::hang()]);
    let mut call = Driven::new(over(watching(whole()), peer.clone()).oneshot(Call::write()));
    call.waits();
    drop(call);
    advance(LONG).await;
    assert_eq!((peer.calls(), peer.in_flight(), peer.dropped()), (1, 0, 1));
}

#[tokio::test(start_paused = true)]
async fn in_its_stream() {
    let ([lines, _], peer) = fed();
    let mut call = Driven::new(over(watching(whole()), peer.clone()).oneshot(Call::write()));
    call.waits();
    lines.send("a");
    call.waits();
    drop(call);
    advance(LONG).await;
    assert_eq!((lines.is_dropped(), peer.calls()), (true, 1));
}

#[tokio::test(start_paused = true)]
async fn while_it_is_probed() {
    let ([lines, _], peer) = fed();
    let probe = prober([Step::hang()]);
    let mut call =
        Driven::new(over(watching(whole()).health_probe(probe.clone()), peer.clone()).oneshot(Call::write()));
    call.waits();
    call.waits_for(IDLE).await;
    assert_eq!(probe.in_flight(), 1);
    drop(call);
    advance(LONG).await;
    assert_eq!((probe.calls(), probe.in_flight(), probe.dropped()), (1, 0, 1));
    assert_eq!((lines.is_dropped(), peer.calls()), (true, 1));
}

#[tokio::test(start_paused = true)]
async fn between_two_probes() {
    let peer = peer([Step::hang(), gives(&["."])]);
    let probe = prober([Step::fail("no answer")]);
    let mut call =
        Driven::new(over(watching(whole()).health_probe(probe.clone()), peer.clone()).oneshot(Call::write()));
    call.waits();
    call.waits_for(IDLE + seconds(10)).await;
    drop(call);
    advance(LONG).await;
    assert_eq!((probe.calls(), peer.calls(), peer.dropped()), (1, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn in_the_grace() {
    let peer = peer([Step::hang(), gives(&["."])]);
    let mut call = Driven::new(over(watching(whole()).health_probe(healthy()), peer.clone()).oneshot(Call::write()));
    call.waits();
    call.waits_for(IDLE + seconds(30)).await;
    drop(call);
    advance(LONG).await;
    assert_eq!((peer.calls(), peer.dropped()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn in_the_pause_before_a_replacement() {
    let seen = Seen::default();
    let peer = peer([fault(Fault::Lost), gives(&["."])]);
    let layer = watching(whole()).observer(seen.observer());
    let mut call = Driven::new(over(layer, peer.clone()).oneshot(Call::write()));
    call.waits();
    call.waits_for(seconds(2)).await;
    seen.take();
    drop(call);
    advance(LONG).await;
    assert_eq!((peer.calls(), seen.take()), (1, vec![]));
}

#[tokio::test(start_paused = true)]
async fn while_the_instance_of_a_replacement_is_readied() {
    let gate = Gate::new();
    let peer = peer([fault(Fault::Lost), gives(&["."])]);
    let slow = ScriptedReadiness::new(peer.clone(), [ReadyStep::Ready, ReadyStep::Until(gate.clone())]);
    let mut call = Driven::new(over(watching(whole()), slow).oneshot(Call::write()));
    call.waits();
    call.waits_for(seconds(6)).await;
    drop(call);
    gate.open();
    advance(LONG).await;
    assert_eq!(peer.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn in_a_replacement() {
    let peer = peer([fault(Fault::Lost), Step::hang(), gives(&["."])]);
    let mut call = Driven::new(over(watching(whole()), peer.clone()).oneshot(Call::write()));
    call.waits();
    call.waits_for(seconds(6)).await;
    assert_eq!((peer.calls(), peer.in_flight()), (2, 1));
    drop(call);
    advance(LONG).await;
    assert_eq!((peer.calls(), peer.in_flight(), peer.dropped()), (2, 0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_was_handed_out() {
    let ([first, second], peer) = fed();
    first.send("a");
    second.send("a");
    let stack = over(watching(UntilFirstItem), peer.clone());
    let unread = stack.clone().oneshot(Call::write()).await.unwrap();
    drop(unread);
    assert!(first.is_dropped());
    let mut items = stack.oneshot(Call::write()).await.unwrap().items.boxed();
    items.next().await.unwrap().unwrap();
    drop(items);
    assert!(second.is_dropped());
    advance(LONG).await;
    assert_eq!(peer.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_stream_while_it_is_probed() {
    let ([lines, _], peer) = fed();
    let probe = prober([Step::hang()]);
    let layer = watching(Marked).health_probe(probe.clone());
    let mut items = Driven::new(over(layer, peer.clone()).oneshot(Call::write()).await.unwrap().items);
    items.is_silent();
    items.is_silent_for(IDLE + seconds(10)).await;
    drop(items);
    advance(LONG).await;
    assert_eq!((probe.calls(), probe.in_flight(), probe.dropped()), (1, 0, 1));
    assert_eq!((lines.is_dropped(), peer.calls()), (true, 1));
}

#[tokio::test(start_paused = true)]
async fn a_stream_in_the_pause_before_its_replacement_and_in_the_replacement() {
    for (after, calls) in [(seconds(2), 1), (seconds(6), 2)] {
        let peer = peer([breaks(&["a"], Fault::Lost), Step::hang()]);
        let mut items = Driven::new(over(watching(Marked), peer.clone()).oneshot(Call::write()).await.unwrap().items);
        items.next().unwrap().unwrap();
        items.is_silent();
        items.is_silent_for(after).await;
        drop(items);
        advance(LONG).await;
        assert_eq!((peer.calls(), peer.in_flight()), (calls, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_resumed_stream_in_its_replacement() {
    let peer = peer([stalls(&["a"]), Step::hang()]);
    let layer = watching(Resumed::by(super::resumed::ByCount::default())).health_probe(healthy());
    let answer = over(layer, peer.clone()).oneshot(Call::write()).await.unwrap();
    let mut items = Driven::new(answer.items);
    items.next().unwrap().unwrap();
    items.is_silent();
    items.is_silent_for(IDLE + seconds(60 + 6)).await;
    assert_eq!((peer.calls(), peer.in_flight()), (2, 1));
    drop(items);
    advance(LONG).await;
    assert_eq!((peer.calls(), peer.in_flight()), (2, 0));
}

/// There is no task beside them.
#[tokio::test(start_paused = true)]
async fn what_is_not_polled_does_nothing() {
    let peer = peer([fault(Fault::Lost), gives(&["."])]);
    let mut call = Driven::new(over(watching(whole()), peer.clone()).oneshot(Call::write()));
    call.waits();
    advance(LONG).await;
    assert_eq!(peer.calls(), 1);
    assert_eq!(call.output().unwrap().items, ["."]);
}
