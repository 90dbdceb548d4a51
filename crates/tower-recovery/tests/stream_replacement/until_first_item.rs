//! `UntilFirstItem`: handed out as it comes, and replaced only before.

use futures_util::{StreamExt, TryStreamExt};
use tower::ServiceExt;
use tower_recovery::stream_replacement::{Marked, MarkedItem, Resumed, StreamBroken, StreamEnd, UntilFirstItem};

use super::{
    resumed::ByCount,
    support::{Call, Fault},
    world::{
        Driven, Head, Line, breaks, fault, fed, gives, gives_under, healthy, over, peer, seconds, stalls, watching,
        whole,
    },
};

#[tokio::test(start_paused = true)]
async fn the_call_ends_with_the_first_item_and_not_with_a_sign_of_life() {
    let ([lines], peer) = fed();
    let mut call = Driven::new(over(watching(UntilFirstItem), peer).oneshot(Call::write()));
    call.waits();
    for sign in ["", ".."] {
        lines.send(sign);
        call.waits();
    }
    lines.send("a");
    let answer = call.output().unwrap();
    assert_eq!(answer.head, Head::OK);
    let mut items = Driven::new(answer.items);
    assert_eq!(items.next().unwrap().unwrap(), "a");
    items.is_silent();
    lines.send("");
    items.is_silent();
    lines.send("b");
    assert_eq!(items.next().unwrap().unwrap(), "b");
    items.is_silent();
    lines.send(".");
    assert_eq!(items.next().unwrap().unwrap(), ".");
    assert!(lines.is_dropped());
    for _ in 0..3 {
        assert!(items.next().is_none(), "it is fused");
    }
}

