//! Responses that refuse: replaced like any failure, and handed out as the answers that they are when nothing more may be tried.

use futures_util::TryStreamExt;
use tower::ServiceExt;
use tower_recovery::{
    Delivery, RecoveryEvent, StreamMode, StreamPolicy,
    stream_replacement::{Marked, MarkedItem, Resumed, StreamBroken, UntilFirstItem},
};

use super::{
    resumed::ByCount,
    support::{Call, Fault},
    world::{Head, Seen, breaks, fault, gives, gives_under, over, peer, replacing, under, watching, whole},
};

/// The classifier takes it for refused.
const MISDIRECTED: Head = Head::of(421);

#[tokio::test(start_paused = true)]
async fn a_refusal_is_replaced_and_nothing_is_said_to_be_done_twice() {
    let seen = Seen::default();
    let peer = peer([gives_under(MISDIRECTED, &["not here"]), gives(&["."])]);
    let answer = over(watching(whole()).observer(seen.observer()), peer).oneshot(Call::counted_read()).await.unwrap();
    assert_eq!((answer.head, answer.report.attempts), (Head::OK, 2));
    let proposed = seen.take().into_iter().find_map(|event| match event {
        RecoveryEvent::RecoveryReplacementProposed { duplicate_server_work_possible, .. } => {
            Some(duplicate_server_work_possible)
        }
        _ => None,
    });
    assert_eq!(proposed, Some(false));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_outlives_the_budget_goes_out_as_the_answer() {
    for first in [gives_under(MISDIRECTED, &["no"]), fault(Fault::Lost), breaks(&["a"], Fault::Lost)] {
        let peer = peer([first, gives_under(MISDIRECTED, &["not here", ""])]);
        let answer = over(watching(whole()), peer.clone()).oneshot(Call::write()).await.unwrap();
        assert_eq!((answer.head, answer.items), (MISDIRECTED, vec!["not here", ""]), "nothing in it is looked at");
        assert_eq!((answer.report.attempts, peer.calls()), (2, 2));
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_goes_out_as_the_answer_of_every_admission() {
    let none = || replacing().max_replacements(0);
    let refusing = || peer([gives_under(MISDIRECTED, &["not here"])]);
    let answer = over(under(none(), UntilFirstItem), refusing()).oneshot(Call::write()).await.unwrap();
    assert_eq!(answer.head, MISDIRECTED);
    assert_eq!(answer.items.try_collect::<Vec<_>>().await.unwrap(), ["not here"]);

    let answer = over(under(none(), Marked), refusing()).oneshot(Call::write()).await.unwrap();
    assert_eq!(answer.head, MISDIRECTED);
    assert_eq!(answer.items.try_collect::<Vec<_>>().await.unwrap(), [MarkedItem::Item("not here")]);

    let resumed = Resumed::by(ByCount::default());
    let answer = over(under(none(), resumed), refusing()).oneshot(Call::write()).await.unwrap();
    assert_eq!(answer.head, MISDIRECTED);
    assert_eq!(answer.items.try_collect::<Vec<_>>().await.unwrap(), ["not here"]);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_goes_out_as_the_answer_of_every_mode() {
    for mode in [StreamMode::Preserve, StreamMode::Disabled] {
        let peer = peer([gives_under(MISDIRECTED, &["not here"])]);
        let answer = over(under(StreamPolicy::builder(mode), whole()), peer).oneshot(Call::write()).await.unwrap();
        assert_eq!((answer.head, answer.items), (MISDIRECTED, vec!["not here"]));
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_in_the_place_of_the_rest_is_not_handed_out() {
    let peer = peer([breaks(&["a"], Fault::Lost), gives_under(MISDIRECTED, &["not here"])]);
    let answer = over(watching(Resumed::by(ByCount::default())), peer).oneshot(Call::write()).await.unwrap();
    let failure = answer.items.try_collect::<Vec<_>>().await.unwrap_err();
    let broken: &StreamBroken = failure.find().unwrap();
    assert_eq!(broken.resume_refused().unwrap().reason, "the status is 421");
    assert_eq!((failure.delivery(), broken.report.attempts), (Some(Delivery::MaybeSent), 2));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_breaks_after_its_verdict_ends_as_it_comes() {
    let peer =
        peer([gives_under(Head::of(503), &["a"]), super::world::breaks_under(Head::of(503), &["a"], Fault::Lost)]);
    let stack = over(watching(whole()), peer.clone());
    assert_eq!(stack.clone().oneshot(Call::write()).await.unwrap().items, ["a"], "any clean end is complete");
    let failure = stack.oneshot(Call::write()).await.unwrap_err();
    assert!(failure.find::<StreamBroken>().is_none());
    assert_eq!((failure.cause().unwrap().downcast_ref(), peer.calls()), (Some(&Fault::Lost), 2));
}
