//! Every event of the layer, with all that it says, in its order.

use tower::ServiceExt;
use tower_recovery::{
    Delivery,
    RecoveryEvent::{PhysicalAttemptFailed, PhysicalAttemptStarted},
    StreamMode, StreamPolicy,
    stream_replacement::{Health, PreservedBecause, UntilFirstItem},
};
use tower_recovery_test::Step;

use super::{
    support::{Call, Fault},
    told::{
        FAILED, LOST, SILENT, abandoned, active, exhausted, failed, grace_started, method, preserved, probe_cancelled,
        probe_failed, probe_started, probe_succeeded, proposed, route, started, succeeded, unreachable, waiting,
    },
    world::{
        Driven, Head, Layered, Seen, breaks, fault, fed, gives, gives_under, healthy, over, pause, peer, prober,
        replacing, seconds, stalls, under, whole,
    },
};

/// Short times, so that a silence ends before it is said that it is waited for.
fn observed(seen: &Seen, replacements: u32) -> Layered<tower_recovery::stream_replacement::Whole> {
    let policy = replacing().idle(seconds(30)).probe_timeout(seconds(10)).probe_interval(seconds(20));
    under(policy.recovery_grace(seconds(20)).max_replacements(replacements), whole())
        .named("completions")
        .observer(seen.observer())
}

#[tokio::test(start_paused = true)]
async fn a_drop_that_is_replaced() {
    let seen = Seen::default();
    let peer = peer([breaks(&["ab", ""], Fault::Lost), gives(&["cd", "e", "."])]);
    over(observed(&seen, 1), peer).oneshot(Call::write()).await.unwrap();
    let events = seen.take();
    let pause = pause(&events);
    assert!(pause >= seconds(5) / 2 && pause <= seconds(5), "{pause:?}");
    assert_eq!(
        events,
        [started(1), failed(1, 1, 2, LOST), proposed(1, FAILED, pause, true), started(2), succeeded(2, 3, 4)]
    );
}

