//! When a stream is silent, what ends its silence, and what the grace does: each just before and just after.

use std::time::Duration;

use tokio::time::{Instant, advance};
use tower::ServiceExt;
use tower_recovery::stream_replacement::{Marked, ReplacementBasis, StreamBroken, StreamEnd, UntilFirstItem};
use tower_recovery_test::Step;

use super::{
    support::{Call, millis},
    world::{
        Driven, Seen, fed, gives, healthy, over, pause, peer, prober, replacing, seconds, stalls, under, watching,
        whole, whole_millis,
    },
};

const IDLE: Duration = Duration::from_secs(900);
const KEEP_ALIVE_IDLE: Duration = Duration::from_secs(3600);
const GRACE: Duration = Duration::from_secs(60);
const MOMENT: Duration = Duration::from_millis(1);

#[tokio::test(start_paused = true)]
async fn a_stream_is_silent_after_its_idle_time_and_not_a_moment_before() {
    for silent in [Step::hang(), stalls(&[]), stalls(&["a"])] {
        let probe = prober([Step::hang()]);
        let layer = watching(whole()).health_probe(probe.clone());
        let mut call = Driven::new(over(layer, peer([silent])).oneshot(Call::write()));
        call.waits();
        call.waits_for(IDLE - MOMENT).await;
        assert_eq!(probe.calls(), 0);
        call.waits_for(MOMENT).await;
        assert_eq!(probe.calls(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_begins_when_the_stream_is_first_waited_for() {
    let probe = prober([Step::hang()]);
    let layer = watching(whole()).health_probe(probe.clone());
    let mut stack = over(layer, peer([Step::hang()]));
    let mut call = Driven::new(tower::Service::call(stack.ready().await.unwrap(), Call::write()));
    advance(10 * IDLE).await;
    call.waits();
    call.waits_for(IDLE - MOMENT).await;
    assert_eq!(probe.calls(), 0);
    call.waits_for(MOMENT).await;
    assert_eq!(probe.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn every_sign_of_life_puts_a_silence_off() {
    for sign in ["", "..", "a"] {
        let ([lines], peer) = fed();
        let probe = prober([Step::hang()]);
        let layer = watching(whole()).health_probe(probe.clone());
        let mut call = Driven::new(over(layer, peer).oneshot(Call::write()));
        call.waits();
        for _ in 0..3 {
            call.waits_for(IDLE - MOMENT).await;
            lines.send(sign);
            call.waits();
        }
        call.waits_for(IDLE - MOMENT).await;
        assert_eq!(probe.calls(), 0, "{sign:?}");
        call.waits_for(MOMENT).await;
        assert_eq!(probe.calls(), 1, "{sign:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_head_is_a_sign_of_life() {
    let probe = prober([Step::hang()]);
    let layer = watching(whole()).health_probe(probe.clone());
    let late = stalls(&[]).delayed(seconds(500));
    let mut call = Driven::new(over(layer, peer([late])).oneshot(Call::write()));
    call.waits();
    call.waits_for(seconds(500) + IDLE - MOMENT).await;
    assert_eq!(probe.calls(), 0);
    call.waits_for(MOMENT).await;
    assert_eq!(probe.calls(), 1);
}

/// An item, then a keep-alive every 100 s.
async fn keep_alives_only(probe: &super::world::Prober, until: Duration, moment: Duration) -> usize {
    let ([lines], peer) = fed();
    let layer = watching(whole()).health_probe(probe.clone());
    let mut call = Driven::new(over(layer, peer).oneshot(Call::write()));
    call.waits();
    lines.send("a");
    call.waits();
    let start = Instant::now();
    while start.elapsed() + seconds(100) < until {
        call.waits_for(seconds(100)).await;
        lines.send("");
        call.waits();
    }
    call.waits_for(until - start.elapsed() - moment).await;
    probe.calls()
}

#[tokio::test(start_paused = true)]
async fn keep_alives_put_a_silence_off_up_to_their_ceiling() {
    let probe = prober([Step::hang()]);
    assert_eq!(keep_alives_only(&probe, KEEP_ALIVE_IDLE, MOMENT).await, 0);
    assert_eq!(keep_alives_only(&probe, KEEP_ALIVE_IDLE, Duration::ZERO).await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_keep_alive_ends_a_silence_and_no_lack_of_content() {
    let short = || under(replacing().idle(seconds(100)).keep_alive_idle(seconds(150)).max_replacements(0), whole());
    for (sign, ends) in [("", false), ("..", true), ("a", true)] {
        let ([lines], peer) = fed();
        let seen = Seen::default();
        let layer = short().health_probe(healthy()).observer(seen.observer());
        let mut call = Driven::new(over(layer, peer).oneshot(Call::write()));
        call.waits();
        call.waits_for(seconds(80)).await;
        lines.send("");
        call.waits();
        call.waits_for(seconds(70)).await;
        assert!(seen.take().iter().any(|event| format!("{event:?}").starts_with("RecoveryGraceStarted")));
        call.waits_for(seconds(30)).await;
        lines.send(sign);
        call.waits();
        assert_eq!(call.ends_within(GRACE - seconds(30)).await, !ends, "{sign:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn any_sign_of_life_ends_the_grace_of_a_stream_without_a_byte() {
    for sign in ["", "..", "a"] {
        let ([lines], peer) = fed();
        let layer = under(replacing().max_replacements(0), whole()).health_probe(healthy());
        let mut call = Driven::new(over(layer, peer).oneshot(Call::write()));
        call.waits();
        call.waits_for(IDLE + GRACE - seconds(1)).await;
        lines.send(sign);
        call.waits();
        call.waits_for(IDLE + GRACE - seconds(1)).await;
        lines.send(".");
        assert_eq!(call.output().unwrap().items.last(), Some(&"."), "{sign:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_attempt_is_given_up_after_the_grace_and_not_a_moment_before() {
    for (silent, items) in [(Step::hang(), 0), (stalls(&["a"]), 1)] {
        let peer = peer([silent, gives(&["."])]);
        let seen = Seen::default();
        let layer = watching(whole()).health_probe(healthy()).observer(seen.observer());
        let mut call = Driven::new(over(layer, peer.clone()).oneshot(Call::write()));
        call.waits();
        call.waits_for(IDLE + GRACE - MOMENT).await;
        assert!(!seen.take().iter().any(is_given_up));
        call.waits_for(MOMENT).await;
        let events = seen.take();
        assert!(events.iter().any(is_given_up));
        assert_eq!((peer.calls(), peer.in_flight()), (1, 0), "it is closed before the pause");

        let pause = whole_millis(pause(&events));
        call.waits_for(pause - MOMENT).await;
        assert_eq!(peer.calls(), 1);
        let answer = call.output_within(3 * MOMENT).await.unwrap();
        let discarded = &answer.report.discarded[0];
        assert_eq!(
            (discarded.items, discarded.basis),
            (items, ReplacementBasis::HealthySideCallAndNoActivityThroughGrace)
        );
    }
}

fn is_given_up(event: &tower_recovery::RecoveryEvent) -> bool {
    matches!(event, tower_recovery::RecoveryEvent::PhysicalAttemptAbandoned { .. })
}

#[tokio::test(start_paused = true)]
async fn what_comes_in_the_last_moment_of_the_grace_keeps_the_attempt() {
    for late in [MOMENT, Duration::ZERO] {
        let ([lines], peer) = fed();
        let mut call =
            Driven::new(over(watching(whole()).health_probe(healthy()), peer.clone()).oneshot(Call::write()));
        call.waits();
        call.waits_for(IDLE + GRACE - seconds(1)).await;
        // At the moment itself the item and the timer are both there: the item comes first.
        advance(seconds(1) - late).await;
        lines.send("a");
        call.waits();
        call.waits_for(IDLE - MOMENT).await;
        lines.send(".");
        assert_eq!((call.output().unwrap().items, peer.calls()), (vec!["a", "."], 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_silence_that_ended_may_come_again_and_begins_with_its_first_round() {
    let ([lines], peer) = fed();
    let probe = prober([Step::hang()]);
    let mut call = Driven::new(over(watching(whole()).health_probe(probe.clone()), peer).oneshot(Call::write()));
    call.waits();
    for silences in 1..4 {
        call.waits_for(IDLE + seconds(30)).await;
        assert_eq!((probe.calls(), probe.in_flight()), (silences, 1));
        lines.send("a");
        call.waits();
        assert_eq!((probe.in_flight(), probe.dropped()), (0, silences));
    }
    assert!(probe.requests().iter().all(|request| request.round == 1));
}

#[tokio::test(start_paused = true)]
async fn silence_in_the_middle_of_a_handed_out_stream_is_watched_all_the_same() {
    let ([lines, second], peer) = fed();
    let answer = over(watching(Marked).health_probe(healthy()), peer.clone()).oneshot(Call::write()).await.unwrap();
    let mut items = Driven::new(answer.items);
    lines.send("a");
    items.next().unwrap().unwrap();
    items.is_silent();
    items.is_silent_for(IDLE + GRACE).await;
    assert!(lines.is_dropped());
    second.send(".");
    items.next_within(seconds(6)).await.unwrap().unwrap();
    assert_eq!(peer.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_silence_whose_budget_is_spent_ends_the_stream_after_its_probe_and_its_grace() {
    let started = Instant::now();
    let layer = under(replacing().max_replacements(0), whole()).health_probe(healthy());
    let failure = over(layer, peer([stalls(&["a"])])).oneshot(Call::write()).await.unwrap_err();
    assert_eq!(started.elapsed().as_secs(), (IDLE + GRACE).as_secs());
    assert_eq!(failure.find::<StreamBroken>().unwrap().reason, StreamEnd::Silent);
    assert!(failure.is_exhausted());
}

#[tokio::test(start_paused = true)]
async fn each_attempt_has_its_idle_time_for_itself() {
    let started = Instant::now();
    let layer = under(replacing().max_replacements(3), whole()).health_probe(healthy());
    over(layer, peer([stalls(&[])])).oneshot(Call::write()).await.unwrap_err();
    let waited = started.elapsed();
    let silent = 4 * (IDLE + GRACE);
    assert!(waited >= silent + millis(15_000) && waited <= silent + millis(30_003), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn silence_before_the_first_item_is_replaced_where_that_is_awaited() {
    let peer = peer([stalls(&["", ".."]), gives(&["a", "."])]);
    let answer =
        over(watching(UntilFirstItem).health_probe(healthy()), peer.clone()).oneshot(Call::write()).await.unwrap();
    assert_eq!((answer.report.attempts, peer.calls()), (2, 2));
}
