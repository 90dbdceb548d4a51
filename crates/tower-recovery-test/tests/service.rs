//! The scripted service, without a network.

mod support;

use support::within;
use tower::{Service, ServiceExt};
use tower_recovery_test::{Gate, ReadinessProbe, ReadyStep, ScriptedReadiness, ScriptedService, Step};

#[tokio::test]
async fn steps_are_taken_and_requests_are_logged_in_the_order_of_the_calls() {
    let service = ScriptedService::new([Step::answer("pong"), Step::fail("reset")]);
    assert_eq!(service.clone().oneshot("one").await.unwrap(), "pong");
    let error = service.clone().oneshot("two").await.unwrap_err();
    assert_eq!(error.to_string(), "reset");
    assert!(service.clone().oneshot("three").await.is_err());
    assert_eq!(service.requests(), ["one", "two", "three"]);
    assert_eq!((service.calls(), service.in_flight()), (3, 0));
}

#[tokio::test]
async fn neither_requests_nor_responses_need_to_be_clonable() {
    struct NotClonable(u8);

    let mut number = 0;
    let step = Step::answer_with(move || {
        number += 1;
        NotClonable(number)
    });
    let service = ScriptedService::new([step]);
    for number in 1..=2 {
        let response = service.clone().oneshot(NotClonable(0)).await;
        assert_eq!(response.unwrap().0, number);
    }
    assert_eq!(service.calls(), 2);
}

#[tokio::test]
async fn a_request_is_in_the_log_as_soon_as_its_call_is_counted() {
    within(async {
        let gate = Gate::new();
        let service = ScriptedService::new([Step::answer(200).behind(&gate)]);
        let call = tokio::spawn(service.clone().oneshot("held"));
        service.wait_until_calls(1).await;
        assert_eq!(service.requests(), ["held"]);
        assert_eq!(service.in_flight(), 1);
        gate.open();
        assert_eq!(call.await.unwrap().unwrap(), 200);
    })
    .await;
}

#[tokio::test]
async fn a_call_dropped_before_its_end_is_counted_and_an_answered_one_is_not() {
    within(async {
        let mut service = ScriptedService::<_, u16>::new([Step::answer(200), Step::hang()]);
        service.call("answered").await.unwrap();
        let hanging = service.call("hanging");
        assert_eq!((service.in_flight(), service.dropped()), (1, 0));
        drop(hanging);
        service.wait_until_dropped(1).await;
        service.wait_until_in_flight(0).await;
        assert_eq!(service.dropped(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_panic_reaches_the_caller_and_leaves_the_request_in_the_log() {
    let steps = [Step::panic_in_call(), Step::panic_in_poll(), Step::answer(200)];
    let service = ScriptedService::new(steps);
    for request in ["in call", "in poll"] {
        let call = tokio::spawn(service.clone().oneshot(request));
        assert!(call.await.unwrap_err().is_panic());
    }
    assert_eq!(service.clone().oneshot("answered").await.unwrap(), 200);
    assert_eq!(service.requests(), ["in call", "in poll", "answered"]);
    assert_eq!((service.in_flight(), service.dropped()), (0, 0));
}

#[tokio::test]
async fn readiness_is_scripted_in_the_steps_or_around_them() {
    within(async {
        let service = ScriptedService::new([Step::fail_ready("closed"), Step::answer(200)]);
        let steps = [ReadyStep::Pending { times: 3 }, ReadyStep::Fail("shed".into())];
        let mut probe = ReadinessProbe::new(ScriptedReadiness::new(service.clone(), steps));
        for error in ["closed", "shed"] {
            let failed = ServiceExt::<&str>::ready(&mut probe).await;
            assert_eq!(failed.unwrap_err().to_string(), error);
        }
        assert_eq!(probe.ready().await.unwrap().call("one").await.unwrap(), 200);
        assert_eq!((service.calls(), probe.counts().called()), (1, 1));
    })
    .await;
}
