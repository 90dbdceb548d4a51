use std::io;

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt};
use http::{StatusCode, header};
use http_body_util::Full;

use super::*;

fn response(status: u16, content_type: &str, body: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response.headers_mut().insert(header::CONTENT_TYPE, content_type.parse().unwrap());
    response
}

/// Whether the response is a verdict, what its items say, and whether it is complete in the end.
fn seen(mut rules: SseRules, response: Response<Full<Bytes>>) -> (bool, Vec<Sight>, bool) {
    let is_verdict = rules.is_verdict(&response);
    let (_, items) = rules.open(response);
    let items = items.map(Result::unwrap).collect::<Vec<_>>().now_or_never().unwrap();
    let sights = items.iter().map(|item| StreamRules::<Response<Full<Bytes>>>::look(&mut rules, item)).collect();
    (is_verdict, sights, StreamRules::<Response<Full<Bytes>>>::is_complete(&rules))
}

#[test]
fn what_is_no_event_stream_is_a_verdict_and_goes_out_as_it_is() {
    for (status, content_type) in [(503, "application/json"), (200, "application/json"), (204, "text/event-stream")] {
        for rules in [SseRules::openai_chat(), SseRules::plain()] {
            let mut rules = rules;
            let response = response(status, content_type, "data: {\"error\":1}\n\n");
            assert!(rules.is_verdict(&response), "{status} {content_type}: neither looked at nor asked for its end");
            let (_, items) = rules.open(response);
            let items = items.map(Result::unwrap).collect::<Vec<_>>().now_or_never().unwrap();
            assert_eq!(items, [SseItem::Raw(Bytes::from_static(b"data: {\"error\":1}\n\n"))]);
        }
    }
}

#[test]
fn an_event_stream_is_looked_at_item_by_item() {
    let body = ": c\n\ndata: {}\n\ndata: {\"error\":1}\n\ndata: [DONE]\n\ndata";
    let sights = vec![Sight::Content, Sight::Verdict, Sight::Terminal];
    assert_eq!(seen(SseRules::openai_chat(), response(200, "text/event-stream", body)), (false, sights, false));
}

/// B79: the end of the body is the end of the stream only where nothing else says what is.
#[test]
fn b79_without_its_last_event_a_stream_is_incomplete_unless_there_is_no_such_event() {
    let chat = response(200, "text/event-stream", ": c\n\n");
    assert_eq!(seen(SseRules::openai_chat(), chat.clone()), (false, vec![Sight::KeepAlive], false));
    assert_eq!(seen(SseRules::openai_responses(), chat.clone()), (false, vec![Sight::KeepAlive], false));
    assert_eq!(seen(SseRules::anthropic(), chat.clone()), (false, vec![Sight::KeepAlive], false));
    assert_eq!(seen(SseRules::plain(), chat), (false, vec![Sight::KeepAlive], true));
}

/// B81: an error object is a verdict wherever it stands in the place of the events.
#[test]
fn b81_an_error_object_in_the_place_of_the_events_is_a_verdict() {
    let error = response(200, "text/event-stream", "{\"error\":{\"message\":\"no\"}}\n\n");
    assert_eq!(seen(SseRules::anthropic(), error), (false, vec![Sight::Verdict], false));
    let other = response(200, "text/event-stream", "{\"choices\":[]}\n\n");
    assert_eq!(seen(SseRules::openai_chat(), other), (false, vec![Sight::Progress], false));
}

#[test]
fn each_attempt_is_opened_anew() {
    let mut rules = SseRules::openai_chat();
    let _ = rules.open(response(503, "application/json", ""));
    assert_eq!(seen(rules, response(200, "text/event-stream", "data\n\n")), (false, vec![Sight::Content], false));
}

#[test]
fn an_error_of_the_stream_itself_is_the_other_sides_last_word() {
    let broken_by =
        |error: &(dyn Error + 'static)| StreamRules::<Response<Full<Bytes>>>::broken_by(&SseRules::plain(), error);
    let last_word = Verdict::answered().permanent();
    let not_utf8 = EventNotUtf8 { source: String::from_utf8(vec![0xFF]).unwrap_err().utf8_error() };
    assert_eq!(broken_by(&EventTooLong { limit: 1 }), last_word);
    assert_eq!(broken_by(&io::Error::other(not_utf8)), last_word);
    assert_eq!(broken_by(&io::Error::from(io::ErrorKind::ConnectionReset)), Verdict::maybe_sent().stale());
    assert_eq!(broken_by(&fmt::Error), Verdict::unrecognised());
}

#[test]
fn the_limit_of_the_rules_is_that_of_their_decoders() {
    let mut rules = SseRules::plain().max_event_bytes(8).unwrap();
    let (_, mut items) = rules.open(response(200, "text/event-stream", "data: 123\n\n"));
    assert!(items.next().now_or_never().unwrap().unwrap().unwrap_err().is::<EventTooLong>());
    assert!(SseRules::plain().max_event_bytes(0).is_err());
}

#[test]
fn an_item_is_as_large_as_its_texts() {
    let bytes = |item| StreamRules::<Response<Full<Bytes>>>::bytes(&SseRules::plain(), &item);
    assert_eq!(bytes(SseItem::Event(SseEvent::new("123").with_id("4"))), 4);
    assert_eq!(bytes(SseItem::Raw(Bytes::from_static(b"12"))), 2);
    assert_eq!(bytes(SseItem::Progress) + bytes(SseItem::KeepAlive), 0);
}
