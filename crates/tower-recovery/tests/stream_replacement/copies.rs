//! The request of a replacement: a copy, or what was handed back, silenced where that is due.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use tower::{BoxError, Layer, Service, ServiceExt, service_fn};
use tower_recovery::{
    Access, Delivery, Failure, GiveUp, NamedRules, RequestRules, StreamReplacementLayer, Verdict,
    classify::ClassifyService,
    stream_replacement::{StreamBroken, StreamEnd, StreamReplacement, Whole},
};
use tower_recovery_test::{ReadyStep, ScriptedReadiness, Step};

use super::{
    support::{Call, Fault, Protocol, rules, rules_without_copies},
    world::{
        Answer, Driven, Lines, Peer, breaks, fault, gives, healthy, over, peer, replacing, seconds, stalls, under,
        watching, whole,
    },
};

/// The layer with these rules, over a service that says itself what it proves.
fn with<Rules, Inner>(rules: Rules, inner: Inner) -> StreamReplacement<Inner, Rules, Lines, Whole>
where
    Rules: RequestRules<Call> + Clone,
    Inner: Clone,
{
    let policy = replacing().max_replacements(3).build().unwrap();
    StreamReplacementLayer::new(policy, rules, Lines::default(), whole()).health_probe(healthy()).layer(inner)
}

#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_be_copied_passes_and_is_not_replaced() {
    for (broken, end) in [
        (breaks(&["a"], Fault::Lost), StreamEnd::Dropped),
        (gives(&["a"]), StreamEnd::Incomplete),
        (stalls(&["a"]), StreamEnd::Silent),
        (Step::hang(), StreamEnd::Silent),
    ] {
        let peer = peer([gives(&["."]), broken]);
        let stack = with(rules_without_copies(), ClassifyService::new(peer.clone(), Protocol));
        assert_eq!(stack.clone().oneshot(Call::write()).await.unwrap().items, ["."]);
        let failure = stack.oneshot(Call::write()).await.unwrap_err();
        assert_eq!((failure.gave_up(), failure.is_exhausted()), (Some(GiveUp::NoRequest), false));
        assert_eq!(failure.find::<StreamBroken>().unwrap().reason, end);
        assert_eq!((failure.attempts(), failure.delivery()), (1, Some(Delivery::MaybeSent)));
        assert_eq!(peer.calls(), 2);
    }
}

/// Its first requests are handed back by a connection that was closed, marked by the key 99.
fn handing_back(
    times: usize,
    peer: Peer,
) -> impl Service<Call, Response = Answer, Error = BoxError, Future: Send> + Clone {
    let calls = Arc::new(AtomicUsize::new(0));
    service_fn(move |call: Call| {
        let peer = peer.clone();
        let is_handed_back = calls.fetch_add(1, Relaxed) < times;
        async move {
            if is_handed_back {
                let unsent = Failure::new(Verdict::never_sent(), Fault::NotWritten).with_unsent(call.with_key(99));
                return Err(unsent.into());
            }
            peer.oneshot(call).await
        }
    })
}

