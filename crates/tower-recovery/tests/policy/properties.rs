//! Whatever is accepted can be used, and comes back as it was written.

use std::time::Duration;

use proptest::{collection::hash_map, option, prelude::*, strategy::ValueTree};
use serde_json::{Map, Value, json};
use tower_recovery::{AttemptTimeoutLayer, CallTiming, NamedRules, ReadOnlyRetryLayer, RoutePolicy, StreamMode};

/// Two weeks: what no time may be longer than, and again.
const BEYOND: f64 = 1_209_600.0;

// Boxed: a tree of all the choices of all the fields, unboxed, is larger than a test's stack.
fn seconds() -> BoxedStrategy<Value> {
    prop_oneof![
        8 => (0.0..1e4_f64).prop_map(Value::from),
        4 => (0.0..604_800.0_f64).prop_map(Value::from),
        1 => (0.0..1e-8_f64).prop_map(Value::from),
        1 => (-1.0..BEYOND).prop_map(Value::from),
        1 => prop_oneof![Just(0_u64), Just(1), Just(604_800), Just(604_801), Just(u64::MAX)].prop_map(Value::from),
    ]
    .boxed()
}

fn count(common: std::ops::Range<i64>) -> impl Strategy<Value = Value> {
    prop_oneof![6 => common.prop_map(Value::from), 1 => any::<i64>().prop_map(Value::from)]
}

fn reads() -> impl Strategy<Value = Value> {
    let name_and_kind = hash_map("[a-z]{0,6}", any::<bool>(), 0..5);
    name_and_kind.prop_map(|methods| methods.into_iter().map(entry).collect())
}

fn entry((method, silent): (String, bool)) -> Value {
    if silent { json!({ "method": method, "silent": true }) } else { json!(method) }
}

fn record<const FIELDS: usize>(fields: [(&'static str, Option<Value>); FIELDS]) -> Value {
    let set = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(set.collect::<Map<_, _>>())
}

fn stream() -> BoxedStrategy<Value> {
    let mode = prop_oneof![Just("retry_on_healthy_probe"), Just("preserve"), Just("disabled")];
    let times = [(); 5].map(|()| option::of(seconds()));
    (mode, times, option::of(count(-1..13)))
        .prop_map(|(mode, times, max_replacements)| {
            let [idle, keep_alive_idle, probe_timeout, probe_interval, recovery_grace] = times;
            record([
                ("mode", Some(mode.into())),
                ("idle_seconds", idle),
                ("keep_alive_idle_seconds", keep_alive_idle),
                ("probe_timeout_seconds", probe_timeout),
                ("probe_interval_seconds", probe_interval),
                ("recovery_grace_seconds", recovery_grace),
                ("max_replacements", max_replacements),
            ])
        })
        .boxed()
}

/// A policy as it might stand in a file, accepted or not.
pub(crate) fn written() -> impl Strategy<Value = Value> {
    let times = [(); 4].map(|()| option::of(seconds()));
    (option::of(count(0..9)), times, option::of(reads()), option::of(stream())).prop_map(
        |(attempts, [deadline, attempt_timeout, step, ceiling], reads, stream)| {
            record([
                ("attempts", attempts),
                ("deadline_seconds", deadline),
                ("attempt_timeout_seconds", attempt_timeout),
                ("backoff", Some(record([("step_seconds", step), ("ceiling_seconds", ceiling)]))),
                ("reads", reads),
                ("stream", stream),
            ])
        },
    )
}

fn accepted() -> impl Strategy<Value = RoutePolicy> {
    written().prop_filter_map("refused", |policy| serde_json::from_value(policy).ok())
}

/// Twice the longest time is beyond every sum that a layer makes of two of them.
fn is_addable(time: Duration) -> bool {
    std::time::SystemTime::now().checked_add(time.saturating_mul(2)).is_some()
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 100_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_layers_take_what_was_accepted(policy in accepted()) {
        let timing = policy.timing();
        let mut again = CallTiming::builder().attempts(timing.attempts()).attempt_timeout(timing.attempt_timeout());
        if let Some(deadline) = timing.deadline() {
            prop_assert!(timing.attempt_timeout() < deadline);
            again = again.deadline(deadline);
        }
        prop_assert_eq!(again.build(), Ok(timing));
        prop_assert!(!timing.attempt_timeout().is_zero());
        let rules = NamedRules::new(|method: &&'static str| *method, policy.reads().clone());
        let _ = ReadOnlyRetryLayer::new(rules).timing(timing).backoff(policy.backoff());
        let _ = AttemptTimeoutLayer::new(timing.attempt_timeout());
    }

    #[test]
    fn nothing_overflows(policy in accepted(), number in any::<u32>(), chance in any::<f64>()) {
        let stream = policy.stream();
        let pause = policy.backoff().pause(number, chance.max(0.0));
        prop_assert!(pause <= policy.backoff().ceiling() && is_addable(pause));
        let pause = stream.replacement_pause(number, chance);
        prop_assert!(pause <= stream.recovery_grace());
        let interval = stream.probe_interval(number);
        prop_assert!(stream.probe_interval(1) <= interval && interval <= 16 * stream.probe_interval(1));
        prop_assert!(stream.idle() < stream.keep_alive_idle());
        for time in [interval, stream.keep_alive_idle(), stream.probe_timeout(), stream.recovery_grace()] {
            prop_assert!(!time.is_zero() && is_addable(time));
        }
        prop_assert!(stream.max_replacements() <= 10);
    }

    #[test]
    fn what_was_accepted_comes_back_as_it_was_written(policy in accepted()) {
        let json = serde_json::to_string(&policy).unwrap();
        prop_assert_eq!(&serde_json::from_str::<RoutePolicy>(&json).unwrap(), &policy);
        let toml = toml::to_string(&policy).unwrap();
        prop_assert_eq!(&toml::from_str::<RoutePolicy>(&toml).unwrap(), &policy);
        let yaml = serde_saphyr::to_string(&policy).unwrap();
        prop_assert_eq!(&serde_saphyr::from_str::<RoutePolicy>(&yaml).unwrap(), &policy);
    }
}

#[test]
fn what_is_tried_is_accepted_and_refused_often_enough() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut accepted = Vec::new();
    for _ in 0..500 {
        let policy = written().new_tree(&mut runner).unwrap().current();
        accepted.extend(serde_json::from_value::<RoutePolicy>(policy).ok());
    }
    assert!((50..450).contains(&accepted.len()), "{} of 500", accepted.len());
    let replaced = accepted.iter().filter(|policy| policy.stream().mode() == StreamMode::RetryOnHealthyProbe).count();
    assert!(replaced >= 5, "{replaced} with streams that are replaced");
}
