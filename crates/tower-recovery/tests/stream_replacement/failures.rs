//! What a failure must be for its attempt to be replaced, and what goes out where it is not.

use std::{error::Error, time::Duration};

use futures_util::StreamExt;
use tower::{ServiceBuilder, ServiceExt};
use tower_recovery::{
    CallTiming, ClassifyLayer, Delivery, Failure, GiveUp, ReadOnlyRetryLayer, SendSideOnly, ShareBudget, Verdict,
    stream_replacement::{Marked, StreamBroken, StreamEnd, UntilFirstItem},
};
use tower_recovery_test::Step;

use super::{
    support::{Call, Fault, Protocol, ample, attempts, rules},
    world::{Peer, breaks, fault, gives, healthy, over, peer, replacing, stalls, under, watching, whole},
};

/// Whether an attempt that fails with it is replaced.
fn is_replaced(fault: Fault) -> bool {
    let verdict = fault.verdict();
    !verdict.is_permanent() && verdict.delivery().is_some_and(|delivery| delivery != Delivery::Answered)
}

#[tokio::test(start_paused = true)]
async fn what_is_final_goes_out_untouched_before_the_head() {
    for cause in Fault::ALL {
        let peer = peer([fault(cause), gives(&["."])]);
        let outcome = over(watching(whole()), peer.clone()).oneshot(Call::write()).await;
        if is_replaced(cause) {
            assert_eq!((outcome.unwrap().report.attempts, peer.calls()), (2, 2), "{cause:?}");
            continue;
        }
        let failure = outcome.unwrap_err();
        assert_eq!((failure.verdict(), failure.attempts(), peer.calls()), (cause.verdict(), 1, 1), "{cause:?}");
        assert_eq!(failure.cause().unwrap().downcast_ref(), Some(&cause));
        assert_eq!(failure.gave_up(), None);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_final_ends_a_stream_in_the_middle() {
    for cause in Fault::ALL {
        let peer = peer([breaks(&["a"], cause), gives(&["."])]);
        let outcome = over(watching(whole()), peer.clone()).oneshot(Call::write()).await;
        if is_replaced(cause) {
            assert_eq!(outcome.unwrap().report.attempts, 2, "{cause:?}");
            continue;
        }
        let failure = outcome.unwrap_err();
        assert_eq!((failure.attempts(), failure.find(), peer.calls()), (1, Some(&cause), 1));
        let is_the_transports = cause.verdict().delivery().is_some_and(|delivery| delivery != Delivery::Answered);
        assert_eq!(failure.find::<StreamBroken>().is_some(), is_the_transports, "{cause:?}");
        if !is_the_transports {
            assert_eq!(failure.verdict(), cause.verdict());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_of_the_stream_that_says_itself_what_it_proves_is_believed() {
    let proven = || Failure::new(Verdict::answered(), Fault::Lost);
    let (lines, answer) = super::world::fed_under(super::world::Head::OK);
    lines.fail(proven());
    let failure = over(watching(whole()), peer([answer])).oneshot(Call::write()).await.unwrap_err();
    assert_eq!(failure.verdict(), Verdict::answered(), "the rules would take it for a lost connection");
}

/// The recommended stack: what provably did not execute is repeated below.
fn retried(
    peer: &Peer,
    retry: ReadOnlyRetryLayer<SendSideOnly<tower_recovery::NamedRules<Call>>>,
) -> impl tower::Service<
    Call,
    Response = tower_recovery::stream_replacement::WholeStream<super::world::Head, super::world::Line>,
    Error = Failure,
> + Clone {
    ServiceBuilder::new()
        .layer(watching(whole()))
        .layer(retry)
        .layer(ClassifyLayer::new(Protocol))
        .service(peer.clone())
}

fn send_side_only() -> ReadOnlyRetryLayer<SendSideOnly<tower_recovery::NamedRules<Call>>> {
    ReadOnlyRetryLayer::new(SendSideOnly::new(rules())).timing(attempts(3)).budget(ample())
}

#[tokio::test(start_paused = true)]
async fn what_is_repeated_below_spends_no_replacement() {
    let refused = || fault(Fault::ConnectionRefused);
    let peer = peer([refused(), refused(), fault(Fault::Lost), refused(), gives(&["."])]);
    let answer = retried(&peer, send_side_only()).oneshot(Call::write()).await.unwrap();
    assert_eq!((answer.report.attempts, peer.calls()), (2, 5), "two of this layer's");
}

#[tokio::test(start_paused = true)]
async fn attempts_that_were_spent_below_without_executing_are_one_failed_attempt() {
    let refused = || fault(Fault::ConnectionRefused);
    let peer = peer([refused(), refused(), refused(), gives(&["."])]);
    let answer = retried(&peer, send_side_only()).oneshot(Call::write()).await.unwrap();
    assert_eq!((answer.report.attempts, peer.calls()), (2, 4));
}

#[tokio::test(start_paused = true)]
async fn a_budget_or_a_deadline_that_was_spent_below_ends_it() {
    let broke = ShareBudget::builder().reserve(0).build().unwrap();
    let hasty = CallTiming::builder().attempts(3).deadline(Duration::from_millis(40)).build().unwrap();
    let spent = [(send_side_only().budget(broke), GiveUp::Budget), (send_side_only().timing(hasty), GiveUp::Deadline)];
    for (retry, reason) in spent {
        let peer = peer([fault(Fault::NotWritten), gives(&["."])]);
        let failure = retried(&peer, retry).oneshot(Call::write()).await.unwrap_err();
        assert_eq!((failure.gave_up(), peer.calls()), (Some(reason), 1));
        assert_eq!((failure.verdict(), failure.is_exhausted()), (Fault::NotWritten.verdict(), true));
    }
}

#[tokio::test(start_paused = true)]
async fn attempts_that_were_spent_below_and_may_have_executed_end_it() {
    let peer = peer([fault(Fault::Lost), fault(Fault::Lost), gives(&["."])]);
    let stack = ServiceBuilder::new()
        .layer(watching(whole()))
        // Not as a stream route has it: this one repeats reads.
        .layer(ReadOnlyRetryLayer::new(rules()).timing(attempts(2)).budget(ample()))
        .layer(ClassifyLayer::new(Protocol))
        .service(peer.clone());
    let failure = stack.oneshot(Call::read()).await.unwrap_err();
    assert_eq!((failure.gave_up(), peer.calls()), (Some(GiveUp::Attempts), 2));
}

#[tokio::test(start_paused = true)]
async fn a_budget_that_is_spent_is_told_from_every_other_end() {
    for (last, end) in [
        (fault(Fault::Lost), StreamEnd::Dropped),
        (breaks(&["a"], Fault::Lost), StreamEnd::Dropped),
        (gives(&["a"]), StreamEnd::Incomplete),
        (stalls(&["a"]), StreamEnd::Silent),
        (Step::hang(), StreamEnd::Silent),
    ] {
        let peer = peer([breaks(&["b"], Fault::Lost), stalls(&[]), last, gives(&["."])]);
        let layer = under(replacing().max_replacements(2), whole()).health_probe(healthy());
        let failure = over(layer, peer.clone()).oneshot(Call::write()).await.unwrap_err();
        let broken: &StreamBroken = failure.cause().unwrap().downcast_ref().unwrap();
        assert_eq!((broken.reason, broken.report.attempts), (end, 3), "failed and silent ones spend one budget");
        assert_eq!((failure.gave_up(), failure.is_exhausted()), (Some(GiveUp::Attempts), true));
        assert_eq!((failure.attempts(), peer.calls()), (3, 3));
        assert_eq!(failure.delivery(), Some(Delivery::MaybeSent));
    }
}

#[tokio::test(start_paused = true)]
async fn a_final_failure_of_a_later_attempt_goes_out_as_it_is_with_the_attempts() {
    for cause in [Fault::NoSuchFile, Fault::Foreign] {
        let peer = peer([breaks(&["a"], Fault::Lost), fault(cause)]);
        let failure = over(watching(whole()), peer).oneshot(Call::write()).await.unwrap_err();
        assert_eq!((failure.verdict(), failure.attempts()), (cause.verdict(), 2));
        assert_eq!(failure.cause().unwrap().downcast_ref(), Some(&cause));
    }
}

#[tokio::test(start_paused = true)]
async fn a_permanent_failure_of_a_later_attempt_ends_the_stream_with_the_account() {
    let peer = peer([breaks(&["a"], Fault::Lost), fault(Fault::Expired)]);
    let failure = over(watching(whole()), peer).oneshot(Call::write()).await.unwrap_err();
    let broken: &StreamBroken = failure.find().unwrap();
    assert_eq!((broken.reason, broken.report.attempts), (StreamEnd::Dropped, 2));
    assert_eq!(
        (failure.delivery(), failure.is_permanent()),
        (Some(Delivery::MaybeSent), true),
        "the first may have run"
    );
    assert_eq!((failure.is_exhausted(), failure.find()), (false, Some(&Fault::Expired)));
}

#[tokio::test(start_paused = true)]
async fn attempts_of_which_none_was_sent_are_never_sent_together() {
    let peer = peer([fault(Fault::NotWritten), fault(Fault::ConnectionRefused)]);
    let failure = over(watching(whole()), peer).oneshot(Call::write()).await.unwrap_err();
    assert_eq!((failure.delivery(), failure.is_exhausted()), (Some(Delivery::NeverSent), true));
}

#[tokio::test(start_paused = true)]
async fn a_broken_stream_says_so_in_words() {
    let peer = peer([breaks(&["secret"], Fault::Lost), breaks(&["secret"], Fault::Lost)]);
    let failure = over(watching(whole()), peer).oneshot(Call::write()).await.unwrap_err();
    let broken: &StreamBroken = failure.find().unwrap();
    assert_eq!(broken.to_string(), "the stream was dropped (attempt 2)");
    assert!(tower_recovery::sources(broken.source().unwrap()).any(|link| link.is::<Fault>()));
    assert!(!format!("{failure:?} {broken:?}").contains("secret"), "payloads are never printed");
}

/// B85: a stream that yields its error again and again.
#[tokio::test(start_paused = true)]
async fn b85_a_stream_that_fails_for_ever_fails_once_and_is_over() {
    let ([first, second], peer) = super::world::fed();
    first.fail_for_ever(Fault::Lost);
    second.send("a");
    second.fail_for_ever(Fault::Lost);
    let mut items = over(watching(UntilFirstItem), peer.clone()).oneshot(Call::write()).await.unwrap().items.boxed();
    assert_eq!(items.next().await.unwrap().unwrap(), "a");
    assert!(items.next().await.unwrap().is_err());
    for _ in 0..3 {
        assert!(items.next().await.is_none());
    }
    assert_eq!((first.polls(), second.polls(), peer.calls()), (1, 2, 2));
    assert!(first.is_dropped() && second.is_dropped());
}

/// B85: a scripted stream panics when it is polled after its end.
#[tokio::test(start_paused = true)]
async fn b85_a_stream_is_not_polled_after_its_end() {
    for last in [breaks(&["b"], Fault::Lost), gives(&["b"]), gives(&["b", "."])] {
        let peer = peer([breaks(&["a"], Fault::Lost), last]);
        let items = over(watching(Marked), peer).oneshot(Call::write()).await.unwrap().items;
        let mut items = items.boxed();
        while items.next().await.is_some() {}
        for _ in 0..3 {
            assert!(items.next().await.is_none());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_lease_of_what_broke_the_last_attempt_goes_out_with_the_account() {
    let cache = super::support::cache(&super::support::resolver([("a", ())]));
    let lease = cache.acquire().await.unwrap().lease;
    let (first, broken) = super::world::fed_under(super::world::Head::OK);
    first.send("a");
    first.fail(Failure::new(Verdict::maybe_sent(), Fault::Lost).with_lease(lease));
    let failure =
        over(under(replacing().max_replacements(0), whole()), peer([broken])).oneshot(Call::write()).await.unwrap_err();
    assert!(failure.find::<StreamBroken>().is_some());
    assert_eq!(failure.lease().unwrap().identity().to_string(), "a");
}
