//! Requests that are sent in pieces.

use tower_recovery_hypha::{Call, CallError, Value};

use crate::support::{Frame, Link, OWN_ID, PEER, call, connected, error, outcome, reconnected, soon};

/// So long that it takes three pieces.
const LENGTH: usize = 600 * 1024;

fn long() -> Call {
    Call::new("put").arg(Value::Binary((0..LENGTH).map(|at| (at % 251) as u8).collect::<Vec<u8>>()))
}

/// Takes the pieces, each with its index, and answers all steps but the last, which it gives back.
async fn take_pieces(link: &mut Link) -> (Vec<(u64, Vec<u8>)>, Frame) {
    let mut pieces = Vec::new();
    loop {
        let frame = link.any_frame().await;
        assert_eq!(frame.to(), PEER);
        match frame.step() {
            "create" => assert!(pieces.is_empty()),
            "set" => pieces.push((frame.arg(1).as_u64().unwrap(), frame.arg(2).as_slice().unwrap().to_vec())),
            "process" => return (pieces, frame),
            _ => panic!("{frame:?}"),
        }
        link.resolve(&frame, Value::Nil).await;
    }
}

/// The steps that the client has sent until now, of those that were not answered yet.
async fn steps(link: &mut Link) -> Vec<String> {
    link.frames_until_now().await.iter().map(|frame| frame.step().to_owned()).collect()
}

