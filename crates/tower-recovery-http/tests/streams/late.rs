//! What an abandoned attempt still sends.

use std::sync::{Arc, Mutex, OnceLock};

use tower::ServiceExt;
use tower_recovery::RecoveryEvent;
use tower_recovery_test::{
    Gate,
    faulty::{RequestContext, StreamEnd, StreamScript, StreamedAnswer},
};

use super::support::{CHAT, Model, Wire, bounded, complete, question, saying, texts, watching};

#[tokio::test]
async fn b72_the_server_sees_the_first_attempt_closed_before_it_sees_the_second() {
    for wire in Wire::all() {
        let first = Arc::new(OnceLock::<StreamedAnswer>::new());
        let end_at_the_second = Arc::new(Mutex::new(None));
        let (known, noted) = (Arc::clone(&first), Arc::clone(&end_at_the_second));
        let gate = Gate::new();
        let rest = gate.clone();
        let chats = Mutex::new(0);
        let model = Model::streaming(wire, move |request: &RequestContext| {
            assert_eq!(request.path, CHAT);
            let mut chats = chats.lock().unwrap();
            *chats += 1;
            Some(if *chats == 1 {
                saying(["one"]).wait_for(&rest).send("data: late\n\ndata: [DONE]\n\n")
            } else {
                *noted.lock().unwrap() = Some(known.get().and_then(StreamedAnswer::end));
                complete(["1"])
            })
        })
        .await;

        let (whole, ()) = tokio::join!(model.whole(watching(1)), async {
            let _ = first.set(bounded(model.server.streamed_answer(1)).await);
        });

        assert_eq!((texts(&whole.unwrap().items), model.calls()), (vec!["1".into(), "[DONE]".into()], 2));
        let end = end_at_the_second.lock().unwrap().expect("there was a second");
        assert!(matches!(end, Some(StreamEnd::ClientLeft { .. })), "{wire:?}: {end:?}");
        assert_eq!(first.get().unwrap().sends(), 1);
    }
}

/// The server sends the rest at the very moment at which the attempt is abandoned: it is on its way when the attempt is closed.
#[tokio::test]
async fn b72_what_an_abandoned_attempt_still_sends_is_not_handed_out() {
    for wire in Wire::all() {
        let abandoned = Gate::new();
        let first = saying(["one"]).wait_for(&abandoned).send("data: late\n\n").send("data: [DONE]\n\n");
        let second = Gate::new();
        let scripts = [first, StreamScript::new().wait_for(&second).send("data: 1\n\ndata: [DONE]\n\n")];
        let model = Model::streaming(wire, scripts).await;
        let chat = model.chat(watching(1)).observer(move |event: &RecoveryEvent| {
            if matches!(event, RecoveryEvent::PhysicalAttemptAbandoned { .. }) {
                abandoned.open();
            }
        });
        let (whole, ()) = tokio::join!(bounded(chat.whole(1 << 20).oneshot(question())), async {
            // Whatever becomes of the first one, it is over before the second one begins to speak.
            bounded(async { model.server.streamed_answer(2).await.wait_until_head_sent().await }).await;
            bounded(async { model.server.streamed_answer(1).await.wait_until_ended().await }).await;
            second.open();
        });
        assert_eq!((texts(&whole.unwrap().items), model.calls()), (vec!["1".into(), "[DONE]".into()], 2), "{wire:?}");
    }
}
