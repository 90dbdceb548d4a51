//! What evicts a handle, and what does not.

use futures_util::StreamExt;
use tokio_test::{assert_pending, task};
use tower::ServiceExt;
use tower_recovery::{Delivery, Failure, Verdict};
use tower_recovery_test::Step;

use super::{
    Handle, instance, live, over,
    support::{Call, Fault, cache, resolver},
    two,
};

#[tokio::test(start_paused = true)]
async fn a_stream_that_breaks_evicts_its_handle_and_the_next_call_resolves_anew() {
    let ([feed, ..], _, [old, new], resolver) = two();
    let cache = cache(&resolver);
    let stack = over(&cache);
    let mut stream = stack.clone().oneshot(Call::write()).await.unwrap();
    feed.send("a");
    stream.next().await.unwrap().unwrap();
    assert_eq!((stream.lease().generation().get(), live(&cache)), (1, Some(1)));

    feed.fail(Fault::Lost);
    let failure = stream.next().await.unwrap().unwrap_err();
    assert_eq!((failure.verdict(), failure.find()), (Fault::Lost.verdict(), Some(&Fault::Lost)));
    assert_eq!((live(&cache), resolver.resolves()), (None, 1), "evicted at once, and resolved when it is needed");

    let second = stack.oneshot(Call::write()).await.unwrap();
    assert_eq!((second.lease().generation().get(), second.lease().identity().to_string()), (2, "b".to_owned()));
    assert_eq!((old.calls(), new.calls(), resolver.resolves()), (1, 1, 2));
}

#[tokio::test(start_paused = true)]
async fn the_failure_carries_the_lease_of_its_attempt() {
    for fault in Fault::ALL {
        let ([feed, ..], _, _, resolver) = two();
        let mut stream = over(&cache(&resolver)).oneshot(Call::write()).await.unwrap();
        feed.fail(fault);
        let failure = stream.next().await.unwrap().unwrap_err();
        let lease = failure.lease().expect("whatever broke it");
        assert_eq!((lease.generation().get(), lease.identity().to_string()), (1, "a".to_owned()));
    }
}

#[tokio::test(start_paused = true)]
async fn what_indicts_evicts_and_nothing_else_does() {
    for fault in Fault::ALL {
        let ([feed, ..], _, _, resolver) = two();
        let cache = cache(&resolver);
        let mut stream = over(&cache).oneshot(Call::write()).await.unwrap();
        feed.fail(fault);
        let failure = stream.next().await.unwrap().unwrap_err();
        // An answer had begun: whatever breaks it, its request was sent.
        let said = fault.verdict();
        let proven =
            said.delivery().map(|delivery| if delivery.is_send_side() { Delivery::MaybeSent } else { delivery });
        assert_eq!(
            (failure.delivery(), failure.is_permanent(), failure.is_stale()),
            (proven, said.is_permanent(), said.is_stale())
        );
        assert_eq!(live(&cache).is_none(), fault.verdict().is_stale(), "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_that_says_itself_what_it_proves_is_believed() {
    for (verdict, evicts) in [(Verdict::maybe_sent(), false), (Verdict::answered().stale(), true)] {
        let ([feed, ..], _, _, resolver) = two();
        let cache = cache(&resolver);
        let mut stream = over(&cache).oneshot(Call::write()).await.unwrap();
        feed.fail(Failure::new(verdict, Fault::Lost));
        assert_eq!(stream.next().await.unwrap().unwrap_err().verdict(), verdict);
        assert_eq!(live(&cache).is_none(), evicts, "the classifier would have said maybe sent and stale");
    }
}

/// Law 5.
#[tokio::test(start_paused = true)]
async fn a_late_break_of_an_old_generation_evicts_nothing_newer() {
    let ([first, second], [third, _], _, resolver) = two();
    let cache = cache(&resolver);
    let stack = over(&cache);
    let mut early = stack.clone().oneshot(Call::write()).await.unwrap();
    let mut late = stack.clone().oneshot(Call::write()).await.unwrap();
    first.fail(Fault::Lost);
    early.next().await.unwrap().unwrap_err();
    let mut newer = stack.oneshot(Call::write()).await.unwrap();
    assert_eq!(live(&cache), Some(2));

    second.send("a");
    assert_eq!(late.next().await.unwrap().unwrap(), "a", "whoever uses the old handle goes on");
    second.fail(Fault::Lost);
    let failure = late.next().await.unwrap().unwrap_err();
    assert!(failure.is_stale());
    assert_eq!((live(&cache), resolver.resolves()), (Some(2), 2));

    third.fail(Fault::Lost);
    newer.next().await.unwrap().unwrap_err();
    assert_eq!(live(&cache), None, "its own it evicts");
}

/// Law 5: however many streams of a connection break, it is one resolve.
#[tokio::test(start_paused = true)]
async fn streams_that_break_together_cause_one_resolve() {
    let (feeds, old) = instance::<20>();
    let (_, new) = instance::<20>();
    let resolver = resolver([("a", old), ("b", new)]);
    let cache = cache(&resolver);
    let stack = over(&cache);
    let mut streams = Vec::new();
    for _ in 0..20 {
        streams.push(stack.clone().oneshot(Call::write()).await.unwrap());
    }
    for feed in feeds {
        feed.fail(Fault::Lost);
    }
    for stream in &mut streams {
        stream.next().await.unwrap().unwrap_err();
        drop(stack.clone().oneshot(Call::write()).await.unwrap());
    }
    assert_eq!((resolver.resolves(), live(&cache)), (2, Some(2)));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_stream_is_closed_and_says_nothing_against_its_handle() {
    for polls in 0..3 {
        let ([feed, ..], _, _, resolver) = two();
        let cache = cache(&resolver);
        let mut stream = task::spawn(over(&cache).oneshot(Call::write()).await.unwrap());
        for _ in 0..polls {
            assert_pending!(stream.poll_next());
        }
        drop(stream);
        assert!(feed.is_dropped());
        feed.fail(Fault::Lost);
        assert_eq!(live(&cache), Some(1), "after {polls} polls");
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_says_nothing_against_its_handle() {
    let handle = Handle::new([Step::hang()]);
    let cache = cache(&resolver([("a", handle.clone())]));
    let mut call = task::spawn(over(&cache).oneshot(Call::write()));
    assert_pending!(call.poll());
    drop(call);
    assert_eq!((handle.in_flight(), handle.dropped(), live(&cache)), (0, 1, Some(1)));
}
