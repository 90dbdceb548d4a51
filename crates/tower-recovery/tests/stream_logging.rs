//! What is logged of a stream: the operator finds by its line what was replaced, and whether work may have been done twice.
//!
//! A test binary of its own, as `logging`.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail like the tests do")]

mod support;

use tower::{Layer, ServiceExt};
use tower_recovery::{
    StreamMode, StreamPolicy, StreamPolicyBuilder, StreamReplacementLayer,
    stream_replacement::{Health, ItemRules, Sight},
};
use tower_recovery_test::{ScriptedService, ScriptedStream, Step};
use tracing::Level;

use self::support::{Call, Fault, log::Log, rules};

type Lines = ScriptedStream<&'static str>;

fn stream(lines: &'static [&'static str], fault: Option<Fault>) -> Step<Lines> {
    Step::answer_with(move || {
        let (handle, stream) = Lines::pair();
        lines.iter().copied().for_each(|line| handle.send(line));
        if let Some(fault) = fault {
            handle.fail(fault);
        }
        stream
    })
}

/// One call over these streams, with these answers to its probes.
async fn call(policy: StreamPolicyBuilder, streams: Vec<Step<Lines>>, probes: Vec<Step<Health>>) {
    let items = ItemRules::new(|line: &&str| if *line == "." { Sight::Terminal } else { Sight::Content })
        .measured_by(|line| line.len() as u64)
        .broken_by(|error| {
            error.downcast_ref().map_or(tower_recovery::Verdict::unrecognised(), |fault: &Fault| fault.verdict())
        });
    let whole = tower_recovery::stream_replacement::Whole::up_to(1 << 20);
    let layer = StreamReplacementLayer::new(policy.build().unwrap(), rules(), items, whole)
        .named("completions")
        .health_probe(ScriptedService::new(probes));
    let peer = ScriptedService::<Call, Lines>::new(streams);
    let _ = layer.layer(peer).oneshot(Call::write()).await;
}

fn replacing() -> StreamPolicyBuilder {
    StreamPolicy::builder(StreamMode::RetryOnHealthyProbe)
}

/// The one line with this message, on the route and of the method of all these tests.
#[track_caller]
fn line(log: &Log, message: &str, level: Level) -> support::log::Line {
    let lines = log.lines(message);
    assert_eq!(lines.len(), 1, "{message}");
    assert_eq!((lines[0].level, lines[0].field("route"), lines[0].field("method")), (level, "completions", "commit"));
    lines[0].clone()
}

#[tokio::test(start_paused = true)]
async fn a_replaced_drop_is_a_warning_with_its_reason() {
    let log = Log::collect();
    call(replacing(), vec![stream(&["ab"], Some(Fault::Lost)), stream(&["c", "."], None)], vec![]).await;

    let replacing = line(&log, "Replacing a stream.", Level::WARN);
    assert_eq!(replacing.field("basis"), "retryable transport failure");
    assert_eq!((replacing.field("attempt"), replacing.field("duplicate_server_work_possible")), ("1", "true"));
    assert!(replacing.field("pause").ends_with('s'));
    let failed = line(&log, "An attempt of a stream failed.", Level::INFO);
    assert_eq!((failed.field("delivery"), failed.field("items"), failed.field("bytes")), ("maybe sent", "1", "2"));
    assert_eq!(failed.field("cause"), "the socket was closed before the answer came");
    let complete = line(&log, "A stream is complete.", Level::DEBUG);
    assert_eq!((complete.field("attempt"), complete.field("items"), complete.field("bytes")), ("2", "2", "2"));
    let begins = log.lines("An attempt of a stream begins.");
    let attempts: Vec<_> =
        begins.iter().map(|line| (line.level, line.field("attempt"), line.field("silenced"))).collect();
    assert_eq!(attempts, [(Level::DEBUG, "1", "false"), (Level::DEBUG, "2", "false")]);
}

#[tokio::test(start_paused = true)]
async fn a_silence_is_told_from_its_first_wait_to_its_end() {
    let log = Log::collect();
    let policy = replacing().idle(std::time::Duration::from_secs(150)).max_replacements(0);
    let probes = vec![Step::fail("no answer"), Step::answer(Health::Healthy)];
    call(policy, vec![stream(&["a"], None)], probes).await;

    assert_eq!(line(&log, "A stream is alive.", Level::DEBUG).field("items"), "1");
    let waiting = log.lines("Waiting for a stream.");
    assert_eq!((waiting[0].level, waiting[0].field("silent_for")), (Level::INFO, "120s"));
    let probing = log.lines("A stream is silent: probing its route.");
    let rounds: Vec<_> = probing.iter().map(|line| (line.level, line.field("round"))).collect();
    assert_eq!(rounds, [(Level::INFO, "1"), (Level::INFO, "2")]);
    assert_eq!(line(&log, "The route of a silent stream gave no answer.", Level::WARN).field("cause"), "no answer");
    line(&log, "The route of a silent stream works.", Level::INFO);
    line(&log, "A silent stream is waited for a last time.", Level::INFO);
    let abandoned = line(&log, "A silent attempt of a stream is given up.", Level::INFO);
    assert_eq!((abandoned.field("items"), abandoned.field("bytes")), ("1", "1"));
    assert_eq!(line(&log, "The replacements of a stream are spent.", Level::WARN).field("attempts"), "1");
    assert!(log.lines("Replacing a stream.").is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_unreachable_route_is_a_warning() {
    let log = Log::collect();
    call(replacing(), vec![Step::hang()], vec![Step::answer(Health::Refused)]).await;
    assert_eq!(log.lines("The route of a silent stream gave no answer.").len(), 3);
    assert_eq!(line(&log, "The route of a silent stream is unreachable.", Level::WARN).field("attempts"), "1");
}

#[tokio::test(start_paused = true)]
async fn what_is_left_alone_and_what_is_not_needed_any_more_have_lines_of_their_own() {
    let log = Log::collect();
    let policy = StreamPolicy::builder(StreamMode::Preserve).idle(std::time::Duration::from_secs(100));
    let late = stream(&["."], None).delayed(std::time::Duration::from_secs(500));
    call(policy, vec![late], vec![Step::answer(Health::Healthy), Step::hang()]).await;
    assert_eq!(line(&log, "A silent stream is left alone.", Level::INFO).field("reason"), "the policy preserves it");

    let late = stream(&["."], None).delayed(std::time::Duration::from_secs(120));
    call(replacing().idle(std::time::Duration::from_secs(100)), vec![late], vec![Step::hang()]).await;
    line(&log, "A probe is not needed any more.", Level::DEBUG);
}
