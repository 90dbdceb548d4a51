//! What a probe reports of an episode, and in which order.

use std::sync::Arc;

use tower_recovery::{RecoveryEvent, registration::RebuildStep};

use super::world::{Act, Asked, ID, LATENCY, Serving};

fn name() -> Arc<str> {
    Arc::from("registration of worker-7")
}

fn step_failed(step: RebuildStep, cause: &str, permanent: bool) -> RecoveryEvent {
    RecoveryEvent::RegistrationStepFailed { name: name(), step, cause: cause.to_owned(), permanent }
}

/// Lost, rebuilt in vain, rebuilt again, recovered; and then taken by somebody else.
async fn whole_episode() -> (Serving, Vec<RecoveryEvent>) {
    let mut serving = Serving::begin();
    serving.healthy().await;
    serving.registry().evict(ID);
    serving.worker.next(Asked::Close, [Act::Hangs]);
    serving.worker.next(Asked::Connect, [Act::Fails("connection refused")]);
    serving
        .worker
        .next(Asked::Register, [Act::Fails("timed out"), Act::Pretends, Act::FailsForGood("no such workspace")]);
    serving.failing().await;
    serving.healthy().await;
    let after = serving.events.all().into_iter().find_map(|event| match event {
        RecoveryEvent::RegistrationRecovered { after, .. } => Some(after),
        _ => None,
    });
    serving.registry().seize(ID, "worker-8");
    serving.failing().await;
    serving.looked_up(3).await;
    let rebuild_started = |rebuild| RecoveryEvent::RegistrationRebuildStarted { name: name(), rebuild };
    let expected = vec![
        RecoveryEvent::RegistrationLost { name: name(), cause: "the registry does not know it".to_owned() },
        rebuild_started(1),
        step_failed(RebuildStep::Close, "no answer within 5s", false),
        step_failed(RebuildStep::Connect, "connection refused", false),
        step_failed(RebuildStep::Register, "timed out", false),
        RecoveryEvent::RegistrationRebuilt { name: name(), confirmed: false },
        rebuild_started(2),
        step_failed(RebuildStep::Register, "no such workspace", true),
        rebuild_started(3),
        RecoveryEvent::RegistrationRebuilt { name: name(), confirmed: true },
        RecoveryEvent::RegistrationRecovered { name: name(), after: after.unwrap() },
        RecoveryEvent::RegistrationSuperseded { name: name(), by: "worker-8".into() },
    ];
    (serving, expected)
}

#[tokio::test(start_paused = true)]
async fn a_whole_episode_is_reported_in_its_order_and_each_thing_once() {
    let (serving, expected) = whole_episode().await;
    let mut seen = serving.events.all();
    // What a permanent failure says beside its cause is the failure's own text.
    for event in &mut seen {
        if let RecoveryEvent::RegistrationStepFailed { cause, permanent: true, .. } = event {
            assert!(cause.ends_with("no such workspace"), "{cause}");
            *cause = "no such workspace".to_owned();
        }
    }
    assert_eq!(seen, expected);
    serving.is_sound();
}

#[tokio::test(start_paused = true)]
async fn a_recovery_says_how_long_it_took_since_the_loss_was_seen() {
    let mut serving = Serving::begin();
    serving.healthy().await;
    serving.registry().evict(ID);
    let lost = serving.failing().await.failing_since().unwrap();
    serving.healthy().await;
    let Some(RecoveryEvent::RegistrationRecovered { after, .. }) = serving.events.all().pop() else { panic!() };
    assert_eq!(lost + after, tokio::time::Instant::now());
    assert!(after >= LATENCY);
}

#[cfg(feature = "serde")]
#[tokio::test(start_paused = true)]
async fn events_are_serialised_by_their_names() {
    let (serving, _) = whole_episode().await;
    let events: Vec<_> = serving.events.all().iter().map(|event| serde_json::to_value(event).unwrap()).collect();
    let mut names: Vec<_> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(
        names,
        [
            "registration_lost",
            "registration_rebuild_started",
            "registration_rebuilt",
            "registration_recovered",
            "registration_step_failed",
            "registration_superseded",
        ]
    );
    let steps: Vec<_> = events.iter().filter_map(|event| event.get("step")?.as_str()).collect();
    assert_eq!(steps, ["close", "connect", "register", "register"]);
    assert!(events.iter().all(|event| event["name"] == "registration of worker-7"));
    assert_eq!(events[11]["by"], "worker-8");
}
