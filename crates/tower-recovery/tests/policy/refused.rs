//! What is refused names the field, its value and the bound.

use tower_recovery::{ReadMethods, RoutePolicy};

const SECONDS: [&str; 9] = [
    "deadline_seconds",
    "attempt_timeout_seconds",
    "backoff.step_seconds",
    "backoff.ceiling_seconds",
    "stream.idle_seconds",
    "stream.keep_alive_idle_seconds",
    "stream.probe_timeout_seconds",
    "stream.probe_interval_seconds",
    "stream.recovery_grace_seconds",
];

fn read(settings: &str) -> Result<RoutePolicy, String> {
    let mode = if settings.contains("stream.") { "stream.mode = 'preserve'\n" } else { "" };
    toml::from_str(&format!("{mode}{settings}")).map_err(|error| error.message().to_owned())
}

#[test]
fn a_time_out_of_bounds_is_refused_by_its_name() {
    for setting in SECONDS {
        for (value, shown) in [
            ("0", "0"),
            ("-0.0", "-0"),
            ("-1", "-1"),
            ("604800.001", "604800.001"),
            ("nan", "NaN"),
            ("inf", "inf"),
            ("-inf", "-inf"),
        ] {
            let name = setting.strip_prefix("stream.").unwrap_or(setting);
            let message = format!("{name} is {shown}, but it must be above 0 and at most 604800");
            assert_eq!(read(&format!("{setting} = {value}")), Err(message));
        }
        read(&format!("{setting} = 'soon'")).unwrap_err();
    }
}

#[test]
fn a_time_just_inside_its_bounds_is_read() {
    for setting in SECONDS {
        let (least, most) = match setting {
            "deadline_seconds" => ("0.000000003", "604800"),
            "backoff.step_seconds" => ("1e-9", "5"),
            "backoff.ceiling_seconds" => ("0.1", "604800"),
            "stream.idle_seconds" => ("1e-12", "604799.999999999"),
            "stream.keep_alive_idle_seconds" => ("900.000000001", "604800"),
            _ => ("1e-300", "604800"),
        };
        for value in [least, most] {
            read(&format!("{setting} = {value}")).unwrap_or_else(|refused| panic!("{setting} = {value}: {refused}"));
        }
    }
}

#[test]
fn a_count_out_of_bounds_is_refused_by_its_name() {
    for (setting, message) in [
        ("attempts = 0", "attempts is 0, but it must be at least 1"),
        ("attempts = -1", "attempts is -1, but it must be at least 1 and at most 4294967295"),
        ("attempts = 4294967296", "attempts is 4294967296, but it must be at least 1 and at most 4294967295"),
        ("stream.max_replacements = -1", "max_replacements is -1, but it must be from 0 to 10"),
        ("stream.max_replacements = 11", "max_replacements is 11, but it must be from 0 to 10"),
        ("stream.max_replacements = 4294967296", "max_replacements is 4294967296, but it must be from 0 to 10"),
    ] {
        assert_eq!(read(setting), Err(message.to_owned()));
    }
    for setting in
        ["attempts = 1", "attempts = 4294967295", "stream.max_replacements = 0", "stream.max_replacements = 10"]
    {
        read(setting).unwrap();
    }
}

#[test]
fn settings_that_contradict_each_other_are_refused() {
    for (settings, message) in [
        (
            "deadline_seconds = 2\nattempt_timeout_seconds = 2",
            "attempt_timeout_seconds is 2s, but it must be shorter than the deadline of 2s",
        ),
        (
            "attempts = 3\ndeadline_seconds = 2e-9",
            "deadline_seconds is 2ns, but it must be long enough to be divided by 3 attempts",
        ),
        ("backoff.step_seconds = 5.5", "backoff.ceiling_seconds is 5, but it must be at least the step_seconds of 5.5"),
        (
            "stream.idle_seconds = 60\nstream.keep_alive_idle_seconds = 60",
            "keep_alive_idle_seconds is 60, but it must be above the idle_seconds of 60",
        ),
        (
            "stream.idle_seconds = 604800",
            "idle_seconds is 604800, but it must be below the most that keep_alive_idle_seconds can be, 604800",
        ),
        (
            "reads = ['read', { method = 'read', silent = true }]",
            "reads is \"read\" twice, but it must be a list of each method once",
        ),
    ] {
        assert_eq!(read(settings), Err(message.to_owned()));
    }
}

#[test]
fn an_unknown_field_is_refused_by_its_name_at_every_level() {
    for settings in ["idle = 1", "backoff.idle = 1", "reads = [{ method = 'read', idle = 1 }]", "stream.idle = 1"] {
        let refused = read(settings).unwrap_err();
        assert!(refused.starts_with("unknown field `idle`, expected "), "{settings}: {refused}");
    }
    for json in [
        r#"{ "idle": 1 }"#,
        r#"{ "backoff": { "idle": 1 } }"#,
        r#"{ "reads": [{ "method": "read", "idle": 1 }] }"#,
        r#"{ "stream": { "mode": "preserve", "idle": 1 } }"#,
    ] {
        for refused in [
            serde_json::from_str::<RoutePolicy>(json).unwrap_err().to_string(),
            serde_saphyr::from_str::<RoutePolicy>(json).unwrap_err().to_string(),
        ] {
            assert!(refused.contains("unknown field `idle`"), "{json}: {refused}");
        }
    }
}

#[test]
fn bounds_are_named_in_json_and_yaml_too() {
    let yaml = serde_saphyr::from_str::<RoutePolicy>("stream:\n  mode: preserve\n  idle_seconds: .nan\n");
    let yaml = yaml.unwrap_err().to_string();
    assert!(yaml.contains("idle_seconds is NaN, but it must be above 0 and at most 604800"), "{yaml}");
    let json = serde_json::from_str::<RoutePolicy>(r#"{ "stream": { "mode": "preserve", "idle_seconds": -1 } }"#);
    let json = json.unwrap_err().to_string();
    assert!(json.contains("idle_seconds is -1, but it must be above 0 and at most 604800"), "{json}");
}

#[test]
fn a_stream_says_its_mode() {
    assert_eq!(read("stream = {}"), Err("missing field `mode`".to_owned()));
    let refused = toml::from_str::<RoutePolicy>("stream.mode = 'retry'").unwrap_err();
    assert!(
        refused.message().starts_with("unknown variant `retry`, expected one of `retry_on_healthy_probe`"),
        "{refused}"
    );
}

#[test]
fn a_read_is_a_name_or_a_record() {
    let refused = serde_json::from_str::<ReadMethods>("[7]").unwrap_err().to_string();
    assert!(refused.contains("expected the name of a method, or a record with `method` and `silent`"), "{refused}");
    let refused = serde_json::from_str::<ReadMethods>(r#"[{ "silent": true }]"#).unwrap_err().to_string();
    assert!(refused.contains("missing field `method`"), "{refused}");
}