#[tokio::test]
async fn a_long_request_is_put_together_from_its_pieces() {
    let (_server, mut link, client) = connected().await;
    let answered = call(&client, long());
    let create = link.any_frame().await;
    assert_eq!((create.step(), create.arg(1)), ("create", &Value::from(false)));
    let key = create.arg(0).clone();
    link.resolve(&create, Value::Nil).await;
    let (mut pieces, process) = take_pieces(&mut link).await;
    assert_eq!(process.args(), [key, false.into()]);
    pieces.sort();
    assert_eq!(pieces.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(pieces.iter().all(|(_, piece)| piece.len() <= 256 * 1024));
    let whole = Frame::read(&pieces.into_iter().flat_map(|(_, piece)| piece).collect::<Vec<u8>>());
    assert_eq!((whole.method(), whole.to(), whole.text("from")), ("services.store.put", PEER, OWN_ID));
    assert_eq!(whole.arg(0), &long().arguments()[0]);
    assert_eq!(whole.body("promise"), &Value::from("*"));
    // The answer may be there before that to the last step.
    link.resolve(&whole, "done".into()).await;
    assert_eq!(outcome(answered).await.unwrap(), Value::from("done"));
}

#[tokio::test]
async fn the_answer_may_come_long_after_the_last_step_was_answered() {
    let (_server, mut link, client) = connected().await;
    let answered = call(&client, long());
    let (pieces, process) = take_pieces(&mut link).await;
    let mut pieces = pieces;
    pieces.sort();
    let whole = Frame::read(&pieces.into_iter().flat_map(|(_, piece)| piece).collect::<Vec<u8>>());
    link.resolve(&process, Value::Nil).await;
    assert!(link.frames_until_now().await.is_empty());
    assert!(!answered.is_finished());
    link.resolve_as("ws/other", &whole, "forged".into()).await;
    link.resolve(&whole, "done".into()).await;
    assert_eq!(outcome(answered).await.unwrap(), Value::from("done"));
}

#[tokio::test]
async fn a_cut_before_the_last_step_is_never_sent() {
    let (server, mut link, client) = connected().await;
    let answered = call(&client, long());
    let create = link.any_frame().await;
    link.resolve(&create, Value::Nil).await;
    assert_eq!(link.any_frame().await.step(), "set");
    drop(link);
    let cut = error(answered).await;
    assert!(matches!(&cut, CallError::Upload(_)) && cut.is_send_side(), "{cut:?}");
    let mut link = server.accept().await;
    link.admit().await;
    let mut seen = Vec::new();
    loop {
        let frame = link.any_frame().await;
        seen.push(frame.method().to_owned());
        link.resolve(&frame, Value::Nil).await;
        if frame.method() == "services.default.subscribe" {
            break;
        }
    }
    seen.extend(link.frames_until_now().await.iter().map(|frame| frame.method().to_owned()));
    assert!(seen.contains(&"services.built-in.message_cache.remove".to_owned()), "{seen:?}");
    assert!(!seen.iter().any(|method| method.ends_with("process") || method.ends_with("put")), "{seen:?}");
}

#[tokio::test]
async fn a_cut_after_the_last_step_is_maybe_sent() {
    let (server, mut link, client) = connected().await;
    let answered = call(&client, long());
    take_pieces(&mut link).await;
    drop(link);
    let cut = error(answered).await;
    assert!(!cut.is_send_side(), "{cut:?}");
    assert!(matches!(cut, CallError::ConnectionLost { .. } | CallError::Assembly(_)), "{cut:?}");
    let mut link = reconnected(&server, &client).await;
    assert!(link.frames_until_now().await.is_empty(), "nothing of it is sent again");
}

#[tokio::test]
async fn a_piece_that_is_refused_is_never_sent_and_the_others_are_taken_back() {
    let (_server, mut link, client) = connected().await;
    let answered = call(&client, long());
    let create = link.any_frame().await;
    let key = create.arg(0).clone();
    link.resolve(&create, Value::Nil).await;
    let set = link.any_frame().await;
    assert_eq!(set.step(), "set");
    link.reject(&set, "MemoryError", "no place").await;
    let refused = error(answered).await;
    assert!(
        matches!(&refused, CallError::Upload(inner) if matches!(**inner, CallError::Remote(_)))
            && refused.is_send_side(),
        "{refused:?}"
    );
    let frames = link.frames_until_now().await;
    let last = frames.last().unwrap();
    assert_eq!((last.step(), last.args(), last.session()), ("remove", [key].as_slice(), ""));
    assert!(frames.iter().all(|frame| frame.step() != "process"));
}

#[tokio::test]
async fn a_callee_that_has_left_takes_no_piece_and_nothing_was_sent() {
    let (_server, mut link, client) = connected().await;
    let answered = call(&client, long());
    let create = link.any_frame().await;
    link.turn_down(&create, "Target peer ws/peer is not connected").await;
    let refused = error(answered).await;
    let CallError::Upload(inner) = &refused else { panic!("{refused:?}") };
    assert!(matches!(**inner, CallError::PeerNotConnected { .. }) && refused.is_send_side(), "{refused:?}");
}

#[tokio::test]
async fn a_last_step_that_the_routing_does_not_pass_on_is_never_sent() {
    let (_server, mut link, client) = connected().await;
    let answered = call(&client, long());
    let (_, process) = take_pieces(&mut link).await;
    link.turn_down(&process, "Target peer ws/peer is not connected").await;
    let refused = error(answered).await;
    assert!(matches!(refused, CallError::Upload(_)) && refused.is_send_side(), "{refused:?}");
}

#[tokio::test]
async fn a_last_step_that_the_callee_refuses_is_maybe_sent() {
    let (_server, mut link, client) = connected().await;
    let answered = call(&client, long());
    let (_, process) = take_pieces(&mut link).await;
    link.reject(&process, "KeyError", "'the key'").await;
    let refused = error(answered).await;
    assert!(matches!(refused, CallError::Assembly(_)) && !refused.is_send_side(), "{refused:?}");
}

#[tokio::test]
async fn a_long_request_that_is_dropped_in_the_middle_is_taken_back_and_never_processed() {
    let (_server, mut link, client) = connected().await;
    let dropped = call(&client, long());
    let create = link.any_frame().await;
    link.resolve(&create, Value::Nil).await;
    let set = link.any_frame().await;
    dropped.abort();
    assert!(soon(dropped).await.unwrap_err().is_cancelled());
    link.resolve(&set, Value::Nil).await;
    let steps = steps(&mut link).await;
    assert_eq!(steps.last().map(String::as_str), Some("remove"), "{steps:?}");
    assert!(!steps.contains(&"process".to_owned()), "{steps:?}");
}

#[tokio::test]
async fn a_request_that_is_too_long_is_refused_before_a_byte_is_sent() {
    let (_server, mut link, client) = connected().await;
    let outcome = soon(call(&client, Call::new("put").arg(Value::Binary(vec![0; 64 << 20])))).await.unwrap();
    let Err(error) = outcome else { panic!("{outcome:?}") };
    assert!(matches!(error, CallError::TooLong { bound: 67_108_864, .. }) && error.is_send_side(), "{error:?}");
    assert!(link.frames_until_now().await.is_empty());
}
