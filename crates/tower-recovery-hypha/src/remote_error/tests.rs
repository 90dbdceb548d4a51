use rmpv::Value;

use super::{LONGEST, RemoteError};
use crate::wire::{Incoming, Limits, decode};

/// The argument of a `reject` as hypha-rpc sent it.
fn golden(frame: &[u8]) -> RemoteError {
    let Ok(Incoming::Call(call)) = decode(frame, &Limits::default()) else {
        panic!("a call");
    };
    RemoteError::from_value(&call.args[0])
}

fn encoded(text: &str, trace: &str) -> Value {
    let field = |name: &str, value: &str| (Value::from(name), Value::from(value));
    Value::Map(vec![field("_rtype", "error"), field("_rvalue", text), field("_rtrace", trace)])
}

#[track_caller]
fn assert_reads_as(error: &RemoteError, kind: &str, message: &str) {
    assert_eq!((error.kind(), error.message()), (kind, message));
}

macro_rules! golden {
    ($name:literal) => {
        golden(include_bytes!(concat!("../../golden/", $name, ".msgpack")))
    };
}

#[test]
fn what_a_method_raised_in_its_task_is_read_from_the_traceback() {
    let error = golden!("error_key");
    assert_reads_as(&error, "KeyError", "'x'");
    assert!(error.trace().starts_with("Traceback (most recent call last):\n"), "{}", error.trace());
    assert!(error.trace().ends_with("KeyError: 'x'"), "{}", error.trace());
}

#[test]
fn what_was_raised_before_there_was_a_task_has_its_kind_in_the_traceback() {
    let error = golden!("error_at_once");
    assert_reads_as(&error, "KeyError", "'x'");
    assert!(error.trace().ends_with("KeyError: 'x'\n"), "{}", error.trace());
}

#[test]
fn a_message_of_several_lines_is_whole() {
    assert_reads_as(&golden!("error_lines"), "ValueError", "first line\n  second line\n\nlast line");
}

#[test]
fn of_a_chain_the_last_exception_counts() {
    assert_reads_as(&golden!("error_chained"), "Refused", "no such thing");
    assert_reads_as(&golden!("error_during"), "AssertionError", "");

    let raised = "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n";
    let during = "During handling of the above exception, another exception occurred:";
    let trace = format!("{raised}KeyError: 1\n\n{during}\n\n{raised}TypeError: 2\n\n{during}\n\n{raised}OSError: 3");
    assert_reads_as(&RemoteError::from_value(&encoded(&trace, "")), "OSError", "3");
}

#[test]
fn of_a_group_the_group_counts() {
    assert_reads_as(&golden!("error_group"), "ExceptionGroup", "two of them (2 sub-exceptions)");
}

#[test]
fn the_servers_refusal_has_a_message_only() {
    let error = golden!("server_refusal");
    assert_reads_as(&error, "Error", "Target peer ws-b/callee is not connected");
    assert_eq!(error.trace(), "");
}

#[test]
fn an_exception_that_was_never_raised_has_a_kind() {
    let error = RemoteError::from_value(&encoded("Method not found: x", "Exception: Method not found: x\n"));
    assert_reads_as(&error, "Exception", "Method not found: x");
}

#[test]
fn a_message_that_quotes_a_traceback_does_not_lend_its_kind() {
    let quoted = "it said:\nTraceback (most recent call last):\n  File \"a.py\", line 1, in f\nKeyError: 'x'";
    let trace = format!("Traceback (most recent call last):\n  File \"b.py\", line 2, in g\nstore.Refused: {quoted}\n");
    assert_reads_as(&RemoteError::from_value(&encoded(quoted, &trace)), "store.Refused", quoted);
    assert_reads_as(&RemoteError::from_value(&encoded(trace.trim_end(), "")), "store.Refused", quoted);
}

#[test]
fn a_trace_that_words_the_error_otherwise_still_has_its_kind() {
    let trace =
        "Traceback (most recent call last):\n  File \"a.py\", line 1\n    x y\n      ^\nSyntaxError: invalid syntax\n";
    let error = RemoteError::from_value(&encoded("invalid syntax (a.py, line 1)", trace));
    assert_reads_as(&error, "SyntaxError", "invalid syntax (a.py, line 1)");
}

