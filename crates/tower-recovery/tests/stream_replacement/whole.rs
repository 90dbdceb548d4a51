//! `Whole`: handed out when it is complete, one attempt's and bounded.

use tower::ServiceExt;
use tower_recovery::{
    Verdict,
    stream_replacement::{DiscardedAttempt, ReplacementBasis, StreamBroken, StreamEnd, Whole, WholeTooLong},
};
use tower_recovery_test::Step;

use super::{
    support::{Call, Fault},
    world::{
        Driven, Head, Line, Seen, breaks, fault, fed, gives, gives_under, healthy, over, peer, replacing, stalls,
        under, watching, whole,
    },
};

#[tokio::test(start_paused = true)]
async fn the_call_ends_with_the_stream() {
    let ([lines], peer) = fed();
    let mut call = Driven::new(over(watching(whole()), peer).oneshot(Call::write()));
    call.waits();
    for line in ["a", "", "..", "b"] {
        lines.send(line);
        call.waits();
    }
    lines.send(".");
    let answer = call.output().unwrap();
    assert_eq!((answer.head, answer.items), (Head::OK, vec!["a", "b", "."]), "signs of life are no part of it");
    assert_eq!((answer.report.attempts, answer.report.discarded.len()), (1, 0));
    assert!(lines.is_dropped(), "what comes after its last part is not waited for");
}

#[tokio::test(start_paused = true)]
async fn a_promised_length_that_is_met_is_complete_without_a_last_line() {
    let promised = Head { length: Some(2), ..Head::OK };
    let answer =
        over(watching(whole()), peer([gives_under(promised, &["a", "b"])])).oneshot(Call::write()).await.unwrap();
    assert_eq!((answer.head, answer.items), (promised, vec!["a", "b"]));
}

#[tokio::test(start_paused = true)]
async fn each_attempt_is_counted_by_rules_of_its_own() {
    let promised = Head { length: Some(2), ..Head::OK };
    let peer = peer([gives_under(promised, &["a"]), gives_under(promised, &["b", "c"])]);
    let answer = over(watching(whole()), peer).oneshot(Call::write()).await.unwrap();
    assert_eq!(answer.items, ["b", "c"], "a count of three would never be complete");
}

