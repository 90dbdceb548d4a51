//! Calls and results that come and go in pieces.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tower_recovery_hypha::{HyphaClient, LocalService, Value};

use crate::{
    serving::offer,
    support::{Frame, Link, PEER, Server, connected, map, packed, reconnected, until_lost},
};

const LENGTH: usize = 600 * 1024;

/// `length` says how long its argument is, and whose; `make` makes as many bytes, once there is a permit.
async fn serving() -> (Server, Link, HyphaClient, Arc<Semaphore>) {
    let (server, mut link, client) = connected().await;
    let permits = Arc::new(Semaphore::new(0));
    let makes = Arc::clone(&permits);
    let service = LocalService::new("worker")
        .unwrap()
        .method("length", |call| async move {
            let length = call.arguments[0].as_slice().unwrap().len();
            Ok(Value::from(format!("{length} bytes of {}", call.caller)))
        })
        .method("make", move |call| {
            let makes = Arc::clone(&makes);
            async move {
                makes.acquire().await.unwrap().forget();
                let length = call.arguments[0].as_u64().unwrap();
                Ok(Value::Binary(vec![7; length as usize]))
            }
        });
    offer(&mut link, &client, service).await;
    (server, link, client, permits)
}

/// One step of a message in pieces: whether it was taken.
async fn step(link: &mut Link, from: &str, step: &str, args: Vec<Value>) -> bool {
    let answer = link.ask(from, &format!("services.built-in.message_cache.{step}"), args).await;
    answer.method() == "asked.resolve"
}

/// A call of `length` as it comes in pieces. What it says of its sender is the sender's.
fn long_call(session: &str, byte: u8) -> Vec<Vec<u8>> {
    let head = map([
        ("type", "method".into()),
        ("from", "ws/forged".into()),
        ("to", "ws/forged".into()),
        ("method", "services.worker.length".into()),
        ("session", session.into()),
        ("ws", "ws".into()),
        ("user", map([("id", "forged".into())])),
    ]);
    let body = map([("args", Value::Array(vec![Value::Binary(vec![byte; LENGTH])])), ("promise", "*".into())]);
    packed(&[head, body]).chunks(256 * 1024).map(<[u8]>::to_vec).collect()
}

#[tokio::test]
async fn long_arguments_are_put_together_whatever_the_order_of_their_pieces() {
    let (_server, mut link, _client, _) = serving().await;
    assert!(step(&mut link, PEER, "create", vec!["key".into(), false.into()]).await);
    for (index, piece) in long_call("long", 1).into_iter().enumerate().rev() {
        let set = vec!["key".into(), index.into(), Value::Binary(piece), false.into()];
        assert!(step(&mut link, PEER, "set", set).await);
    }
    link.call(PEER, "services.built-in.message_cache.process", "last", vec!["key".into(), false.into()]).await;
    let mut answers = [link.any_frame().await, link.any_frame().await];
    answers.sort_by(|one, other| one.method().cmp(other.method()));
    assert_eq!((answers[0].method(), answers[1].method()), ("last.resolve", "long.resolve"));
    assert!(answers.iter().all(|answer| answer.to() == PEER), "not whom the message names: {answers:?}");
    assert_eq!(answers[1].arg(0), &Value::from(format!("{LENGTH} bytes of {PEER}")));
    // It was there once.
    assert!(!step(&mut link, PEER, "process", vec!["key".into(), false.into()]).await);
}

#[tokio::test]
async fn pieces_of_older_callers_are_appended() {
    let (_server, mut link, _client, _) = serving().await;
    assert!(step(&mut link, PEER, "create", vec!["key".into(), false.into()]).await);
    for piece in long_call("long", 1) {
        assert!(step(&mut link, PEER, "append", vec!["key".into(), Value::Binary(piece), false.into()]).await);
    }
    link.call(PEER, "services.built-in.message_cache.process", "last", vec!["key".into(), false.into()]).await;
    let methods = [link.any_frame().await.method().to_owned(), link.any_frame().await.method().to_owned()];
    assert!(methods.contains(&"long.resolve".to_owned()), "{methods:?}");
}

#[tokio::test]
async fn two_callers_under_one_key_do_not_mix() {
    let (_server, mut link, _client, _) = serving().await;
    let callers = [PEER, "ws/other"];
    for caller in callers {
        assert!(step(&mut link, caller, "create", vec!["key".into(), false.into()]).await);
    }
    let pieces: Vec<_> = callers.iter().map(|caller| long_call(caller, 1)).collect();
    for index in 0..pieces[0].len() {
        for (caller, pieces) in callers.iter().zip(&pieces) {
            let set = vec!["key".into(), index.into(), Value::Binary(pieces[index].clone()), false.into()];
            assert!(step(&mut link, caller, "set", set).await);
        }
    }
    assert!(!step(&mut link, "ws/third", "process", vec!["key".into(), false.into()]).await, "it has none");
    assert!(!step(&mut link, "ws/third", "remove", vec!["key".into()]).await);
    assert!(step(&mut link, "ws/other", "remove", vec!["key".into()]).await, "and not that of the other");
    link.call(PEER, "services.built-in.message_cache.process", "last", vec!["key".into(), false.into()]).await;
    let answers = [link.any_frame().await, link.any_frame().await];
    let result = answers.iter().find(|answer| answer.method() == format!("{PEER}.resolve")).unwrap();
    assert_eq!((result.to(), result.arg(0)), (PEER, &Value::from(format!("{LENGTH} bytes of {PEER}"))));
}

