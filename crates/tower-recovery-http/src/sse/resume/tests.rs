use http::{HeaderName, Response, header};

use super::*;

type Asked = Result<Option<String>, String>;

fn head(status: u16, content_type: &str) -> Parts {
    let response = Response::builder().status(status).header(header::CONTENT_TYPE, content_type);
    response.body(()).unwrap().into_parts().0
}

fn event(id: Option<&str>) -> SseItem {
    let event = SseEvent::new("x");
    SseItem::Event(if let Some(id) = id { event.with_id(id) } else { event })
}

fn hand_out(resume: &mut LastEventIdResume, id: Option<&str>) -> Result<(), String> {
    let handed_out = Resume::<Request<()>, _, _>::hand_out(resume, &event(id));
    handed_out.map_err(|refused| refused.reason.into_owned())
}

fn accept(resume: &mut LastEventIdResume, head: &Parts) -> Result<(), String> {
    let accepted = Resume::<Request<()>, _, _>::accept(resume, head);
    accepted.map_err(|refused| refused.reason.into_owned())
}

/// After these events of the first attempt.
fn after<'id>(ids: impl IntoIterator<Item = Option<&'id str>>) -> LastEventIdResume {
    let mut resume = LastEventIdResume::new();
    Resume::<Request<()>, _, _>::begin(&mut resume, &head(200, "text/event-stream"));
    for id in ids {
        hand_out(&mut resume, id).unwrap();
    }
    resume
}

fn resumed<'id>(ids: impl IntoIterator<Item = Option<&'id str>>) -> LastEventIdResume {
    let mut resume = after(ids);
    accept(&mut resume, &head(200, "text/event-stream; charset=utf-8")).unwrap();
    resume
}

fn asked(resume: &LastEventIdResume) -> Asked {
    let mut request = Request::new(());
    let asked = Resume::<_, Parts, SseItem>::ask(resume, &mut request);
    asked.map_err(|refused| refused.reason.into_owned())?;
    let name = HeaderName::from_static("last-event-id");
    Ok(request.headers().get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()))
}

#[test]
fn the_rest_is_asked_for_after_the_last_event_that_was_handed_out() {
    let id = |id: &str| Ok(Some(id.to_owned()));
    assert_eq!(asked(&after([Some("1")])), id("1"));
    assert_eq!(asked(&after([None, Some("1"), Some("2")])), id("2"));
    assert_eq!(asked(&after([Some(""), Some("\u{fc}")])), id("\u{fc}"));
    let mut resume = after([Some("1")]);
    Resume::<Request<()>, Parts, _>::hand_out(&mut resume, &SseItem::KeepAlive).unwrap();
    assert_eq!(asked(&resume), id("1"), "a sign of life is no event");
}

#[test]
fn nothing_is_asked_for_where_the_last_id_does_not_say_where_the_stream_stands() {
    let none = Err("no event had an id, or the last one was taken back".to_owned());
    assert_eq!(asked(&after([])), none);
    assert_eq!(asked(&after([None])), none);
    assert_eq!(asked(&after([Some("1"), Some("")])), none);
    assert_eq!(asked(&after([Some("1"), Some(""), None])), none);
    let beyond = Err("events were handed out after the last one with an id".to_owned());
    assert_eq!(asked(&after([Some("1"), None])), beyond);
    let twice = Err("its ids do not tell its events apart".to_owned());
    assert_eq!(asked(&after([Some("1"), Some("1")])), twice);
    assert_eq!(asked(&after([Some("1"), Some("2"), Some("1"), Some("3")])), twice);
    assert_eq!(asked(&after([Some("1\u{7f}")])), Err("the last id cannot stand in a header".to_owned()));
}

