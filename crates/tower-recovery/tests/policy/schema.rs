//! The JSON schema, asked by a validator.

use jsonschema::Validator;
use proptest::prelude::*;
use serde_json::{Value, json};
use tower_recovery::RoutePolicy;

fn validator() -> Validator {
    jsonschema::validator_for(schemars::schema_for!(RoutePolicy).as_value()).expect("a schema")
}

fn is_read(policy: &Value) -> bool {
    serde_json::from_value::<RoutePolicy>(policy.clone()).is_ok()
}

#[test]
fn the_schema_refuses_unknown_fields_at_every_level() {
    let validator = validator();
    for policy in [
        json!({ "idle": 1 }),
        json!({ "backoff": { "idle": 1 } }),
        json!({ "reads": [{ "method": "read", "idle": 1 }] }),
        json!({ "stream": { "mode": "preserve", "idle": 1 } }),
    ] {
        assert!(!validator.is_valid(&policy), "{policy}");
    }
}

#[test]
fn the_schema_holds_the_bounds_of_every_number() {
    let validator = validator();
    let on_the_edge = |path: [&str; 2], value: f64| match path {
        ["", field] => json!({ field: value }),
        ["stream", field] => json!({ "stream": { "mode": "preserve", field: value } }),
        [record, field] => json!({ record: { field: value } }),
    };
    let seconds = (f64::MIN_POSITIVE, 0.0, 604_800.0, 604_800.001);
    for (path, (least, below, most, above)) in [
        (["", "attempts"], (1.0, 0.0, 4_294_967_295.0, 4_294_967_296.0)),
        (["", "deadline_seconds"], seconds),
        (["", "attempt_timeout_seconds"], seconds),
        (["backoff", "step_seconds"], seconds),
        (["backoff", "ceiling_seconds"], seconds),
        (["stream", "idle_seconds"], seconds),
        (["stream", "keep_alive_idle_seconds"], seconds),
        (["stream", "probe_timeout_seconds"], seconds),
        (["stream", "probe_interval_seconds"], seconds),
        (["stream", "recovery_grace_seconds"], seconds),
        (["stream", "max_replacements"], (0.0, -1.0, 10.0, 11.0)),
    ] {
        for inside in [least, most] {
            assert!(validator.is_valid(&on_the_edge(path, inside)), "{path:?} = {inside}");
        }
        for outside in [below, above] {
            assert!(!validator.is_valid(&on_the_edge(path, outside)), "{path:?} = {outside}");
        }
    }
    assert!(!validator.is_valid(&json!({ "attempts": 1.5 })));
}

#[test]
fn the_schema_knows_modes_and_reads() {
    let validator = validator();
    for (policy, valid) in [
        (json!({}), true),
        (json!({ "stream": { "mode": "disabled" } }), true),
        (json!({ "stream": { "mode": "retry" } }), false),
        (json!({ "stream": {} }), false),
        (json!({ "reads": ["search", { "method": "read", "silent": true }, { "method": "list" }] }), true),
        (json!({ "reads": [{ "silent": true }] }), false),
        (json!({ "reads": [7] }), false),
    ] {
        assert_eq!((validator.is_valid(&policy), is_read(&policy)), (valid, valid), "{policy}");
    }
}

#[test]
fn the_schema_describes_what_is_written() {
    let policy = serde_json::to_value(RoutePolicy::default()).unwrap();
    let writing = schemars::generate::SchemaSettings::default().for_serialize();
    let schema = writing.into_generator().into_root_schema_for::<RoutePolicy>();
    for validator in [validator(), jsonschema::validator_for(schema.as_value()).unwrap()] {
        validator.validate(&policy).unwrap();
    }
}

#[test]
fn the_schema_tells_the_defaults() {
    let schema = schemars::schema_for!(RoutePolicy);
    let default = |path: &str| schema.pointer(path).unwrap_or_else(|| panic!("{path} in {schema:?}"));
    let written = serde_json::to_value(RoutePolicy::default()).unwrap();
    for field in ["attempts", "reads", "backoff", "stream"] {
        assert_eq!(default(&format!("/properties/{field}/default")), &written[field]);
    }
    for field in ["idle_seconds", "probe_timeout_seconds", "probe_interval_seconds", "max_replacements"] {
        assert_eq!(default(&format!("/$defs/StreamPolicy/properties/{field}/default")), &written["stream"][field]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// The schema may accept more: it does not compare one field with another.
    #[test]
    fn the_schema_accepts_what_is_read(policy in crate::properties::written()) {
        prop_assert!(!is_read(&policy) || validator().is_valid(&policy));
    }
}