#[tokio::test(start_paused = true)]
async fn what_comes_before_the_first_item_is_replaced() {
    let before = [fault(Fault::Lost), breaks(&[], Fault::Lost), breaks(&["", ".."], Fault::Lost), gives(&["", ".."])];
    for before in before {
        let peer = peer([before, gives_under(Head::REST, &["a", "."])]);
        let answer = over(watching(UntilFirstItem), peer.clone()).oneshot(Call::write()).await.unwrap();
        assert_eq!((answer.head, answer.report.attempts), (Head::REST, 2), "head and items are of one attempt");
        let discarded = &answer.report.discarded[0];
        assert_eq!((discarded.attempt, discarded.items, discarded.bytes), (1, 0, 0));
        assert_eq!(answer.items.try_collect::<Vec<_>>().await.unwrap(), ["a", "."]);
        assert_eq!(peer.calls(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn what_breaks_after_the_first_item_is_the_readers_to_know() {
    for (after, end) in [
        (breaks(&["a"], Fault::Lost), StreamEnd::Dropped),
        (gives(&["a"]), StreamEnd::Incomplete),
        (stalls(&["a"]), StreamEnd::Silent),
    ] {
        let peer = peer([after, gives(&["b", "."])]);
        let layer = watching(UntilFirstItem).health_probe(healthy());
        let mut items = over(layer, peer.clone()).oneshot(Call::write()).await.unwrap().items.boxed();
        assert_eq!(items.next().await.unwrap().unwrap(), "a");
        let failure = items.next().await.unwrap().unwrap_err();
        let broken: &StreamBroken = failure.find().unwrap();
        assert_eq!((broken.reason, broken.report.attempts), (end, 1));
        assert_eq!(broken.take_partial::<Line>(), None, "it was handed out");
        assert!(!failure.is_exhausted(), "{end:?}: a replacement is left, and does not fit");
        assert_eq!(failure.gave_up(), None);
        for _ in 0..2 {
            assert!(items.next().await.is_none(), "it is over");
        }
        assert_eq!(peer.calls(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn the_report_of_the_stream_is_that_of_its_call() {
    let peer = peer([fault(Fault::Lost), gives(&["a", "."])]);
    let answer = over(watching(UntilFirstItem), peer).oneshot(Call::write()).await.unwrap();
    assert_eq!(answer.items.report(), answer.report);
    assert_eq!(answer.report.attempts, 2);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_complete_without_an_item_is_one() {
    let promised = Head { length: Some(0), ..Head::OK };
    for lines in [&[][..], &["", ".."]] {
        let peer = peer([gives_under(promised, lines)]);
        let answer = over(watching(UntilFirstItem), peer).oneshot(Call::write()).await.unwrap();
        assert_eq!(answer.head, promised);
        assert_eq!(answer.items.try_collect::<Vec<_>>().await.unwrap(), [""; 0]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_verdict_as_the_first_item_is_handed_out_and_is_all() {
    let peer = peer([gives(&["!overloaded", "a"]), gives(&["."])]);
    let answer = over(watching(UntilFirstItem), peer.clone()).oneshot(Call::write()).await.unwrap();
    assert_eq!(answer.items.try_collect::<Vec<_>>().await.unwrap(), ["!overloaded"]);
    assert_eq!(peer.calls(), 1);
}

/// The reader takes its time between two items: that is no silence of the stream.
#[tokio::test(start_paused = true)]
async fn a_reader_that_is_slow_makes_no_stream_silent() {
    let ([lines], peer) = fed();
    lines.send("a");
    let answer = over(watching(UntilFirstItem).health_probe(healthy()), peer).oneshot(Call::write()).await.unwrap();
    let mut items = Driven::new(answer.items);
    items.next().unwrap().unwrap();
    tokio::time::advance(seconds(10_000)).await;
    lines.send("b");
    assert_eq!(items.next().unwrap().unwrap(), "b");
    tokio::time::advance(seconds(10_000)).await;
    items.is_silent();
    items.is_silent_for(seconds(899)).await;
    lines.send(".");
    assert_eq!(items.next().unwrap().unwrap(), ".");
}

/// Of a text and the value that refers to it.
fn size(line: Line) -> usize {
    line.len() + size_of::<Line>()
}

/// A preamble that counts so much.
fn preamble_of(size: usize) -> Line {
    "~".repeat(size - size_of::<Line>()).leak()
}

#[tokio::test(start_paused = true)]
async fn a_preamble_is_held_back_until_the_first_item() {
    for first in ["a", ".", "!overloaded"] {
        let ([lines], peer) = fed();
        let mut call = Driven::new(over(watching(UntilFirstItem), peer).oneshot(Call::write()));
        call.waits();
        for line in ["~id", "", "~role"] {
            lines.send(line);
            call.waits();
        }
        lines.send(first);
        let mut items = Driven::new(call.output().unwrap().items);
        for line in ["~id", "~role", first] {
            assert_eq!(items.next().unwrap().unwrap(), line, "they are there, and in order");
        }
        if first == "a" {
            items.is_silent();
            lines.send("~late");
            assert_eq!(items.next().unwrap().unwrap(), "~late", "after it, it is an item like any other");
            lines.send(".");
            items.next().unwrap().unwrap();
        }
        assert!(items.next().is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn a_preamble_is_thrown_away_with_its_attempt() {
    for before in [breaks(&["~1", "~2"], Fault::Lost), gives(&["~1", "~2"]), stalls(&["~1", "~2"])] {
        let peer = peer([before, gives_under(Head::REST, &["~3", "a", "."])]);
        let layer = watching(UntilFirstItem).health_probe(healthy());
        let answer = over(layer, peer.clone()).oneshot(Call::write()).await.unwrap();
        assert_eq!((answer.head, peer.calls()), (Head::REST, 2));
        let discarded = &answer.report.discarded[0];
        assert_eq!((discarded.items, discarded.bytes), (2, 4));
        assert_eq!(answer.items.try_collect::<Vec<_>>().await.unwrap(), ["~3", "a", "."]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_preamble_that_is_not_replaced_any_more_ends_in_a_failure_alone() {
    let failed = over(watching(UntilFirstItem), peer([breaks(&["~1"], Fault::Lost)])).oneshot(Call::write()).await;
    let failure = failed.unwrap_err();
    assert_eq!(failure.find::<StreamBroken>().unwrap().report.attempts, 2);
    assert!(failure.is_exhausted());
}

#[tokio::test(start_paused = true)]
async fn a_stream_of_nothing_but_a_preamble_that_is_complete_is_handed_out() {
    let promised = Head { length: Some(2), ..Head::OK };
    let peer = peer([gives_under(promised, &["~1", "~2"])]);
    let answer = over(watching(UntilFirstItem), peer.clone()).oneshot(Call::write()).await.unwrap();
    assert_eq!((answer.head, answer.report.attempts), (promised, 1));
    assert_eq!(answer.items.try_collect::<Vec<_>>().await.unwrap(), ["~1", "~2"]);
    assert_eq!(peer.calls(), 1);
}

/// Many of them, whose values are most of what is held, and two that are long.
#[tokio::test(start_paused = true)]
async fn a_preamble_of_more_than_64_kib_is_the_first_item() {
    const LIMIT: usize = 64 << 10;
    let many = vec!["~"; LIMIT / size("~")];
    for within in [many, vec![preamble_of(LIMIT / 2); 2]] {
        assert!(within.iter().map(|line| size(line)).sum::<usize>() + size("~") > LIMIT);
        for breaks_it in [false, true] {
            let ([lines, _second], peer) = fed();
            let mut call = Driven::new(over(watching(UntilFirstItem), peer.clone()).oneshot(Call::write()));
            call.waits();
            for line in &within {
                lines.send(line);
                call.waits();
            }
            if breaks_it {
                lines.fail(Fault::Lost);
                call.waits();
                call.waits_for(seconds(6)).await;
                assert_eq!(peer.calls(), 2, "it is held back, and commits to nothing");
                continue;
            }
            lines.send("~");
            let mut items = Driven::new(call.output().unwrap().items);
            for line in within.iter().chain(&["~"]) {
                assert_eq!(items.next().unwrap().unwrap(), *line);
            }
            items.is_silent();
            lines.fail(Fault::Lost);
            let failure = items.next().unwrap().unwrap_err();
            assert_eq!(
                failure.find::<StreamBroken>().unwrap().report.attempts,
                1,
                "what was handed out is not replaced"
            );
            assert_eq!((peer.calls(), failure.gave_up()), (1, None));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn with_any_other_admission_a_preamble_is_an_item_like_any_other() {
    let lines = || peer([stalls(&["~1"])]);
    let resumed = over(watching(Resumed::by(ByCount::default())), lines()).oneshot(Call::write()).await.unwrap();
    assert_eq!(resumed.items.boxed().next().await.unwrap().unwrap(), "~1");
    let marked = over(watching(Marked), lines()).oneshot(Call::write()).await.unwrap();
    let MarkedItem::Item(item) = marked.items.boxed().next().await.unwrap().unwrap() else { panic!() };
    assert_eq!(item, "~1");
    let peer = peer([breaks(&["~1"], Fault::Lost), gives(&["~2", "."])]);
    assert_eq!(over(watching(whole()), peer).oneshot(Call::write()).await.unwrap().items, ["~2", "."]);
}
