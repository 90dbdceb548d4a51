//! What each mode does, and what makes no difference to any: the rows of the table.

use futures_util::{StreamExt, TryStreamExt};
use tokio::time::Instant;
use tower::ServiceExt;
use tower_recovery::{
    StreamMode, StreamPolicy,
    stream_replacement::{Marked, MarkedItem, StreamBroken, StreamEnd, UntilFirstItem, Whole, WholeTooLong},
};
use tower_recovery_test::Step;

use super::{
    support::{Call, Fault, rules},
    world::{
        Answer, Driven, Head, Layered, Line, Seen, breaks, fault, fed, gives, gives_under, healthy, over, peer, prober,
        seconds, stalls, under, watching, whole,
    },
};

fn preserving<Admission>(admission: Admission) -> Layered<Admission> {
    under(StreamPolicy::builder(StreamMode::Preserve), admission)
}

fn disabled<Admission>(admission: Admission) -> Layered<Admission> {
    under(StreamPolicy::builder(StreamMode::Disabled), admission)
}

/// What a peer does to its first attempt, and how the stream ends then.
fn breaking() -> [(Step<Answer>, StreamEnd); 4] {
    [
        (fault(Fault::Lost), StreamEnd::Dropped),
        (breaks(&[], Fault::Lost), StreamEnd::Dropped),
        (breaks(&["a"], Fault::Lost), StreamEnd::Dropped),
        (gives(&["a"]), StreamEnd::Incomplete),
    ]
}

#[tokio::test(start_paused = true)]
async fn what_broke_is_replaced() {
    for (broken, _) in breaking() {
        let peer = peer([broken, gives(&["."])]);
        let answer = over(watching(whole()), peer.clone()).oneshot(Call::write()).await.unwrap();
        assert_eq!((answer.items, peer.calls()), (vec!["."], 2));
    }
}

#[tokio::test(start_paused = true)]
async fn the_mode_preserve_replaces_nothing_that_broke_and_says_what_happened() {
    for (broken, end) in breaking().into_iter().skip(1) {
        let peer = peer([broken, gives(&["."])]);
        let failure = over(preserving(whole()), peer.clone()).oneshot(Call::write()).await.unwrap_err();
        let broken: &StreamBroken = failure.find().unwrap();
        assert_eq!((broken.reason, broken.report.attempts, peer.calls()), (end, 1, 1));
        assert!(!failure.is_exhausted());
    }
}