/// Law 7: a server that looks at no header executes a request again, and one that makes new ids for each connection is not found out.
#[test]
fn the_rest_is_asked_for_by_get_alone_unless_the_server_is_known() {
    let ask = |resume: &LastEventIdResume, method: Method| {
        let mut request = Request::builder().method(method).body(()).unwrap();
        Resume::<_, Parts, SseItem>::ask(resume, &mut request).map_err(|refused| refused.reason.into_owned())?;
        Ok(request.headers().contains_key("last-event-id"))
    };
    let resume = after([Some("8f14e45f-1"), Some("8f14e45f-2")]);
    assert_eq!(ask(&resume, Method::GET), Ok(true));
    let refused = Err("it was not asked for by GET, and another method may execute once more".to_owned());
    for method in [Method::POST, Method::PUT, Method::HEAD] {
        assert_eq!(ask(&resume, method), refused);
    }
    let mut resume = LastEventIdResume::new().for_any_method();
    Resume::<Request<()>, _, _>::begin(&mut resume, &head(200, "text/event-stream"));
    hand_out(&mut resume, Some("1")).unwrap();
    assert_eq!(ask(&resume, Method::POST), Ok(true), "what was said outlives the beginning of a stream");
}

#[test]
fn no_id_is_written_to_a_log() {
    let resume = resumed([Some("3141592653"), Some("2718281828")]);
    let text = format!("{resume:?}");
    for id in ["3141592653", "2718281828"] {
        assert!(!text.contains(id) && !text.contains(&hash_of(id).to_string()), "{text}");
    }
}

#[test]
fn only_a_200_with_an_event_stream_is_an_answer() {
    for (status, content_type, reason) in [
        (204, "text/event-stream", "the answer has the status 204"),
        (206, "text/event-stream", "the answer has the status 206"),
        (503, "text/event-stream", "the answer has the status 503"),
        (200, "application/json", "the answer is no event stream"),
    ] {
        assert_eq!(accept(&mut after([Some("1")]), &head(status, content_type)), Err(reason.to_owned()));
    }
}

#[test]
fn the_rest_begins_with_an_id() {
    let no_id = Err("the first event of the rest has no id".to_owned());
    for id in [None, Some("")] {
        assert_eq!(hand_out(&mut resumed([Some("1")]), id), no_id, "{id:?}");
    }
    let mut resume = resumed([Some("1")]);
    hand_out(&mut resume, Some("2")).unwrap();
    hand_out(&mut resume, None).unwrap();
    assert!(asked(&resume).is_err());
    hand_out(&mut resume, Some("3")).unwrap();
    assert_eq!(asked(&resume), Ok(Some("3".to_owned())));
}

#[test]
fn a_server_that_begins_again_is_found_out_by_its_first_event() {
    let again = Err("an event has an id that was handed out before".to_owned());
    for id in ["1", "2", "3"] {
        assert_eq!(hand_out(&mut resumed([Some("1"), Some("2"), Some("3")]), Some(id)), again);
    }
    let mut resume = resumed([Some("1"), Some("2")]);
    hand_out(&mut resume, Some("3")).unwrap();
    assert_eq!(hand_out(&mut resume, Some("2")), again, "later, too");
    assert_eq!(hand_out(&mut resume, Some("3")), again, "of its own, too");
}

#[test]
fn a_second_break_is_resumed_after_what_the_first_resumption_gave() {
    let mut resume = resumed([Some("1")]);
    assert_eq!(asked(&resume), Ok(Some("1".to_owned())), "nothing came of it");
    accept(&mut resume, &head(200, "text/event-stream")).unwrap();
    hand_out(&mut resume, Some("2")).unwrap();
    assert_eq!(asked(&resume), Ok(Some("2".to_owned())));
    accept(&mut resume, &head(200, "text/event-stream")).unwrap();
    assert!(hand_out(&mut resume, Some("1")).is_err());
}

#[test]
fn of_a_long_stream_the_first_id_and_the_last_ones_are_remembered() {
    let ids: Vec<_> = (0..3_000).map(|id| id.to_string()).collect();
    let ids = || ids.iter().map(|id| Some(id.as_str()));
    for (id, is_remembered) in [(0, true), (1, false), (3_000 - 1_025, false), (3_000 - 1_024, true), (2_999, true)] {
        assert_eq!(hand_out(&mut resumed(ids()), Some(&id.to_string())).is_err(), is_remembered, "{id}");
    }
    assert_eq!(resumed(ids()).handed_out.last.len(), REMEMBERED);
}

#[test]
fn a_stream_that_begins_anew_has_no_past() {
    let mut resume = after([Some("1"), Some("1")]);
    Resume::<Request<()>, _, _>::begin(&mut resume, &head(200, "text/event-stream"));
    hand_out(&mut resume, Some("1")).unwrap();
    assert_eq!(asked(&resume), Ok(Some("1".to_owned())));
}
