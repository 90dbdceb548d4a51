//! A silence that nobody can be asked about: told of at once, ended at the ceiling, replaced never.

use std::time::Duration;

use tokio::time::Instant;
use tower::ServiceExt;
use tower_recovery::{
    Failure, RecoveryEvent, StreamMode, StreamPolicy,
    stream_replacement::{PreservedBecause, StreamBroken, StreamEnd, WholeStream},
};
use tower_recovery_test::Step;

use super::{
    support::Call,
    world::{Driven, Head, Line, Seen, fed, gives, over, peer, seconds, stalls, under, watching, whole},
};

const IDLE: Duration = Duration::from_secs(900);
const KEEP_ALIVE_IDLE: Duration = Duration::from_secs(3600);
const MOMENT: Duration = Duration::from_millis(1);

type Outcome = Result<WholeStream<Head, Line>, Failure>;

/// How often it was told since the last time that the stream is left alone for want of a probe.
fn left_alone(seen: &Seen) -> usize {
    let is_left_alone = |event: &RecoveryEvent| {
        matches!(event, RecoveryEvent::RecoveryOriginalPreserved { reason: PreservedBecause::NoProbe, .. })
    };
    seen.take().iter().filter(|event| is_left_alone(event)).count()
}

#[track_caller]
fn is_silent(outcome: Outcome, attempts: u32) {
    let failure = outcome.unwrap_err();
    let broken: &StreamBroken = failure.find().unwrap();
    assert_eq!((broken.reason, broken.report.attempts), (StreamEnd::Silent, attempts));
    assert!(!failure.is_exhausted(), "a replacement is left, and nothing says that it would fare better");
    assert_eq!(failure.gave_up(), None);
}

#[tokio::test(start_paused = true)]
async fn it_is_told_of_at_its_idle_time_and_ends_at_the_ceiling_and_not_a_moment_before() {
    for silent in [Step::hang(), stalls(&[]), stalls(&["a"])] {
        let seen = Seen::default();
        let peer = peer([silent, gives(&["."])]);
        let mut call =
            Driven::new(over(watching(whole()).observer(seen.observer()), peer.clone()).oneshot(Call::write()));
        call.waits();
        call.waits_for(IDLE - MOMENT).await;
        assert_eq!(left_alone(&seen), 0);
        call.waits_for(MOMENT).await;
        assert_eq!(left_alone(&seen), 1);
        call.waits_for(KEEP_ALIVE_IDLE - IDLE - MOMENT).await;
        assert_eq!(left_alone(&seen), 0, "it is told once");
        is_silent(call.output_within(MOMENT).await, 1);
        assert_eq!((peer.calls(), peer.in_flight()), (1, 0), "it is closed, and not replaced");
    }
}

#[tokio::test(start_paused = true)]
async fn pings_do_not_put_the_ceiling_off_and_where_content_is_missing_it_ends_at_once() {
    let seen = Seen::default();
    let ([lines], peer) = fed();
    let mut call = Driven::new(over(watching(whole()).observer(seen.observer()), peer).oneshot(Call::write()));
    call.waits();
    call.waits_for(seconds(500)).await;
    lines.send("a");
    call.waits();
    let content = Instant::now();
    while content.elapsed() + seconds(100) < KEEP_ALIVE_IDLE {
        call.waits_for(seconds(100)).await;
        lines.send("");
        call.waits();
    }
    call.waits_for(KEEP_ALIVE_IDLE - content.elapsed() - MOMENT).await;
    is_silent(call.output_within(MOMENT).await, 1);
    assert_eq!(left_alone(&seen), 0, "it was never without a byte");
}

#[tokio::test(start_paused = true)]
async fn a_ping_ends_a_silence_and_leaves_its_ceiling() {
    let seen = Seen::default();
    let ([lines], peer) = fed();
    let mut call = Driven::new(over(watching(whole()).observer(seen.observer()), peer).oneshot(Call::write()));
    call.waits();
    call.waits_for(seconds(1000)).await;
    lines.send("");
    call.waits();
    assert_eq!(left_alone(&seen), 1);
    call.waits_for(IDLE).await;
    assert_eq!(left_alone(&seen), 1, "the next silence is told of again");
    call.waits_for(KEEP_ALIVE_IDLE - seconds(1000) - IDLE - MOMENT).await;
    is_silent(call.output_within(MOMENT).await, 1);
}

#[tokio::test(start_paused = true)]
async fn content_puts_the_ceiling_off() {
    for content in ["..", "~id", "a"] {
        let ([lines], peer) = fed();
        let mut call = Driven::new(over(watching(whole()), peer).oneshot(Call::write()));
        call.waits();
        for _ in 0..3 {
            call.waits_for(KEEP_ALIVE_IDLE - MOMENT).await;
            lines.send(content);
            call.waits();
        }
        call.waits_for(KEEP_ALIVE_IDLE - MOMENT).await;
        is_silent(call.output_within(MOMENT).await, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_replacement_has_a_ceiling_of_its_own() {
    let ([lines, _second], peer) = fed();
    let mut call = Driven::new(over(watching(whole()), peer.clone()).oneshot(Call::write()));
    call.waits();
    call.waits_for(seconds(3000)).await;
    lines.end();
    call.waits();
    // Its pause is up to 5 s.
    call.waits_for(KEEP_ALIVE_IDLE + seconds(2)).await;
    assert_eq!(peer.calls(), 2);
    is_silent(call.output_within(seconds(4)).await, 2);
}

#[tokio::test(start_paused = true)]
async fn in_preserve_it_is_waited_for_for_ever() {
    let policy = StreamPolicy::builder(StreamMode::Preserve);
    let seen = Seen::default();
    let ([lines], peer) = fed();
    let mut call = Driven::new(over(under(policy, whole()).observer(seen.observer()), peer).oneshot(Call::write()));
    call.waits();
    call.waits_for(IDLE).await;
    assert_eq!(left_alone(&seen), 1);
    call.waits_for(20 * KEEP_ALIVE_IDLE).await;
    assert_eq!(left_alone(&seen), 0);
    lines.send(".");
    assert_eq!(call.output().unwrap().items, ["."]);
}