#[tokio::test(start_paused = true)]
async fn a_first_attempt_that_fails_before_its_head_goes_out_as_it_is() {
    for layer in [preserving(whole()), disabled(whole()), watching(whole())] {
        let peer = peer([fault(Fault::Lost)]);
        let failure = match over(layer, peer).oneshot(Call::write()).await {
            Err(failure) if failure.attempts() == 1 => failure,
            outcome => {
                assert_eq!(outcome.unwrap_err().attempts(), 2, "it was replaced");
                continue;
            }
        };
        assert_eq!((failure.verdict(), failure.find()), (Fault::Lost.verdict(), Some(&Fault::Lost)));
        assert!(failure.find::<StreamBroken>().is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn the_mode_disabled_leaves_everything_as_it_comes() {
    let peer = peer([breaks(&["", "..", "a", "!no", ".", "b"], Fault::Lost), gives(&["a", ""])]);
    let seen = Seen::default();
    let stack = over(disabled(Marked).observer(seen.observer()).health_probe(prober([])), peer.clone());
    let mut items = stack.clone().oneshot(Call::write()).await.unwrap().items.boxed();
    for line in ["", "..", "a", "!no", ".", "b"] {
        assert_eq!(items.next().await.unwrap().unwrap(), MarkedItem::Item(line));
    }
    let failure = items.next().await.unwrap().unwrap_err();
    assert!(failure.find::<StreamBroken>().is_none());
    assert_eq!(failure.cause().unwrap().downcast_ref(), Some(&Fault::Lost));
    assert!(items.next().await.is_none());

    let items: Vec<_> = stack.oneshot(Call::write()).await.unwrap().items.try_collect().await.unwrap();
    assert_eq!(items.len(), 2, "a clean end is the end");
    assert_eq!(seen.take(), []);
}

/// There is no runtime here: a timer would panic.
#[test]
fn the_mode_disabled_waits_for_ever_and_arms_no_timer() {
    let ([lines], peer) = fed();
    let mut call = Driven::new(over(disabled(UntilFirstItem).health_probe(prober([])), peer).oneshot(Call::write()));
    let mut items = Driven::new(call.output().expect("it ends with the head").items);
    items.is_silent();
    lines.send("");
    assert_eq!(items.next().unwrap().unwrap(), "");
    items.is_silent();
}

#[test]
fn a_stream_that_is_not_waited_for_arms_no_timer() {
    let mut call = Driven::new(over(watching(whole()), peer([gives(&["a", "."])])).oneshot(Call::write()));
    assert_eq!(call.output().unwrap().items, ["a", "."]);
}

#[tokio::test(start_paused = true)]
async fn a_request_of_the_mode_disabled_or_preserve_is_not_copied() {
    fn never(_: &Call) -> Option<Call> {
        panic!("nobody needs a copy")
    }
    for mode in [StreamMode::Disabled, StreamMode::Preserve] {
        let policy = StreamPolicy::builder(mode).build().unwrap();
        let rules = rules().copied_by(never);
        let layer = tower_recovery::StreamReplacementLayer::new(policy, rules, super::world::Lines::default(), whole());
        let classified =
            tower_recovery::classify::ClassifyService::new(peer([gives(&["."])]), super::support::Protocol);
        tower::Layer::layer(&layer, classified).oneshot(Call::write()).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn the_mode_preserve_probes_a_silence_and_waits_on() {
    let ([lines], peer) = fed();
    let probe = healthy();
    let mut call = Driven::new(over(preserving(whole()).health_probe(probe.clone()), peer).oneshot(Call::write()));
    call.waits();
    call.waits_for(seconds(100_000)).await;
    assert!(probe.calls() > 10);
    lines.send(".");
    assert_eq!(call.output().unwrap().items, ["."]);
}

#[tokio::test(start_paused = true)]
async fn three_probes_without_an_answer_end_a_stream_of_either_mode() {
    for layer in [preserving(whole()), watching(whole())] {
        let probe = prober([Step::fail("no answer")]);
        let peer = peer([stalls(&["a"]), gives(&["."])]);
        let started = Instant::now();
        let failure = over(layer.health_probe(probe.clone()), peer.clone()).oneshot(Call::write()).await.unwrap_err();
        let broken: &StreamBroken = failure.find().unwrap();
        assert_eq!((broken.reason, probe.calls(), peer.calls()), (StreamEnd::Unreachable, 3, 1));
        assert_eq!(broken.take_partial::<Line>(), Some(vec!["a"]));
        assert_eq!(started.elapsed().as_secs(), 900 + 300 + 600);
        assert!(!failure.is_exhausted(), "a replacement is left");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_a_verdict_goes_out_as_it_is_in_every_mode() {
    for layer in [watching(UntilFirstItem), preserving(UntilFirstItem), disabled(UntilFirstItem)] {
        let seen = Seen::default();
        let layer = layer.observer(seen.observer()).health_probe(prober([]));
        let refusal = Head::of(503);
        let peer = peer([gives_under(refusal, &["overloaded", ""]), gives(&["."])]);
        let answer = over(layer, peer.clone()).oneshot(Call::write()).await.unwrap();
        assert_eq!((answer.head, peer.calls()), (refusal, 1));
        assert_eq!(answer.items.try_collect::<Vec<_>>().await.unwrap(), ["overloaded", ""]);
        assert_eq!(peer.calls(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_a_verdict_is_handed_out_before_its_items() {
    let (lines, answer) = super::world::fed_under(Head::of(503));
    let mut call = Driven::new(over(watching(UntilFirstItem), peer([answer])).oneshot(Call::write()));
    let mut items = Driven::new(call.output().unwrap().items);
    items.is_silent();
    items.is_silent_for(seconds(899)).await;
    lines.fail(Fault::Lost);
    let failure = items.next().unwrap().unwrap_err();
    assert!(failure.find::<StreamBroken>().is_none(), "it is not watched");
    assert_eq!(failure.find(), Some(&Fault::Lost));
    assert!(items.next().is_none());
}

#[tokio::test(start_paused = true)]
async fn the_rest_of_an_answer_that_is_a_verdict_is_not_waited_for_for_ever() {
    let (_lines, answer) = super::world::fed_under(Head::of(503));
    let peer = peer([answer]);
    let failure = over(watching(Whole::up_to(1 << 20)), peer.clone()).oneshot(Call::write()).await.unwrap_err();
    assert_eq!(failure.find::<StreamBroken>().unwrap().reason, StreamEnd::Silent);
    assert_eq!((peer.calls(), failure.is_exhausted()), (1, false));
}

#[tokio::test(start_paused = true)]
async fn an_item_that_is_a_verdict_ends_the_stream_in_every_mode_that_watches() {
    for layer in [watching(UntilFirstItem), preserving(UntilFirstItem)] {
        let peer = peer([gives(&["a", "!no", "b"]), gives(&["."])]);
        let answer = over(layer, peer.clone()).oneshot(Call::write()).await.unwrap();
        assert_eq!(answer.items.try_collect::<Vec<_>>().await.unwrap(), ["a", "!no"]);
        assert_eq!(peer.calls(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn the_mode_disabled_says_nothing_of_a_stream_that_is_too_long_to_hold_back() {
    let seen = Seen::default();
    let layer = disabled(Whole::up_to(1)).observer(seen.observer());
    let failure = over(layer, peer([gives(&["a"])])).oneshot(Call::write()).await.unwrap_err();
    assert!(failure.find::<WholeTooLong>().is_some());
    assert_eq!(seen.take(), []);
}