#[tokio::test]
async fn pieces_for_a_call_that_nobody_made_are_refused() {
    let (_server, mut link, _client, _) = serving().await;
    assert!(!step(&mut link, PEER, "create", vec!["nobodys-session".into(), true.into()]).await);
    assert!(!step(&mut link, PEER, "create", vec![]).await);
    assert!(!step(&mut link, PEER, "set", vec!["key".into(), 0.into(), Value::Binary(vec![0]), false.into()]).await);
    assert!(!step(&mut link, PEER, "other", vec!["key".into()]).await);
}

#[tokio::test]
async fn garbage_in_pieces_is_refused_and_nothing_else_suffers() {
    let (_server, mut link, _client, _) = serving().await;
    assert!(step(&mut link, PEER, "create", vec!["key".into(), false.into()]).await);
    let set = vec!["key".into(), 0.into(), Value::Binary(b"garbage".to_vec()), false.into()];
    assert!(step(&mut link, PEER, "set", set).await);
    assert!(!step(&mut link, PEER, "process", vec!["key".into(), false.into()]).await);
    assert!(link.frames_until_now().await.is_empty());
}

/// Takes a result that comes in pieces, and answers every step of it.
async fn take_result(link: &mut Link, session: &str) -> Frame {
    let mut pieces = Vec::new();
    loop {
        let frame = link.any_frame().await;
        let is_step = !frame.step().is_empty() && frame.step() != "remove";
        if is_step {
            assert_eq!((frame.to(), frame.arg(0)), (PEER, &session.into()), "{frame:?}");
            assert_eq!(frame.args().last(), Some(&true.into()), "each is a sign of life");
        }
        match frame.step() {
            "set" => pieces.push((frame.arg(1).as_u64().unwrap(), frame.arg(2).as_slice().unwrap().to_vec())),
            "create" => pieces.clear(),
            "process" => {
                link.resolve(&frame, Value::Nil).await;
                break;
            }
            _ => continue,
        }
        link.resolve(&frame, Value::Nil).await;
    }
    pieces.sort();
    Frame::read(&pieces.into_iter().flat_map(|(_, piece)| piece).collect::<Vec<u8>>())
}

#[tokio::test]
async fn a_long_result_goes_in_pieces_under_the_callers_name_for_the_call() {
    let (_server, mut link, _client, permits) = serving().await;
    permits.add_permits(1);
    link.call(PEER, "services.worker.make", "long", vec![LENGTH.into()]).await;
    let result = take_result(&mut link, "long").await;
    assert_eq!((result.method(), result.to()), ("long.resolve", PEER));
    assert_eq!(result.arg(0), &Value::Binary(vec![7; LENGTH]));
}

#[tokio::test]
async fn a_long_result_that_comes_after_a_cut_goes_over_the_next_connection() {
    let (server, mut link, client, permits) = serving().await;
    link.call(PEER, "services.worker.make", "long", vec![LENGTH.into()]).await;
    link.frame("long.heartbeat").await;
    drop(link);
    until_lost(&client).await;
    let mut link = reconnected(&server, &client).await;
    permits.add_permits(1);
    assert_eq!(take_result(&mut link, "long").await.arg(0), &Value::Binary(vec![7; LENGTH]));
}

#[tokio::test]
async fn a_long_result_that_is_cut_in_the_middle_begins_anew_over_the_next_connection() {
    let (server, mut link, client, permits) = serving().await;
    permits.add_permits(1);
    link.call(PEER, "services.worker.make", "long", vec![LENGTH.into()]).await;
    // Heartbeats come between.
    loop {
        let frame = link.any_frame().await;
        match frame.step() {
            "create" => link.resolve(&frame, Value::Nil).await,
            "set" => break,
            _ => assert_eq!(frame.method(), "long.heartbeat"),
        }
    }
    drop(link);
    until_lost(&client).await;
    let mut link = server.accept().await;
    link.admit().await;
    let mut steps = Vec::new();
    // What is registered goes beside it.
    let result = {
        let mut pieces = Vec::new();
        loop {
            let frame = link.any_frame().await;
            steps.push(frame.step().to_owned());
            if frame.step() == "set" {
                pieces.push((frame.arg(1).as_u64().unwrap(), frame.arg(2).as_slice().unwrap().to_vec()));
            }
            if !frame.session().is_empty() {
                link.resolve(&frame, Value::Nil).await;
            }
            if frame.step() == "process" {
                break;
            }
        }
        pieces.sort();
        Frame::read(&pieces.into_iter().flat_map(|(_, piece)| piece).collect::<Vec<u8>>())
    };
    steps.retain(|step| !step.is_empty());
    assert_eq!(steps[..2], ["remove", "create"], "{steps:?}");
    assert_eq!(result.arg(0), &Value::Binary(vec![7; LENGTH]));
}

#[tokio::test]
async fn a_long_result_that_the_caller_does_not_take_ends_there() {
    let (_server, mut link, _client, permits) = serving().await;
    permits.add_permits(1);
    link.call(PEER, "services.worker.make", "long", vec![LENGTH.into()]).await;
    loop {
        let frame = link.any_frame().await;
        if frame.step() == "create" {
            link.reject(&frame, "Exception", "session does not exist anymore: long").await;
            break;
        }
    }
    let mut steps: Vec<_> = link.frames_until_now().await.iter().map(|frame| frame.step().to_owned()).collect();
    // The heartbeat is no step.
    steps.retain(|step| !step.is_empty());
    assert_eq!(steps, ["remove"]);
}
