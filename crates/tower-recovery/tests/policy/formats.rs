//! The same policy in TOML, JSON and YAML.

use std::time::Duration;

use tower_recovery::{CallTiming, LinearBackoff, ReadMethods, RoutePolicy, StreamMode, StreamPolicy};

const TOML: &str = r#"
    attempts = 4
    deadline_seconds = 10
    attempt_timeout_seconds = 2.5
    reads = ["search", { method = "read", silent = true }, { method = "list" }]

    [backoff]
    step_seconds = 0.05
    ceiling_seconds = 1

    [stream]
    mode = "retry_on_healthy_probe"
    idle_seconds = 300
    keep_alive_idle_seconds = 1800.5
    probe_timeout_seconds = 20
    probe_interval_seconds = 100
    recovery_grace_seconds = 30
    max_replacements = 2
"#;

const JSON: &str = r#"{
    "attempts": 4,
    "deadline_seconds": 10,
    "attempt_timeout_seconds": 2.5,
    "reads": ["search", { "method": "read", "silent": true }, { "method": "list", "silent": false }],
    "backoff": { "step_seconds": 5e-2, "ceiling_seconds": 1.0 },
    "stream": {
        "mode": "retry_on_healthy_probe",
        "idle_seconds": 300,
        "keep_alive_idle_seconds": 1800.5,
        "probe_timeout_seconds": 20,
        "probe_interval_seconds": 100,
        "recovery_grace_seconds": 30,
        "max_replacements": 2
    }
}"#;

const YAML: &str = r"
attempts: 4
deadline_seconds: 10
attempt_timeout_seconds: 2.5
reads:
  - search
  - { method: read, silent: true }
  - method: list
backoff:
  step_seconds: 0.05
  ceiling_seconds: 1
stream:
  mode: retry_on_healthy_probe
  idle_seconds: 300
  keep_alive_idle_seconds: 1800.5
  probe_timeout_seconds: 20
  probe_interval_seconds: 100
  recovery_grace_seconds: 30
  max_replacements: 2
";

fn built() -> RoutePolicy {
    let stream = StreamPolicy::builder(StreamMode::RetryOnHealthyProbe)
        .idle(Duration::from_secs(300))
        .keep_alive_idle(Duration::from_millis(1_800_500))
        .probe_timeout(Duration::from_secs(20))
        .probe_interval(Duration::from_secs(100))
        .recovery_grace(Duration::from_secs(30))
        .max_replacements(2);
    RoutePolicy::builder()
        .attempts(4)
        .deadline(Duration::from_secs(10))
        .attempt_timeout(Duration::from_millis(2500))
        .reads(ReadMethods::new().read("search").silent("read").read("list"))
        .backoff(LinearBackoff::new(Duration::from_millis(50), Duration::from_secs(1)))
        .stream(stream.build().expect("a policy within its bounds"))
        .build()
        .expect("a policy within its bounds")
}

#[test]
fn a_file_says_what_code_says_in_every_format() {
    assert_eq!(toml::from_str::<RoutePolicy>(TOML).unwrap(), built());
    assert_eq!(serde_json::from_str::<RoutePolicy>(JSON).unwrap(), built());
    assert_eq!(serde_saphyr::from_str::<RoutePolicy>(YAML).unwrap(), built());
}

#[test]
fn what_is_written_is_read_again_in_every_format() {
    for policy in [built(), RoutePolicy::default()] {
        assert_eq!(toml::from_str::<RoutePolicy>(&toml::to_string(&policy).unwrap()).unwrap(), policy);
        assert_eq!(serde_json::from_str::<RoutePolicy>(&serde_json::to_string(&policy).unwrap()).unwrap(), policy);
        assert_eq!(serde_saphyr::from_str::<RoutePolicy>(&serde_saphyr::to_string(&policy).unwrap()).unwrap(), policy);
    }
}

#[test]
fn an_empty_file_is_the_defaults_and_leaves_streams_alone() {
    let policy: RoutePolicy = toml::from_str("").unwrap();
    assert_eq!(policy, RoutePolicy::default());
    assert_eq!(policy.stream().mode(), StreamMode::Disabled);
    assert_eq!(serde_json::from_str::<RoutePolicy>("{}").unwrap(), policy);
    assert_eq!(serde_json::from_str::<RoutePolicy>(r#"{ "backoff": {}, "reads": [] }"#).unwrap(), policy);
}

#[test]
fn what_is_left_out_has_the_default_of_its_layer() {
    let policy: RoutePolicy = toml::from_str("deadline_seconds = 9\nbackoff.step_seconds = 2").unwrap();
    assert_eq!(policy.timing(), CallTiming::builder().deadline(Duration::from_secs(9)).build().unwrap());
    assert_eq!(policy.backoff(), LinearBackoff::new(Duration::from_secs(2), LinearBackoff::default().ceiling()));
    for (name, mode) in [
        ("retry_on_healthy_probe", StreamMode::RetryOnHealthyProbe),
        ("preserve", StreamMode::Preserve),
        ("disabled", StreamMode::Disabled),
    ] {
        let policy: RoutePolicy = toml::from_str(&format!("stream.mode = '{name}'")).unwrap();
        assert_eq!(policy.stream(), StreamPolicy::builder(mode).build().unwrap());
    }
}

#[test]
fn what_is_written_shows_every_setting_that_holds() {
    let written = serde_json::to_value(RoutePolicy::default()).unwrap();
    let expected = serde_json::json!({
        "attempts": 3,
        "attempt_timeout_seconds": 30.0,
        "reads": [],
        "backoff": { "step_seconds": 0.1, "ceiling_seconds": 5.0 },
        "stream": {
            "mode": "disabled",
            "idle_seconds": 900.0,
            "keep_alive_idle_seconds": 3600.0,
            "probe_timeout_seconds": 60.0,
            "probe_interval_seconds": 300.0,
            "recovery_grace_seconds": 60.0,
            "max_replacements": 1,
        },
    });
    assert_eq!(written, expected);
    let reads = serde_json::to_value(built().reads()).unwrap();
    assert_eq!(reads, serde_json::json!(["list", { "method": "read", "silent": true }, "search"]));
}