#[test]
fn a_type_from_within_a_function_is_a_kind() {
    let trace = "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\napp.make.<locals>.Refused: no";
    assert_reads_as(&RemoteError::from_value(&encoded(trace, "")), "app.make.<locals>.Refused", "no");
}

#[test]
fn what_only_begins_like_a_traceback_is_a_message() {
    for text in ["Traceback (most recent call last):\n", "Traceback (most recent call last):\n  File", "Traceback"] {
        assert_reads_as(&RemoteError::from_value(&encoded(text, "")), "Error", text);
    }
    let no_kind = "Traceback (most recent call last):\nthis is no kind: x";
    assert_reads_as(&RemoteError::from_value(&encoded(no_kind, "at a.js:1")), "Error", no_kind);
}

#[test]
fn any_value_is_an_error_of_some_kind() {
    assert_reads_as(&RemoteError::from_value(&Value::from("out of milk")), "Error", "out of milk");
    assert_reads_as(&RemoteError::from_value(&Value::Nil), "Error", "nil");
    assert_reads_as(&RemoteError::from_value(&Value::Map(vec![])), "Error", "{}");
    let without_text = Value::Map(vec![(Value::from("_rtype"), Value::from("error"))]);
    assert_reads_as(&RemoteError::from_value(&without_text), "Error", "");
}

#[test]
fn long_texts_are_cut_between_characters() {
    let long = "€".repeat(LONGEST);
    let error = RemoteError::from_value(&encoded(&long, &format!("Traceback…\nKeyError: {long}")));
    assert_eq!(error.message(), "€".repeat(LONGEST / 3));
    assert_eq!(error.trace(), "€".repeat(LONGEST / 3));
    assert_eq!(error.kind(), "KeyError");

    let many = Value::Array(vec![Value::from("€"); LONGEST]);
    let message = RemoteError::from_value(&many);
    assert!((LONGEST - 3..=LONGEST).contains(&message.message().len()));
}

#[test]
fn what_we_raise_reads_the_same_at_the_other_end() {
    for error in [
        RemoteError::new("KeyError", "'x'"),
        RemoteError::new("AssertionError", ""),
        RemoteError::new("Error", "a message only"),
        golden!("error_key"),
        golden!("error_at_once"),
        golden!("error_lines"),
        golden!("error_chained"),
        golden!("error_during"),
        golden!("error_group"),
        golden!("server_refusal"),
    ] {
        let read = RemoteError::from_value(&error.to_value());
        assert_reads_as(&read, error.kind(), error.message());
    }
}

/// `RemoteException` of Python shows `_rvalue` and `_rtrace`, and the server looks for `KeyError:` in that to answer over HTTP with 404.
#[test]
fn python_is_shown_the_kind_and_the_message() {
    let value = RemoteError::new("KeyError", "'x'").to_value();
    assert_eq!(value["_rtype"].as_str(), Some("error"));
    assert_eq!(value["_rvalue"].as_str(), Some("'x'"));
    assert_eq!(value["_rtrace"].as_str(), Some("KeyError: 'x'"));
}

#[test]
fn an_error_of_another_service_that_is_passed_on_keeps_its_trace_and_says_once_what_it_is() {
    let trace = |error: &RemoteError| error.to_value()["_rtrace"].as_str().unwrap().to_owned();
    // Its trace ends with what it is.
    let passed_on = golden!("error_key");
    assert_eq!(trace(&passed_on).trim_end(), passed_on.trace().trim_end());
    // And this one's does not.
    let grouped = golden!("error_group");
    assert!(trace(&grouped).starts_with(grouped.trace()));
    assert!(trace(&grouped).trim_end().ends_with(&grouped.to_string()), "{}", trace(&grouped));
    // Of one of which nothing but a message is known there is nothing to say.
    assert_eq!(trace(&RemoteError::new("Error", "no")), "");
}

#[test]
fn neither_display_nor_debug_show_the_trace() {
    let error = golden!("error_key");
    assert_eq!(error.to_string(), "KeyError: 'x'");
    assert_eq!(format!("{error:?}"), r#"RemoteError { kind: "KeyError", message: "'x'", .. }"#);
}
