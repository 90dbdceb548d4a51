//! Calls that are told of our eviction: what they tell the probe.

use std::error::Error;

use tokio::time::{Duration, Instant, sleep};
use tower::{Service, ServiceBuilder, ServiceExt};
use tower_recovery::{ClassifyLayer, Delivery, Failure, RegistrationMonitor, registration::OwnEvictionWatch};

use super::{
    support::{Call, Fault, Protocol, Reply, backend, done, fails},
    world::{Act, Asked, ID, INTERVAL, SPREAD, asked_after, assert_apart, just_looked_up, seconds},
};

/// The least time between look-ups that are asked for.
const FLOOR: Duration = Duration::from_secs(5);

/// A stack whose backend says that we are not registered, and then answers.
fn calls(monitor: &RegistrationMonitor) -> impl Service<Call, Response = Reply, Error = Failure> + Clone + use<> {
    let says_so = |error: &(dyn Error + 'static)| error.downcast_ref() == Some(&Fault::SessionGone);
    let watch = OwnEvictionWatch::new(Protocol, monitor.clone(), says_so);
    ServiceBuilder::new().layer(ClassifyLayer::new(watch)).service(backend([fails(Fault::SessionGone)]))
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_told_of_our_eviction_has_the_registry_asked_at_once() {
    let mut serving = just_looked_up().await;
    sleep(FLOOR).await;
    serving.registry().evict(ID);
    let noticed = Instant::now();
    let failure = calls(&serving.monitor).oneshot(Call::write()).await.unwrap_err();

    assert_eq!(failure.verdict(), Fault::SessionGone.verdict(), "what it proves of the call is said by the classifier");
    assert_eq!(failure.delivery(), Some(Delivery::Answered));
    assert_eq!(asked_after(&mut serving, noticed).await, Duration::ZERO);
    let status = serving.until(|status| status.confirmed == 1).await;
    assert_eq!((status.rebuilds, status.flaps), (1, 1));
    assert!(noticed.elapsed() <= SPREAD + seconds(1));
    serving.is_sound();
}

#[tokio::test(start_paused = true)]
async fn answers_and_other_errors_have_nothing_asked() {
    let mut serving = just_looked_up().await;
    sleep(FLOOR).await;
    let says_so = |error: &(dyn Error + 'static)| error.downcast_ref() == Some(&Fault::SessionGone);
    let watch = OwnEvictionWatch::new(Protocol, serving.monitor.clone(), says_so);
    let answers = backend([done("a"), fails(Fault::Lost), fails(Fault::Foreign)]);
    let mut stack = ServiceBuilder::new().layer(ClassifyLayer::new(watch)).service(answers);
    for _ in 0..3 {
        let _answer = stack.ready().await.unwrap().call(Call::read()).await;
    }
    assert!(asked_after(&mut serving, Instant::now()).await > INTERVAL / 2);
}

#[tokio::test(start_paused = true)]
async fn a_thousand_calls_that_are_told_cause_one_look_up() {
    let mut serving = just_looked_up().await;
    sleep(FLOOR).await;
    let before = serving.registry().count(Asked::LookUp);
    let stack = calls(&serving.monitor);
    for _ in 0..1_000 {
        stack.clone().oneshot(Call::read()).await.unwrap_err();
    }
    let noticed = Instant::now();
    assert_eq!(asked_after(&mut serving, noticed).await, Duration::ZERO);
    sleep(INTERVAL - seconds(1)).await;
    assert_eq!(serving.registry().count(Asked::LookUp), before + 1);
}

#[tokio::test(start_paused = true)]
async fn calls_that_are_told_again_and_again_have_it_asked_not_more_often_than_the_floor() {
    // The registry says that all is well, and the peers do not believe it.
    let serving = just_looked_up().await;
    let stack = calls(&serving.monitor);
    let looked_up = serving.registry().count(Asked::LookUp);
    for _ in 0..1_200 {
        stack.clone().oneshot(Call::read()).await.unwrap_err();
        sleep(Duration::from_millis(50)).await;
    }
    let times = serving.registry().times(Asked::LookUp);
    assert_apart(&times, FLOOR);
    assert!((10..=12).contains(&(times.len() - looked_up)), "{} in a minute", times.len() - looked_up);
    assert_eq!(serving.status().rebuilds, 0);
    serving.is_sound();
}

#[tokio::test(start_paused = true)]
async fn what_a_call_is_told_while_the_registry_is_asked_has_it_asked_once_more() {
    let mut serving = just_looked_up().await;
    serving.registry().begins(Asked::LookUp).await;
    calls(&serving.monitor).oneshot(Call::read()).await.unwrap_err();
    serving.looked_up(1).await;
    let ended = Instant::now();
    assert_eq!(asked_after(&mut serving, ended).await, FLOOR);
    assert!(asked_after(&mut serving, ended).await > INTERVAL / 2, "once, and not again and again");
}

#[tokio::test(start_paused = true)]
async fn what_a_call_is_told_while_a_look_up_runs_out_of_time_is_not_forgotten() {
    let mut serving = just_looked_up().await;
    serving.worker.next(Asked::LookUp, [Act::Hangs]);
    serving.registry().begins(Asked::LookUp).await;
    serving.registry().evict(ID);
    sleep(seconds(1)).await;
    serving.worker.hears();
    calls(&serving.monitor).oneshot(Call::read()).await.unwrap_err();
    serving.looked_up(1).await;
    let ended = Instant::now();
    assert!(serving.status().is_registered(), "busy, and so undecided");
    assert_eq!(asked_after(&mut serving, ended).await, FLOOR);
}

#[tokio::test(start_paused = true)]
async fn what_a_call_is_told_while_the_registry_is_asked_a_second_time_is_not_forgotten() {
    let mut serving = just_looked_up().await;
    // Lost when it is due, and found after the spread.
    serving.worker.next(Asked::LookUp, [Act::Pretends]);
    serving.looked_up(1).await;
    serving.registry().begins(Asked::LookUp).await;
    calls(&serving.monitor).oneshot(Call::read()).await.unwrap_err();
    serving.looked_up(1).await;
    let ended = Instant::now();
    assert!(serving.status().is_registered());
    assert_eq!(asked_after(&mut serving, ended).await, FLOOR);
}

#[tokio::test(start_paused = true)]
async fn what_a_call_is_told_outweighs_a_connection_that_ends_during_the_same_look_up() {
    let mut serving = just_looked_up().await;
    serving.registry().evict(ID);
    serving.registry().begins(Asked::LookUp).await;
    serving.monitor.disconnected();
    calls(&serving.monitor).oneshot(Call::read()).await.unwrap_err();
    serving.looked_up(1).await;
    assert!(serving.status().failing_since().is_some(), "the end of the connection excuses nothing");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_told_outweighs_the_end_of_the_connection() {
    // In one moment, in either order; and the end of the connection after it, while the look-up waits for its floor.
    for order in 0..3 {
        let mut serving = just_looked_up().await;
        let looked_up = Instant::now();
        if order < 2 {
            sleep(FLOOR).await;
        }
        let noticed = Instant::now();
        if order == 0 {
            serving.monitor.disconnected();
        }
        serving.monitor.own_eviction_seen();
        if order == 2 {
            sleep(seconds(1)).await;
        }
        if order > 0 {
            serving.monitor.disconnected();
        }
        let after = asked_after(&mut serving, noticed).await;
        assert_eq!(after, looked_up + FLOOR - noticed, "order {order}");
    }
}
