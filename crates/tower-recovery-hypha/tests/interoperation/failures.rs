//! What a method raises, both ways.

use tower_recovery::{Classify, Delivery};
use tower_recovery_hypha::{Call, CallError, HyphaClassifier, LocalService, RemoteError, Value};
use tower_recovery_test::hypha::PythonError;

use crate::hypha::{echoing, probe, with_hypha};

/// Kind, message, and what Python's `str` makes of an error of that kind with that message.
const RAISED: [(&str, &str, &str); 7] = [
    ("KeyError", "x", "'x'"),
    ("ValueError", "no such thing", "no such thing"),
    ("ValueError", "", ""),
    ("ValueError", "Grüße 🦀: 世界", "Grüße 🦀: 世界"),
    ("ValueError", "one\ntwo: three\n\n  four", "one\ntwo: three\n\n  four"),
    ("script.Refused", "KeyError: 'x'", "KeyError: 'x'"),
    ("script.Refused", "no room", "no room"),
];

fn remote(outcome: Result<Value, CallError>) -> RemoteError {
    let error = outcome.unwrap_err();
    let verdict = Classify::<Value>::error(&HyphaClassifier::new(), &error);
    assert_eq!(verdict.delivery(), Some(Delivery::Answered));
    match error {
        CallError::Remote(error) => error,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn rust_sees_what_python_raised_by_type_and_message_and_it_was_executed_once() {
    with_hypha(async |hypha| {
        let client = hypha.client("failures-caller").await;
        let probe = probe(&client).await;
        let executed = async |id: &str| probe.call_method(Call::new("executed").arg(id)).await.unwrap();
        for method in ["fail", "fail_async"] {
            for (number, (kind, message, shown)) in RAISED.into_iter().enumerate() {
                let id = format!("{method}-{number}");
                let name = kind.rsplit('.').next().unwrap();
                let call = Call::new(method).arg(name).arg(message).keyword("request_id", id.as_str());
                let error = remote(probe.call_method(call).await);
                assert_eq!((error.kind(), error.message()), (kind, shown), "{method}");
                assert!(error.trace().contains("script.py"), "{method}: {}", error.trace());
                assert_eq!(executed(&id).await, Value::from(1));
            }
        }
        let error = remote(probe.call_method(Call::new("fail_with_cause").arg("cause")).await);
        assert_eq!((error.kind(), error.message()), ("ValueError", "outer"));
        assert!(error.trace().contains("KeyError: 'inner'"), "{}", error.trace());
        assert_eq!(executed("cause").await, Value::from(1));
        client.close().await;
    })
    .await;
}

fn failing(name: &str) -> LocalService {
    echoing(name)
        .method("fail", |call| async move {
            let text = |position, name| call.argument(position, name).and_then(Value::as_str).unwrap_or_default();
            Err(RemoteError::new(text(0, "kind"), text(1, "message")))
        })
        .method("panic", |_| async { panic!("on purpose") })
}

#[tokio::test]
async fn python_sees_what_rust_raised_by_type_and_message() {
    with_hypha(async |hypha| {
        let client = hypha.client("failing").await;
        client.offer(failing("failing")).await.unwrap();
        for (kind, message) in [("KeyError", "'x'"), ("store.Refused", "no room\nfor 'x': 🦀"), ("RuntimeError", "")]
        {
            let raised = hypha.user.call("failing", "fail", [kind.into(), message.into()], []).await;
            let Err(PythonError::Raised { class, text }) = raised else { panic!("{raised:?}") };
            assert_eq!(class, "RemoteException");
            assert!(text.contains(RemoteError::new(kind, message).to_string().as_str()), "{text}");
        }
        client.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_method_that_panics_gives_python_an_error_and_the_client_lives_on() {
    with_hypha(async |hypha| {
        let client = hypha.client("panicking").await;
        client.offer(failing("panicking")).await.unwrap();
        let raised = hypha.user.call("panicking", "panic", [], []).await.unwrap_err();
        assert!(raised.text().contains("RuntimeError: the method panicked"), "{raised}");
        assert!(!raised.text().contains("on purpose"), "{raised}");
        let back = hypha.user.call("panicking", "echo", [1.into()], []).await;
        assert_eq!(back, Ok(Value::from(1)));
        client.close().await;
    })
    .await;
}
