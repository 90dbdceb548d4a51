//! The health probe: what it is asked, how long it has, when the next one follows, and what its answers do.

use std::time::Duration;

use tokio::time::Instant;
use tower::{ServiceExt, service_fn};
use tower_recovery::{
    StreamMode, StreamPolicy,
    stream_replacement::{Health, ProbeRequest, StreamBroken, StreamEnd},
};
use tower_recovery_test::{ReadinessProbe, ReadyStep, ScriptedReadiness, Step};

use super::{
    support::Call,
    world::{Driven, Prober, fed, gives, healthy, over, peer, prober, seconds, stalls, under, watching, whole},
};

const IDLE: Duration = Duration::from_secs(900);
const MOMENT: Duration = Duration::from_millis(1);

/// The probes of a stream that is silent to its end, as seconds since the first wait.
async fn moments(mode: StreamMode, steps: impl IntoIterator<Item = Step<Health>>, within: Duration) -> Vec<u64> {
    let probe = prober(steps);
    let layer = under(StreamPolicy::builder(mode), whole()).health_probe(probe.clone());
    let mut call = Driven::new(over(layer, peer([stalls(&["a"])])).oneshot(Call::write()));
    call.waits();
    let start = Instant::now();
    let mut moments = Vec::new();
    while start.elapsed() < within {
        tokio::time::advance(seconds(1)).await;
        let ended = call.is_woken() && call.poll().is_ready();
        if probe.calls() > moments.len() {
            moments.push(start.elapsed().as_secs());
        }
        if ended {
            break;
        }
    }
    let rounds: Vec<_> = probe.requests().iter().map(|request| request.round as usize).collect();
    assert_eq!(rounds, (1..=moments.len()).collect::<Vec<_>>());
    moments
}

#[tokio::test(start_paused = true)]
async fn the_next_probe_follows_after_twice_the_interval_each_time_up_to_sixteen() {
    let answers = [Step::answer(Health::Healthy)];
    let moments = moments(StreamMode::Preserve, answers, seconds(25_000)).await;
    assert_eq!(moments, [900, 1200, 1800, 3000, 5400, 10_200, 15_000, 19_800, 24_600]);
}

#[tokio::test(start_paused = true)]
async fn intervals_count_from_the_start_of_a_probe_whatever_it_took() {
    let moments = moments(StreamMode::RetryOnHealthyProbe, [Step::hang()], seconds(25_000)).await;
    assert_eq!(moments, [900, 1200, 1800], "and the third one is the last");
}

#[tokio::test(start_paused = true)]
async fn an_answer_starts_the_count_of_those_without_one_anew() {
    let (no, yes) = (|| Step::fail("no"), || Step::answer(Health::Healthy));
    let steps = [no(), no(), yes(), no(), no(), yes(), no(), no(), no()];
    let moments = moments(StreamMode::Preserve, steps, seconds(100_000)).await;
    assert_eq!(moments.len(), 9);
}

