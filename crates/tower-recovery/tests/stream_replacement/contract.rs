//! What every layer owes, also to the instances of replacements.

use futures_util::StreamExt;
use tokio::time::advance;
use tower::{Service, ServiceExt, limit::ConcurrencyLimit};
use tower_recovery::{
    Delivery, Failure, NotReady,
    stream_replacement::{Marked, UntilFirstItem},
};
use tower_recovery_test::{Gate, ReadinessProbe, ReadyStep, ScriptedReadiness, Step};

use super::{
    support::{Call, Fault, Reply, contract},
    world::{Driven, Head, Peer, fault, gives, healthy, over, peer, seconds, stalls, watching, whole},
};

fn answering() -> Peer {
    peer([gives(&["a", "."])])
}

/// The same service, with the answers that the contract of all layers knows.
fn replying<Stack>(
    stack: Stack,
) -> impl Service<Call, Response = Reply, Error = Stack::Error, Future: Future<Output = Result<Reply, Stack::Error>>> + Clone
where
    Stack: Service<Call> + Clone,
{
    stack.map_response(|_| Reply::Done("a"))
}

#[tokio::test(start_paused = true)]
async fn request_answer_and_error_pass_untouched() {
    let peer = peer([gives(&["a", "b", "."]), fault(Fault::NoSuchFile)]);
    let mut stack = over(watching(UntilFirstItem), peer.clone());
    let call = Call::counted_read().with_key(7).with_silent(false);

    let answer = stack.ready().await.unwrap().call(call.clone()).await.unwrap();
    assert_eq!((answer.head, answer.report.attempts), (Head::OK, 1));
    let items: Vec<_> = answer.items.map(Result::unwrap).collect().await;
    assert_eq!(items, ["a", "b", "."]);

    let failure = stack.ready().await.unwrap().call(call.clone()).await.map(drop).unwrap_err();
    assert_eq!((failure.verdict(), failure.attempts()), (Fault::NoSuchFile.verdict(), 1));
    assert_eq!(failure.cause().unwrap().downcast_ref(), Some(&Fault::NoSuchFile));
    assert_eq!(peer.requests(), [call.clone(), call]);
}

#[tokio::test(start_paused = true)]
async fn it_calls_only_what_was_readied() {
    let probe = ReadinessProbe::new(answering());
    let counts = probe.counts();
    contract::it_calls_only_what_was_readied(replying(over(watching(whole()), probe)), &counts).await;

    let probe = ReadinessProbe::new(answering());
    let counts = probe.counts();
    contract::it_calls_only_what_was_readied(replying(over(watching(UntilFirstItem), probe)), &counts).await;

    let probe = ReadinessProbe::new(answering());
    let counts = probe.counts();
    contract::it_calls_only_what_was_readied(replying(over(watching(Marked), probe)), &counts).await;
}

#[tokio::test(start_paused = true)]
async fn replacements_are_readied_too_and_leave_no_reservation_behind() {
    let probe = ReadinessProbe::new(peer([fault(Fault::Lost), gives(&["."])]));
    let counts = probe.counts();
    over(watching(whole()), probe).oneshot(Call::write()).await.unwrap();
    assert_eq!((counts.readied(), counts.called(), counts.called_unready()), (2, 2, 0));
    assert_eq!((counts.ready_now(), counts.dropped_ready()), (0, 0));
}

