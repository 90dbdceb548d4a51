//! A registry that is no help, and answers that come while it is asked.

use tokio_test::{assert_ready_ok, task};
use tower::ServiceExt;
use tower_recovery::RecoveryEvent;
use tower_recovery_test::{Gate, ScriptedResolver, Step};

use super::{
    Events, SURELY_DUE, SUSPECT_AFTER, answering_after, frozen, pass, poll_pending, stack,
    support::{Call, Fault, Reply, attempts, backend, done, fails, millis, poll_woken, recovering, resolved},
    suspecting,
};

#[tokio::test(start_paused = true)]
async fn a_registry_that_fails_hangs_or_panics_leaves_the_read_waiting_for_its_answer() {
    for bad in [
        Step::fail(Fault::Lost),
        Step::fail(Fault::Lost).delayed(millis(50)),
        Step::fail_ready(Fault::Lost),
        Step::hang(),
        Step::panic_in_call(),
        Step::panic_in_poll(),
        Step::panic_in_poll().delayed(millis(50)),
    ] {
        let events = Events::default();
        let old = answering_after("a", SUSPECT_AFTER * 60);
        let resolver = ScriptedResolver::new([resolved("a", &old), bad]);
        let cache = suspecting(&resolver).resolve_timeout(millis(400)).observer(events.observer()).build();
        let stack = recovering(cache.clone(), attempts(3));
        assert_eq!(stack.oneshot(Call::read()).await.unwrap(), Reply::Done("a"));
        assert_eq!((old.calls(), old.dropped(), events.suspicions()), (1, 0, 1));
        assert_eq!((cache.generation().unwrap().get(), resolver.in_flight()), (1, 0));
        let failures =
            events.all().into_iter().filter(|event| matches!(event, RecoveryEvent::ResolveFailed { .. })).count();
        assert_eq!(failures, 1, "that it failed is reported");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_during_the_look_up_wins_and_the_look_up_is_left() {
    for gates in [[true, false], [true, true]] {
        let [answers, names] = [Gate::new(), Gate::new()];
        let old = backend([done("a").behind(&answers)]);
        let new = backend([done("b")]);
        let resolver = ScriptedResolver::new([resolved("a", &old), resolved("b", &new).behind(&names)]);
        let mut call = task::spawn(stack(&resolver).oneshot(Call::read()));
        poll_pending(&mut call);
        pass(SURELY_DUE).await;
        assert!(call.is_woken());
        poll_pending(&mut call);
        assert_eq!(resolver.in_flight(), 1);

        for (gate, opens) in [&answers, &names].into_iter().zip(gates) {
            if opens {
                gate.open();
            }
        }
        assert_eq!(assert_ready_ok!(poll_woken(&mut call)), Reply::Done("a"));
        drop(call);
        assert_eq!((resolver.in_flight(), resolver.dropped(), new.calls()), (0, 1, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_comes_during_the_look_up_is_the_failure_that_it_is() {
    let gate = Gate::new();
    let old = backend([fails(Fault::NoSuchFile).behind(&gate)]);
    let resolver = ScriptedResolver::new([resolved("a", &old), Step::hang()]);
    let mut call = task::spawn(stack(&resolver).oneshot(Call::read()));
    poll_pending(&mut call);
    pass(SURELY_DUE).await;
    assert!(call.is_woken());
    poll_pending(&mut call);
    gate.open();
    let failure = tokio_test::assert_ready_err!(poll_woken(&mut call));
    assert!(failure.find::<Fault>().is_some_and(|fault| *fault == Fault::NoSuchFile));
    drop(call);
    assert_eq!((resolver.in_flight(), resolver.resolves()), (0, 2));
}

#[tokio::test(start_paused = true)]
async fn the_look_up_ends_with_the_last_read_that_waits_for_it() {
    let answers = [Gate::new(), Gate::new()];
    let old = backend(answers.iter().map(|gate| done("a").behind(gate)));
    let resolver = ScriptedResolver::new([resolved("a", &old), Step::hang()]);
    let stack = stack(&resolver);
    let mut calls = [(); 2].map(|()| task::spawn(stack.clone().oneshot(Call::read())));
    for call in &mut calls {
        poll_pending(call);
    }
    pass(SURELY_DUE).await;
    for call in &mut calls {
        assert!(call.is_woken());
        poll_pending(call);
    }
    for (index, call) in calls.iter_mut().enumerate() {
        assert_eq!(resolver.in_flight(), 1, "somebody waits for it still");
        answers[index].open();
        assert_eq!(assert_ready_ok!(poll_woken(call)), Reply::Done("a"));
        // An answered call holds its look-up no longer than it lives itself.
        *call = task::spawn(stack.clone().oneshot(Call::write()));
    }
    assert_eq!((resolver.in_flight(), resolver.resolves()), (0, 2));
}

#[tokio::test(start_paused = true)]
async fn an_observer_that_panics_or_asks_the_cache_disturbs_nothing() {
    for asks in [false, true] {
        let resolver = ScriptedResolver::new([resolved("a", &frozen()), resolved("b", &backend([done("b")]))]);
        let cache = std::sync::Arc::new(std::sync::OnceLock::<tower_recovery::HandleCache<_>>::new());
        let seen = std::sync::Arc::clone(&cache);
        let observer = move |_: &RecoveryEvent| match seen.get() {
            Some(cache) if asks => drop(cache.generation()),
            _ => panic!("the observer panics"),
        };
        let cache = cache.get_or_init(|| suspecting(&resolver).observer(observer).build()).clone();
        assert_eq!(recovering(cache, attempts(3)).oneshot(Call::read()).await.unwrap(), Reply::Done("b"));
    }
}