#[tokio::test(start_paused = true)]
async fn a_probe_has_its_time_and_not_a_moment_more() {
    for (takes, is_healthy) in [(seconds(60) - MOMENT, true), (seconds(60), true), (seconds(60) + MOMENT, false)] {
        let probe = prober([Step::answer(Health::Healthy).delayed(takes)]).then_always(Step::hang());
        let peer = peer([stalls(&[]), gives(&["."])]);
        let layer = watching(whole()).health_probe(probe.clone());
        let mut call = Driven::new(over(layer, peer.clone()).oneshot(Call::write()));
        call.waits();
        call.waits_for(IDLE + seconds(60) - MOMENT).await;
        assert_eq!(probe.dropped(), 0);
        call.waits_for(MOMENT).await;
        assert_eq!(probe.dropped(), usize::from(!is_healthy), "{takes:?}: it is dropped when its time is over");
        let was_replaced = call.ends_within(seconds(60 + 6)).await;
        assert_eq!(was_replaced, is_healthy, "{takes:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_grace_begins_with_the_answer() {
    let probe = prober([Step::answer(Health::Healthy).delayed(seconds(20))]);
    let peer = peer([Step::hang()]);
    let mut call = Driven::new(over(watching(whole()).health_probe(probe), peer.clone()).oneshot(Call::write()));
    call.waits();
    call.waits_for(IDLE + seconds(20 + 60) - MOMENT).await;
    assert_eq!(peer.dropped(), 0);
    call.waits_for(MOMENT).await;
    assert_eq!(peer.dropped(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_and_an_error_are_no_answer() {
    for answer in [Step::answer(Health::Refused), Step::fail("unauthorised"), Step::fail_ready("not ready")] {
        let probe = prober([answer]);
        let peer = peer([stalls(&[]), gives(&["."])]);
        let failure =
            over(watching(whole()).health_probe(probe), peer.clone()).oneshot(Call::write()).await.unwrap_err();
        assert_eq!(failure.find::<StreamBroken>().unwrap().reason, StreamEnd::Unreachable);
        assert_eq!(peer.calls(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_route_that_answers_the_third_probe_is_not_unreachable() {
    let probe = prober([Step::fail("no"), Step::answer(Health::Refused), Step::answer(Health::Healthy)]);
    let peer = peer([stalls(&[]), gives(&["."])]);
    over(watching(whole()).health_probe(probe), peer.clone()).oneshot(Call::write()).await.unwrap();
    assert_eq!(peer.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_probe_is_readied_before_it_is_called_each_time_on_an_instance_of_its_own() {
    let readied = ReadinessProbe::new(prober([Step::fail("no"), Step::fail("no"), Step::answer(Health::Healthy)]));
    let counts = readied.counts();
    let peer = peer([stalls(&[]), gives(&["."])]);
    over(watching(whole()).health_probe(readied), peer).oneshot(Call::write()).await.unwrap();
    assert_eq!((counts.readied(), counts.called(), counts.called_unready()), (3, 3, 0));
    assert_eq!((counts.ready_now(), counts.dropped_ready()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn the_time_to_ready_a_probe_is_part_of_its_time() {
    let never = ReadyStep::Until(tower_recovery_test::Gate::new());
    let inner = healthy();
    let slow = ScriptedReadiness::new(inner.clone(), [never]);
    let peer = peer([stalls(&[]), gives(&["."])]);
    let started = Instant::now();
    over(watching(whole()).health_probe(slow), peer).oneshot(Call::write()).await.unwrap();
    assert_eq!(inner.requests().iter().map(|request| request.round).collect::<Vec<_>>(), [2]);
    assert!(started.elapsed() >= seconds(1200 + 60));
}

/// Between the two a keep-alive ends the silence: the probe is not awaited any more, whatever it says.
#[tokio::test(start_paused = true)]
async fn a_sign_of_life_drops_the_probe_and_its_late_answer_is_nobodys() {
    let ([lines], peer) = fed();
    let probe = prober([Step::answer(Health::Healthy).delayed(seconds(30)), Step::hang()]);
    let mut call =
        Driven::new(over(watching(whole()).health_probe(probe.clone()), peer.clone()).oneshot(Call::write()));
    call.waits();
    call.waits_for(IDLE + seconds(29)).await;
    lines.send("");
    call.waits();
    assert_eq!((probe.in_flight(), probe.dropped()), (0, 1));
    call.waits_for(seconds(899)).await;
    assert_eq!(peer.in_flight() + peer.calls(), 1);
    assert_eq!(probe.calls(), 1, "there was no grace, and there is no next round");
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_ends_drops_its_probe() {
    for last in [".", "!no"] {
        let ([lines], peer) = fed();
        let probe = prober([Step::hang()]);
        let mut call = Driven::new(over(watching(whole()).health_probe(probe.clone()), peer).oneshot(Call::write()));
        call.waits();
        call.waits_for(IDLE).await;
        assert_eq!(probe.in_flight(), 1);
        lines.send(last);
        call.output().unwrap();
        assert_eq!((probe.in_flight(), probe.dropped()), (0, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn calls_share_a_probe_service_and_no_probe() {
    let probe: Prober = prober([Step::hang()]);
    let stack = over(watching(whole()).health_probe(probe.clone()), peer([Step::hang()]));
    let mut calls: Vec<_> = (0..3).map(|_| Driven::new(stack.clone().oneshot(Call::write()))).collect();
    for call in &mut calls {
        call.waits();
    }
    tokio::time::advance(IDLE).await;
    for call in &mut calls {
        call.waits();
    }
    assert_eq!(probe.in_flight(), 3);
    drop(calls.pop());
    assert_eq!((probe.in_flight(), probe.dropped()), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn any_cloneable_service_will_do() {
    let service = service_fn(|request: ProbeRequest| async move {
        if request.round < 3 { Err("not yet") } else { Ok(Health::Healthy) }
    });
    let peer = peer([stalls(&[]), gives(&["."])]);
    over(watching(whole()).health_probe(service), peer).oneshot(Call::write()).await.unwrap();
}
