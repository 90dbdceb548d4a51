//! `Marked`: handed out as it comes, with a word where it begins anew.

use futures_util::StreamExt;
use tower::ServiceExt;
use tower_recovery::{
    Failure,
    stream_replacement::{Marked, MarkedItem, Restarted, StreamBroken, StreamEnd},
};

use super::{
    support::{Call, Fault},
    world::{
        Driven, Head, Line, breaks, fault, fed, gives, gives_under, healthy, over, peer, replacing, seconds, stalls,
        under, watching,
    },
};

type Next = Option<Result<MarkedItem<Head, Line>, Failure>>;

#[track_caller]
fn item(next: Next) -> Line {
    match next.unwrap().unwrap() {
        MarkedItem::Item(line) => line,
        MarkedItem::Restarted(restarted) => panic!("{restarted:?}"),
    }
}

#[track_caller]
fn restarted(next: Next) -> Restarted<Head> {
    match next.unwrap().unwrap() {
        MarkedItem::Restarted(restarted) => restarted,
        MarkedItem::Item(line) => panic!("{line}"),
    }
}

#[tokio::test(start_paused = true)]
async fn the_call_ends_with_the_head() {
    let ([lines], peer) = fed();
    let answer = over(watching(Marked), peer).oneshot(Call::write()).await.unwrap();
    assert_eq!((answer.head, answer.report.attempts), (Head::OK, 1));
    let mut items = Driven::new(answer.items);
    items.is_silent();
    for sign in ["", ".."] {
        lines.send(sign);
        items.is_silent();
    }
    lines.send("a");
    lines.send(".");
    assert_eq!((item(items.next()), item(items.next())), ("a", "."));
    for _ in 0..3 {
        assert!(items.next().is_none(), "it is fused");
    }
}

#[tokio::test(start_paused = true)]
async fn a_mark_stands_where_everything_before_is_to_be_discarded() {
    for broken in [breaks(&["a", "b"], Fault::Lost), gives(&["a", "b"]), stalls(&["a", "b"])] {
        let peer = peer([broken, gives_under(Head::REST, &["c", "."])]);
        let layer = watching(Marked).health_probe(healthy());
        let answer = over(layer, peer).oneshot(Call::write()).await.unwrap();
        assert_eq!(answer.head, Head::OK);
        let mut items = answer.items.boxed();
        assert_eq!(item(items.next().await), "a");
        assert_eq!(item(items.next().await), "b");
        let mark = restarted(items.next().await);
        assert_eq!((mark.head, mark.report.attempts), (Head::REST, 2));
        assert_eq!((mark.report.discarded[0].items, mark.report.discarded[0].bytes), (2, 2));
        assert_eq!(item(items.next().await), "c");
        assert_eq!(item(items.next().await), ".");
        assert!(items.next().await.is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_gave_nothing_is_marked_as_well() {
    let peer = peer([breaks(&[], Fault::Lost), fault(Fault::Lost), gives(&["a", "."])]);
    let layer = under(replacing().max_replacements(2), Marked);
    let mut items = over(layer, peer).oneshot(Call::write()).await.unwrap().items.boxed();
    let mark = restarted(items.next().await);
    assert_eq!((mark.report.attempts, mark.report.discarded.len()), (3, 2), "an attempt without a head has no mark");
    assert_eq!(item(items.next().await), "a");
}

#[tokio::test(start_paused = true)]
async fn what_fails_before_the_first_head_is_replaced_within_the_call() {
    let peer = peer([fault(Fault::Lost), gives_under(Head::REST, &["a", "."])]);
    let answer = over(watching(Marked), peer).oneshot(Call::write()).await.unwrap();
    assert_eq!((answer.head, answer.report.attempts), (Head::REST, 2));
    assert_eq!(item(answer.items.boxed().next().await), "a", "there is no mark before the first head");
}

#[tokio::test(start_paused = true)]
async fn the_report_goes_on_with_the_stream() {
    let ([first, second], peer) = fed();
    let answer = over(watching(Marked), peer).oneshot(Call::write()).await.unwrap();
    let mut items = Box::pin(answer.items);
    first.send("a");
    items.next().await.unwrap().unwrap();
    assert_eq!((items.report().attempts, items.report().discarded.len()), (1, 0));
    first.fail(Fault::Lost);
    items.next().await.unwrap().unwrap();
    assert_eq!((items.report().attempts, items.report().discarded.len()), (2, 1));
    second.send(".");
    items.next().await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_stream_whose_replacements_are_spent_ends_with_the_account() {
    let peer = peer([breaks(&["a"], Fault::Lost), breaks(&["b"], Fault::Lost), gives(&["."])]);
    let mut items = over(watching(Marked), peer.clone()).oneshot(Call::write()).await.unwrap().items.boxed();
    assert_eq!(item(items.next().await), "a");
    restarted(items.next().await);
    assert_eq!(item(items.next().await), "b");
    let failure = items.next().await.unwrap().unwrap_err();
    let broken: &StreamBroken = failure.find().unwrap();
    assert_eq!((broken.reason, broken.report.attempts, failure.attempts()), (StreamEnd::Dropped, 2, 2));
    assert!(failure.is_exhausted());
    for _ in 0..2 {
        assert!(items.next().await.is_none());
    }
    assert_eq!(peer.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_old_attempt_is_closed_before_the_next_and_its_late_items_are_lost() {
    let ([first, second], peer) = fed();
    let layer = watching(Marked).health_probe(healthy());
    let mut items = Driven::new(over(layer, peer.clone()).oneshot(Call::write()).await.unwrap().items);
    first.send("a");
    assert_eq!(item(items.next()), "a");
    items.is_silent();
    items.is_silent_for(seconds(900 + 60)).await;
    assert_eq!((first.is_dropped(), peer.calls()), (true, 1));
    first.send("late");
    second.send("b");
    items.is_silent_for(seconds(2)).await;
    assert_eq!(restarted(items.next_within(seconds(4)).await).report.attempts, 2);
    assert_eq!(item(items.next()), "b");
}