#[tokio::test(start_paused = true)]
async fn what_is_handed_back_is_sent_whether_it_could_be_copied_or_not() {
    for rules in [rules(), rules_without_copies()] {
        for times in 1..=3 {
            let peer = peer([gives(&["."])]);
            let answer = with(rules.clone(), handing_back(times, peer.clone())).oneshot(Call::write()).await.unwrap();
            assert_eq!(answer.report.attempts as usize, times + 1);
            assert_eq!(peer.requests(), [Call::write().with_key(99)]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_was_handed_back_once_and_is_lost_then_is_not_replaced() {
    let peer = peer([breaks(&["a"], Fault::Lost)]);
    let stack = with(rules_without_copies(), handing_back(1, peer.clone()));
    let failure = stack.oneshot(Call::write()).await.unwrap_err();
    assert_eq!((failure.gave_up(), failure.attempts(), peer.calls()), (Some(GiveUp::NoRequest), 2, 1));
}

/// Rules whose copies are whole so many times that somebody asks.
#[derive(Clone)]
struct Fading {
    rules: NamedRules<Call>,
    left: Arc<AtomicUsize>,
}

impl Fading {
    fn after(looks: usize) -> Self {
        Self { rules: rules(), left: Arc::new(AtomicUsize::new(looks)) }
    }
}

impl RequestRules<Call> for Fading {
    type Method = &'static str;

    fn method(&self, call: &Call) -> &'static str {
        self.rules.method(call)
    }

    fn access(&self, call: &Call, method: &&'static str) -> Access {
        self.rules.access(call, method)
    }

    fn copy(&self, call: &Call) -> Option<Call> {
        self.rules.copy(call)
    }

    fn is_whole(&self, _: &Call) -> bool {
        self.left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok()
    }

    fn silence(&self, call: &mut Call) {
        self.rules.silence(call);
    }
}

#[tokio::test(start_paused = true)]
async fn a_copy_that_is_not_whole_any_more_is_not_sent() {
    for (broken, end) in [(breaks(&["a"], Fault::Lost), StreamEnd::Dropped), (gives(&["a"]), StreamEnd::Incomplete)] {
        let peer = peer([broken, gives(&["."])]);
        let stack = with(Fading::after(0), ClassifyService::new(peer.clone(), Protocol));
        let mut call = Driven::new(stack.oneshot(Call::write()));
        let failure = call.output().expect_err("at once: nothing is waited for");
        assert_eq!((failure.gave_up(), failure.is_exhausted()), (Some(GiveUp::IncompleteCopy), false));
        assert_eq!(failure.find::<StreamBroken>().unwrap().reason, end);
        assert_eq!((failure.attempts(), peer.calls()), (1, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_copy_that_is_lost_while_a_replacement_is_paused_or_readied_for_is_not_sent() {
    let peer = peer([breaks(&["a"], Fault::Lost), gives(&["."])]);
    let gate = tower_recovery_test::Gate::new();
    let slow = ScriptedReadiness::new(peer.clone(), [ReadyStep::Ready, ReadyStep::Until(gate.clone())]);
    let mut call = Driven::new(with(Fading::after(1), ClassifyService::new(slow, Protocol)).oneshot(Call::write()));
    call.waits();
    call.waits_for(seconds(10)).await;
    gate.open();
    let failure = call.output().unwrap_err();
    assert_eq!((failure.gave_up(), failure.is_exhausted()), (Some(GiveUp::IncompleteCopy), false));
    assert_eq!((failure.delivery(), peer.calls()), (Some(Delivery::MaybeSent), 1));
    let broken: &StreamBroken = failure.find().unwrap();
    assert_eq!(broken.report.discarded.len(), 1);
}

fn silents(peer: &Peer) -> Vec<Option<bool>> {
    peer.requests().iter().map(|call| call.silent).collect()
}

#[tokio::test(start_paused = true)]
async fn a_read_that_counts_is_silent_after_an_attempt_that_may_have_run() {
    const SILENT: Option<bool> = Some(true);
    type Attempts = Vec<Step<Answer>>;
    let sequences: [(Attempts, &[Option<bool>]); 6] = [
        (vec![], &[None]),
        (vec![fault(Fault::NotWritten), fault(Fault::ReadOnly)], &[None, None, None]),
        (vec![fault(Fault::Lost)], &[None, SILENT]),
        (vec![breaks(&["a"], Fault::Lost), fault(Fault::NotWritten)], &[None, SILENT, SILENT]),
        (vec![gives(&["a"])], &[None, SILENT]),
        (vec![fault(Fault::NotWritten), stalls(&[])], &[None, None, SILENT]),
    ];
    for (broken, expected) in sequences {
        let peer = peer(broken.into_iter().chain([gives(&["."])]));
        let layer = under(replacing().max_replacements(3), whole()).health_probe(healthy());
        over(layer, peer.clone()).oneshot(Call::counted_read()).await.unwrap();
        assert_eq!(silents(&peer), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_else_is_silenced_and_a_value_of_the_caller_stays() {
    for (call, silent) in
        [(Call::write(), None), (Call::read(), None), (Call::counted_read().with_silent(false), Some(false))]
    {
        let peer = peer([breaks(&["a"], Fault::Lost), gives(&["."])]);
        over(watching(whole()), peer.clone()).oneshot(call).await.unwrap();
        assert_eq!(silents(&peer), [silent, silent]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_of_another_type_that_is_handed_back_is_nobodys_here() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let transport = service_fn(move |call: Call| {
        log.lock().unwrap().push(call.key);
        let failure = Failure::new(Verdict::never_sent(), Fault::NotWritten).with_unsent("foreign");
        async move { Err::<Answer, _>(failure) }
    });
    with(rules(), transport).oneshot(Call::write().with_key(5)).await.unwrap_err();
    assert_eq!(*seen.lock().unwrap(), [5, 5, 5, 5], "the copies are sent");
}