#[tokio::test(start_paused = true)]
async fn an_incomplete_stream_that_is_replaced() {
    let seen = Seen::default();
    let peer = peer([gives(&["a"]), gives(&["."])]);
    over(observed(&seen, 1), peer).oneshot(Call::write()).await.unwrap();
    let events = seen.take();
    let proposed = proposed(1, FAILED, pause(&events), true);
    let failed = failed(1, 1, 1, "it ended before it was complete");
    assert_eq!(events, [started(1), failed, proposed, started(2), succeeded(2, 1, 1)]);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_was_never_sent_is_not_said_to_work_twice() {
    let seen = Seen::default();
    let peer = peer([fault(Fault::ConnectionRefused), gives(&["."])]);
    over(observed(&seen, 1), peer).oneshot(Call::write()).await.unwrap();
    let events = seen.take();
    let refused = PhysicalAttemptFailed {
        route: route(),
        method: method(),
        attempt: 1,
        delivery: Some(Delivery::NeverSent),
        items: 0,
        bytes: 0,
        cause: "connection refused".to_owned(),
    };
    let proposed = proposed(1, FAILED, pause(&events), false);
    assert_eq!(events, [started(1), refused, proposed, started(2), succeeded(2, 1, 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_read_that_counts_is_said_to_be_silenced() {
    let seen = Seen::default();
    let peer = peer([breaks(&[], Fault::Lost), gives(&["."])]);
    over(observed(&seen, 1), peer).oneshot(Call::counted_read()).await.unwrap();
    let silenced =
        |attempt, silenced| PhysicalAttemptStarted { route: route(), method: "read".to_owned(), attempt, silenced };
    let events = seen.take();
    assert_eq!((&events[0], &events[3]), (&silenced(1, false), &silenced(2, true)));
}

#[tokio::test(start_paused = true)]
async fn a_silence_with_its_probe_and_its_grace() {
    let seen = Seen::default();
    let peer = peer([stalls(&["abc"]), gives(&["."])]);
    over(observed(&seen, 1).health_probe(healthy()), peer).oneshot(Call::write()).await.unwrap();
    let events = seen.take();
    let proposed = proposed(1, SILENT, pause(&events), true);
    assert_eq!(
        events,
        [
            started(1),
            active(1, 1),
            probe_started(1, 1),
            probe_succeeded(1),
            grace_started(1),
            abandoned(1, 1, 3),
            proposed,
            started(2),
            succeeded(2, 1, 1)
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn activity_that_cancels_a_probe() {
    let seen = Seen::default();
    let ([lines], peer) = fed();
    let layer = observed(&seen, 1).health_probe(prober([Step::hang()]));
    let mut call = Driven::new(over(layer, peer).oneshot(Call::write()));
    call.waits();
    call.waits_for(seconds(35)).await;
    lines.send("a");
    call.waits();
    assert_eq!(seen.take(), [started(1), active(1, 0), probe_started(1, 1), probe_cancelled(1), active(1, 1)]);
    call.waits_for(seconds(35)).await;
    lines.send(".");
    call.output().unwrap();
    assert_eq!(seen.take(), [probe_started(1, 1), probe_cancelled(1), succeeded(1, 2, 2)], "so does the end");
}

#[tokio::test(start_paused = true)]
async fn an_original_that_is_preserved() {
    let seen = Seen::default();
    let policy = StreamPolicy::builder(StreamMode::Preserve).idle(seconds(30)).probe_interval(seconds(20));
    let layer = under(policy, whole()).named("completions").observer(seen.observer()).health_probe(healthy());
    let mut call = Driven::new(over(layer, peer([stalls(&[])])).oneshot(Call::write()));
    call.waits();
    call.waits_for(seconds(60)).await;
    let mode = || preserved(1, PreservedBecause::Mode);
    assert_eq!(
        seen.take(),
        [
            started(1),
            active(1, 0),
            probe_started(1, 1),
            probe_succeeded(1),
            mode(),
            probe_started(1, 2),
            probe_succeeded(1),
            mode()
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn an_original_that_is_preserved_for_want_of_a_probe_is_told_of_once_a_silence() {
    let seen = Seen::default();
    let ([lines], peer) = fed();
    let mut call = Driven::new(over(observed(&seen, 1), peer).oneshot(Call::write()));
    call.waits();
    call.waits_for(seconds(110)).await;
    lines.send("a");
    call.waits();
    call.waits_for(seconds(110)).await;
    let no_probe = || preserved(1, PreservedBecause::NoProbe);
    assert_eq!(seen.take(), [started(1), active(1, 0), no_probe(), active(1, 1), no_probe()]);
}

#[tokio::test(start_paused = true)]
async fn a_route_that_is_unreachable() {
    let seen = Seen::default();
    let answers = [Step::fail("no answer"), Step::answer(Health::Refused), Step::hang()];
    let layer = observed(&seen, 1).health_probe(prober(answers));
    over(layer, peer([stalls(&["a"])])).oneshot(Call::write()).await.unwrap_err();
    assert_eq!(
        seen.take(),
        [
            started(1),
            active(1, 1),
            probe_started(1, 1),
            probe_failed(1, "no answer"),
            probe_started(1, 2),
            probe_failed(1, "what came is no real answer"),
            probe_started(1, 3),
            probe_failed(1, "it took too long"),
            abandoned(1, 1, 1),
            unreachable(1)
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn replacements_that_are_spent() {
    let seen = Seen::default();
    let peer = peer([breaks(&["a"], Fault::Lost), stalls(&["bc"])]);
    over(observed(&seen, 1).health_probe(healthy()), peer).oneshot(Call::write()).await.unwrap_err();
    let events = seen.take();
    let proposed = proposed(1, FAILED, pause(&events), true);
    assert_eq!(
        events,
        [
            started(1),
            failed(1, 1, 1, LOST),
            proposed,
            started(2),
            active(2, 1),
            probe_started(2, 1),
            probe_succeeded(2),
            grace_started(2),
            abandoned(2, 1, 2),
            exhausted(2)
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_verdict_says_nothing_more() {
    let seen = Seen::default();
    let answer = gives_under(Head::of(503), &["no"]);
    over(observed(&seen, 1), peer([answer])).oneshot(Call::write()).await.unwrap();
    assert_eq!(seen.take(), [started(1)], "what comes is an answer, and not watched");
    over(observed(&seen, 1), peer([gives(&["a", "!no"])])).oneshot(Call::write()).await.unwrap();
    assert_eq!(seen.take(), [started(1), succeeded(1, 2, 4)]);
}

#[tokio::test(start_paused = true)]
async fn life_is_told_of_at_most_every_thirty_seconds_and_waiting_every_hundred_and_twenty() {
    let seen = Seen::default();
    let layer = under(replacing(), UntilFirstItem).named("completions").observer(seen.observer());
    let ([lines], peer) = fed();
    let mut call = Driven::new(over(layer, peer).oneshot(Call::write()));
    call.waits();
    for _ in 0..6 {
        call.waits_for(seconds(10)).await;
        lines.send("");
        call.waits();
    }
    assert_eq!(seen.take(), [started(1), active(1, 0), active(1, 0), active(1, 0)], "at 0, 30 and 60 s");
    call.waits_for(seconds(119)).await;
    assert_eq!(seen.take(), []);
    call.waits_for(seconds(240)).await;
    assert_eq!(seen.take(), [waiting(1, 120), waiting(1, 240)]);
    lines.send("..");
    call.waits();
    assert_eq!(seen.take(), [active(1, 0)]);
    call.waits_for(seconds(121)).await;
    assert_eq!(seen.take(), [waiting(1, 120)], "a sign of life begins the count anew");
}

#[tokio::test(start_paused = true)]
async fn the_default_name_of_a_route_is_stream_and_long_causes_are_cut() {
    let seen = Seen::default();
    let layer = under(replacing(), whole()).observer(seen.observer());
    let peer = peer([Step::fail_with(|| "x".repeat(10_000))]);
    over(layer, peer).oneshot(Call::write()).await.unwrap_err();
    let events = seen.take();
    let [PhysicalAttemptStarted { route, .. }, PhysicalAttemptFailed { delivery: None, cause, .. }] = &events[..]
    else {
        panic!("{events:?}")
    };
    assert_eq!((&**route, cause.len()), ("stream", 256));
}