#[tokio::test(start_paused = true)]
async fn nothing_of_an_attempt_that_was_given_up_is_handed_out() {
    for given_up in [breaks(&["a", "", "bc"], Fault::Lost), gives(&["a", "bc"])] {
        let peer = peer([given_up, gives(&["d", "."])]);
        let answer = over(watching(whole()), peer.clone()).oneshot(Call::write()).await.unwrap();
        assert_eq!((answer.items, peer.calls()), (vec!["d", "."], 2));
        let [DiscardedAttempt { attempt, basis, items, bytes, .. }] = answer.report.discarded[..] else { panic!() };
        assert_eq!((answer.report.attempts, attempt, items, bytes), (2, 1, 2, 3));
        assert_eq!(basis, ReplacementBasis::RetryableTransportFailure);
    }
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_fell_silent_is_accounted_for_by_its_basis() {
    let peer = peer([stalls(&["a"]), gives(&["b", "."])]);
    let answer = over(watching(whole()).health_probe(healthy()), peer).oneshot(Call::write()).await.unwrap();
    let [DiscardedAttempt { attempt, basis, items, bytes, .. }] = answer.report.discarded[..] else { panic!() };
    assert_eq!((attempt, items, bytes), (1, 1, 1));
    assert_eq!(basis, ReplacementBasis::HealthySideCallAndNoActivityThroughGrace);
}

/// What these lines take: their bytes, and the size of each value.
fn held(lines: &[Line]) -> usize {
    lines.iter().map(|line| line.len() + size_of::<Line>()).sum()
}

const LINES: &[Line] = &["abc", "de", "."];

#[tokio::test(start_paused = true)]
async fn what_is_held_back_is_bounded_to_the_byte() {
    for (limit, fits) in [(held(LINES) - 1, false), (held(LINES), true), (held(LINES) + 1, true)] {
        let outcome = over(watching(Whole::up_to(limit)), peer([gives(LINES)])).oneshot(Call::write()).await;
        assert_eq!(outcome.is_ok(), fits, "{limit}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_grows_over_the_bound_is_given_up_at_once_and_not_replaced() {
    let ([lines, _], peer) = fed();
    let limit = held(&["abc"]);
    let mut call = Driven::new(over(watching(Whole::up_to(limit)), peer.clone()).oneshot(Call::write()));
    call.waits();
    lines.send("abc");
    lines.send_times("", 10);
    call.waits();
    lines.send("d");
    let failure = call.output().unwrap_err();
    assert_eq!(failure.verdict(), Verdict::answered().permanent());
    assert_eq!((failure.attempts(), failure.is_exhausted()), (1, false));
    let too_long: &WholeTooLong = failure.find().unwrap();
    assert_eq!(too_long.limit, limit);
    assert_eq!(too_long.to_string(), format!("the stream holds more than the {limit} bytes that may be held back"));
    assert!(lines.is_dropped() && peer.calls() == 1);
}

#[tokio::test(start_paused = true)]
async fn many_small_items_are_bounded_by_the_size_of_their_values() {
    let limit = 10 * size_of::<Line>();
    let ([lines], peer) = fed();
    lines.send_times("x", 11);
    lines.send(".");
    let failure = over(watching(Whole::up_to(limit)), peer).oneshot(Call::write()).await.unwrap_err();
    assert!(failure.find::<WholeTooLong>().is_some());
}

#[tokio::test(start_paused = true)]
async fn what_was_given_up_takes_no_room() {
    let peer = peer([breaks(&["abc", "de"], Fault::Lost), gives(LINES)]);
    let stack = over(watching(Whole::up_to(held(LINES))), peer);
    assert_eq!(stack.oneshot(Call::write()).await.unwrap().items, LINES);
}

#[tokio::test(start_paused = true)]
async fn a_complete_stream_that_is_too_long_is_told_of_once() {
    let seen = Seen::default();
    let layer = watching(Whole::up_to(held(&["abc"]))).observer(seen.observer());
    over(layer, peer([gives(&["abc", "."])])).oneshot(Call::write()).await.unwrap_err();
    let ends = seen.take().into_iter().filter(|event| {
        use tower_recovery::RecoveryEvent::{PhysicalAttemptFailed, PhysicalAttemptSucceeded};
        matches!(event, PhysicalAttemptFailed { .. } | PhysicalAttemptSucceeded { .. })
    });
    assert_eq!(ends.count(), 1, "an attempt ends once");
}

#[tokio::test(start_paused = true)]
async fn what_the_last_attempt_gave_can_be_taken_from_the_failure_once() {
    let peer = peer([breaks(&["a"], Fault::Lost), gives(&["b", "c"])]);
    let failure = over(watching(whole()), peer).oneshot(Call::write()).await.unwrap_err();
    let broken: &StreamBroken = failure.find().unwrap();
    assert_eq!((broken.reason, broken.report.attempts), (StreamEnd::Incomplete, 2));
    assert_eq!(broken.take_partial::<String>(), None, "it is of another type");
    assert_eq!(broken.take_partial::<Line>(), Some(vec!["b", "c"]));
    assert_eq!(broken.take_partial::<Line>(), None);
}

#[tokio::test(start_paused = true)]
async fn a_last_attempt_that_gave_nothing_leaves_nothing_of_an_earlier_one() {
    for last in [fault(Fault::Lost), breaks(&[], Fault::Lost), Step::hang()] {
        let peer = peer([breaks(&["a"], Fault::Lost), last]);
        let layer = watching(whole()).health_probe(healthy());
        let failure = over(layer, peer).oneshot(Call::write()).await.unwrap_err();
        assert_eq!(failure.find::<StreamBroken>().unwrap().take_partial::<Line>().unwrap_or_default(), [""; 0]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_verdict_in_the_stream_is_its_last_item_and_nothing_is_replaced() {
    let peer = peer([gives(&["a", "!overloaded", "b"]), gives(&["."])]);
    let answer = over(watching(whole()), peer.clone()).oneshot(Call::write()).await.unwrap();
    assert_eq!((answer.items, peer.calls()), (vec!["a", "!overloaded"], 1));
}

#[tokio::test(start_paused = true)]
async fn a_policy_without_replacements_hands_out_the_break() {
    let peer = peer([breaks(&["a"], Fault::Lost)]);
    let failure = over(under(replacing().max_replacements(0), whole()), peer).oneshot(Call::write()).await.unwrap_err();
    assert!(failure.is_exhausted());
    assert_eq!(failure.find::<StreamBroken>().unwrap().take_partial::<Line>(), Some(vec!["a"]));
}
