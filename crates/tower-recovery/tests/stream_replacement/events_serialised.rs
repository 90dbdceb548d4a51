//! Events as they stand in a log.

#![cfg(feature = "serde")]

use serde_json::{Value, json};
use tower::ServiceExt;
use tower_recovery_test::Step;

use super::{
    support::{Call, Fault},
    world::{Seen, breaks, gives, healthy, over, peer, prober, replacing, stalls, under, whole},
};

/// The events of one call, each without its pause, which is drawn.
async fn told(
    layer: super::world::Layered<tower_recovery::stream_replacement::Whole>,
    steps: Vec<Step<super::world::Answer>>,
) -> Vec<Value> {
    let seen = Seen::default();
    let _ = over(layer.observer(seen.observer()), peer(steps)).oneshot(Call::write()).await;
    let mut events: Vec<_> = seen.take().iter().map(|event| serde_json::to_value(event).unwrap()).collect();
    for event in &mut events {
        if let Some(pause) = event.as_object_mut().unwrap().remove("pause") {
            assert!(pause["secs"].is_u64() && pause["nanos"].is_u64(), "{pause}");
        }
    }
    events
}

#[tokio::test(start_paused = true)]
async fn a_replaced_drop() {
    let events = told(under(replacing(), whole()), vec![breaks(&["a"], Fault::Lost), gives(&["."])]).await;
    let of = |attempt: u32, mut fields: Value| {
        let common = json!({ "route": "stream", "method": "commit", "attempt": attempt });
        fields.as_object_mut().unwrap().extend(common.as_object().unwrap().clone());
        fields
    };
    let expected = [
        of(1, json!({ "event": "physical_attempt_started", "silenced": false })),
        of(
            1,
            json!({
                "event": "physical_attempt_failed",
                "delivery": "maybe_sent",
                "items": 1,
                "bytes": 1,
                "cause": "the socket was closed before the answer came",
            }),
        ),
        of(
            1,
            json!({
                "event": "recovery_replacement_proposed",
                "basis": "retryable_transport_failure",
                "duplicate_server_work_possible": true,
            }),
        ),
        of(2, json!({ "event": "physical_attempt_started", "silenced": false })),
        of(2, json!({ "event": "physical_attempt_succeeded", "items": 1, "bytes": 1 })),
    ];
    assert_eq!(events, expected);
}

fn names(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["event"].as_str().unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_silence_by_the_names_of_its_events() {
    let layer = under(replacing().idle(super::world::seconds(30)), whole()).health_probe(healthy());
    let events = told(layer, vec![stalls(&["a"]), breaks(&[], Fault::Lost)]).await;
    assert_eq!(
        names(&events),
        [
            "physical_attempt_started",
            "call_activity",
            "recovery_probe_started",
            "recovery_probe_succeeded",
            "recovery_grace_started",
            "physical_attempt_abandoned",
            "recovery_replacement_proposed",
            "physical_attempt_started",
            "physical_attempt_failed",
            "recovery_exhausted",
        ]
    );
    assert_eq!(events[2]["round"], 1);
    assert_eq!(events[6]["basis"], "healthy_side_call_and_no_activity_through_grace");
    assert_eq!(events[9]["attempts"], 2);
}

#[tokio::test(start_paused = true)]
async fn a_route_that_is_unreachable_by_the_names_of_its_events() {
    let layer = under(replacing().idle(super::world::seconds(200)), whole()).health_probe(prober([Step::fail("no")]));
    let events = told(layer, vec![Step::hang()]).await;
    let names = names(&events);
    assert!(names.contains(&"call_waiting") && names.contains(&"recovery_probe_failed"), "{names:?}");
    assert_eq!(names.last(), Some(&"recovery_provider_unreachable"));
    let waiting = events.iter().find(|event| event["event"] == "call_waiting").unwrap();
    assert_eq!(waiting["silent_for"], json!({ "secs": 120, "nanos": 0 }));
}

#[test]
fn reasons_in_words() {
    use tower_recovery::stream_replacement::{PreservedBecause, StreamEnd};
    let words = [
        serde_json::to_value(PreservedBecause::NoProbe).unwrap(),
        serde_json::to_value(PreservedBecause::Mode).unwrap(),
        serde_json::to_value(StreamEnd::Unreachable).unwrap(),
        serde_json::to_value(StreamEnd::NotResumed).unwrap(),
    ];
    assert_eq!(words, ["no_probe", "mode", "unreachable", "not_resumed"]);
}