#[tokio::test]
async fn a_clone_starts_unready_and_a_dropped_instance_frees_its_slot() {
    let limited = || ConcurrencyLimit::new(answering(), 1);
    let whole = replying(over(watching(whole()), limited()));
    contract::a_clone_starts_unready_and_a_dropped_instance_frees_its_slot(whole).await;
    let until_first_item = replying(over(watching(UntilFirstItem), limited()));
    contract::a_clone_starts_unready_and_a_dropped_instance_frees_its_slot(until_first_item).await;
    let marked = replying(over(watching(Marked), limited()));
    contract::a_clone_starts_unready_and_a_dropped_instance_frees_its_slot(marked).await;
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_frees_its_slot() {
    let limited = ConcurrencyLimit::new(peer([Step::hang()]), 1);
    contract::a_dropped_call_frees_its_slot(replying(over(watching(whole()), limited)));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_is_given_up_gives_its_slot_to_its_replacement() {
    for given_up in [fault(Fault::Lost), Step::hang(), stalls(&["a"])] {
        let limited = ConcurrencyLimit::new(peer([given_up, gives(&["b", "."])]), 1);
        let stack = over(watching(whole()).health_probe(healthy()), limited);
        assert_eq!(stack.oneshot(Call::write()).await.unwrap().items, ["b", "."]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_replacement_waits_for_its_readiness() {
    let gate = Gate::new();
    let peer = peer([fault(Fault::Lost), gives(&["."])]);
    let slow = ScriptedReadiness::new(peer.clone(), [ReadyStep::Ready, ReadyStep::Until(gate.clone())]);
    let mut call = Driven::new(over(watching(whole()), slow).oneshot(Call::write()));
    call.waits();
    call.waits_for(seconds(6)).await;
    assert_eq!(peer.calls(), 1);
    gate.open();
    assert_eq!(call.output().unwrap().items, ["."]);
}

#[tokio::test(start_paused = true)]
async fn backpressure_before_a_replacement_counts_as_silence() {
    let peer = peer([fault(Fault::Lost), gives(&["."])]);
    let slow = ScriptedReadiness::new(peer.clone(), [ReadyStep::Ready, ReadyStep::Until(Gate::new())]);
    let stack = over(watching(whole()).health_probe(healthy()), slow);
    let mut call = Driven::new(stack.oneshot(Call::write()));
    call.waits();
    call.waits_for(seconds(900 + 60 + 2)).await;
    let failure = call.output_within(seconds(4)).await.unwrap_err();
    assert!(failure.is_exhausted());
    assert_eq!(peer.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_error_of_readiness_is_one_of_the_service_and_never_sent() {
    let broken = ScriptedReadiness::new(answering(), [ReadyStep::Fail(Fault::Foreign.into())]);
    let mut stack = over(watching(UntilFirstItem), broken);
    let failure: Failure = stack.ready().await.map(drop).unwrap_err();
    assert_eq!(failure.delivery(), Some(Delivery::NeverSent));
    assert!(failure.find::<NotReady>().is_some());
    assert_eq!(failure.find(), Some(&Fault::Foreign));
}

#[tokio::test(start_paused = true)]
async fn an_error_of_readiness_before_a_replacement_spends_one() {
    let peer = peer([fault(Fault::Lost), gives(&["."])]);
    let breaks = ScriptedReadiness::new(peer.clone(), [ReadyStep::Ready, ReadyStep::Fail(Fault::Foreign.into())]);
    let failure = over(watching(whole()), breaks).oneshot(Call::write()).await.unwrap_err();
    assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::MaybeSent), 2), "the first may have run");
    assert!(failure.is_exhausted() && failure.find::<NotReady>().is_some());
    assert_eq!(peer.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_wake_up_from_below_reaches_the_call_and_the_stream() {
    let ([lines], peer) = super::world::fed();
    let mut call = Driven::new(over(watching(UntilFirstItem), peer).oneshot(Call::write()));
    call.waits();
    lines.send("");
    call.waits();
    lines.send("a");
    let mut items = Driven::new(call.output().unwrap().items);
    assert_eq!(items.next().unwrap().unwrap(), "a");
    items.is_silent();
    advance(seconds(1)).await;
    assert!(!items.is_woken());
    lines.send("b");
    assert_eq!(items.next().unwrap().unwrap(), "b");
}

/// Of many signs of life in a row others get their turn, and nothing is lost.
#[tokio::test(start_paused = true)]
async fn a_flood_of_keep_alives_yields_and_wakes_itself() {
    let ([lines], peer) = super::world::fed();
    lines.send_times("", 200);
    lines.send("a");
    let mut call = Driven::new(over(watching(UntilFirstItem), peer).oneshot(Call::write()));
    for _ in 0..3 {
        call.waits();
        assert!(call.is_woken(), "it goes on by itself");
    }
    call.output().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_broken_stream_is_dropped_before_its_replacement_is_called() {
    let ([first, second], peer) = super::world::fed();
    let mut call = Driven::new(over(watching(whole()), peer.clone()).oneshot(Call::write()));
    call.waits();
    first.send("a");
    call.waits();
    first.fail(Fault::Lost);
    call.waits();
    assert_eq!((first.is_dropped(), peer.calls()), (true, 1), "closed at once, and replaced after a pause");
    call.waits_for(seconds(5)).await;
    call.waits_for(std::time::Duration::from_millis(1)).await;
    assert_eq!(peer.calls(), 2);
    second.send(".");
    assert_eq!(call.output().unwrap().items, ["."]);
}
