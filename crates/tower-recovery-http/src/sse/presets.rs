//! What the events of well-known streams say.

use memchr::memmem;
use serde_json::Value;
use tower_recovery::stream_replacement::Sight;

use super::{
    SseEvent,
    error_object::{Envelope, is_error_object},
};

/// Events without a meaning that is known from here: what has data is content.
pub(super) fn plain(_: &SseEvent) -> Sight {
    Sight::Content
}

/// Chunks without a name, and `[DONE]` at the end (async-openai 0.43, `client.rs`; openai-python, `_streaming.py`).
pub(super) fn openai_chat(event: &SseEvent) -> Sight {
    match event.event() {
        Some("keepalive") => Sight::KeepAlive,
        Some("error") => Sight::Verdict,
        _ if event.data().trim_ascii() == "[DONE]" => Sight::Terminal,
        _ if is_error_object(event.data().as_bytes()) => Sight::Verdict,
        _ if gives_a_role_alone(event.data().as_bytes()) => Sight::Preamble,
        _ => Sight::Content,
    }
}

/// A chunk that says who speaks, and nothing yet: the first one of a chat. So is what Azure says of the question before that. Only what has a word of either in
/// it is read.
fn gives_a_role_alone(chunk: &[u8]) -> bool {
    let says_something = |(name, value): (&String, &Value)| match value {
        _ if name == "role" => false,
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(values) => !values.is_empty(),
        _ => true,
    };
    let is_about = |word: &str| memmem::find(chunk, word.as_bytes()).is_some();
    let judges_the_question = is_about("\"prompt_filter_results\"");
    if !judges_the_question && !is_about("\"role\"") {
        return false;
    }
    let chunk: Value = serde_json::from_slice(chunk).unwrap_or_default();
    let Some(choices) = chunk["choices"].as_array() else { return false };
    if choices.is_empty() {
        return judges_the_question && chunk["usage"].is_null();
    }
    choices.iter().all(|choice| {
        let delta = choice["delta"].as_object();
        choice["finish_reason"].is_null() && delta.is_some_and(|delta| !delta.iter().any(says_something))
    })
}

/// Events with a type each (async-openai 0.43, `types/responses/stream.rs`; OpenAI's reference, "Responses streaming events").
pub(super) fn openai_responses(event: &SseEvent) -> Sight {
    by_kind(event, |kind| match kind {
        "response.completed" | "response.incomplete" => Some(Sight::Terminal),
        "response.failed" | "error" => Some(Sight::Verdict),
        "keepalive" => Some(Sight::KeepAlive),
        "response.created"
        | "response.queued"
        | "response.in_progress"
        | "response.output_item.added"
        | "response.content_part.added"
        | "response.reasoning_summary_part.added" => Some(Sight::Preamble),
        _ => None,
    })
}

/// Events with a type each (Anthropic's documentation, "Streaming messages").
pub(super) fn anthropic(event: &SseEvent) -> Sight {
    by_kind(event, |kind| match kind {
        "message_stop" => Some(Sight::Terminal),
        "error" => Some(Sight::Verdict),
        "ping" => Some(Sight::KeepAlive),
        "message_start" | "content_block_start" => Some(Sight::Preamble),
        _ => None,
    })
}

/// By the name of the event; by the type in its data where some gateway has dropped the name.
fn by_kind(event: &SseEvent, sight_of: fn(&str) -> Option<Sight>) -> Sight {
    if let Some(name) = event.event().filter(|name| *name != "message") {
        return sight_of(name).unwrap_or(Sight::Content);
    }
    let envelope = Envelope::of(event.data().as_bytes());
    match envelope.kind() {
        Some(kind) => sight_of(kind).unwrap_or(Sight::Content),
        None if envelope.is_error() => Sight::Verdict,
        None => Sight::Content,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sse::SseVerdict;

    /// An event that is a verdict can be typed, and no other can.
    fn check(preset: fn(&SseEvent) -> Sight, name: &str, data: &str, expected: Sight) {
        let event = SseEvent::new(data).with_event(name);
        assert_eq!(preset(&event), expected, "{name} {data}");
        assert_eq!(SseVerdict::of_event(&event).is_some(), expected == Sight::Verdict, "{name} {data}");
    }

    #[test]
    fn a_chat_ends_with_done_and_fails_with_an_error_object() {
        for (name, data, expected) in [
            ("", r#"{"choices":[{"delta":{"content":"Hi"}}]}"#, Sight::Content),
            ("", r#"{"choices":[{"delta":{"role":"assistant","content":"","refusal":null}}]}"#, Sight::Preamble),
            ("", r#"{"choices":[{"delta":{"role":"assistant"},"finish_reason":null}]}"#, Sight::Preamble),
            ("", r#"{"choices":[{"delta":{"role":"assistant","content":"Hi"}}]}"#, Sight::Content),
            ("", r#"{"choices":[{"delta":{"role":"assistant","tool_calls":[{"index":0}]}}]}"#, Sight::Content),
            ("", r#"{"choices":[{"delta":{"role":"assistant"},"finish_reason":"stop"}]}"#, Sight::Content),
            ("", r#"{"choices":[{"delta":{"role":"a"}},{"delta":{"content":"Hi"}}]}"#, Sight::Content),
            ("", r#"{"choices":[],"usage":{"role":1}}"#, Sight::Content),
            ("", r#"{"choices":[],"prompt_filter_results":[{"prompt_index":0}]}"#, Sight::Preamble),
            ("", r#"{"choices":[],"prompt_filter_results":[],"usage":{}}"#, Sight::Content),
            ("", r#"{"choices":[{"delta":{"content":"[DONE]"}}]}"#, Sight::Content),
            ("", r#"{"choices":[{"delta":{"content":"{\"error\": 1}"}}],"error":null}"#, Sight::Content),
            ("", "[DONE]", Sight::Terminal),
            ("done", " [DONE]\n", Sight::Terminal),
            ("", r#"{"error":{"message":"Overloaded","code":502}}"#, Sight::Verdict),
            ("", r#"{"id":"1","choices":[{"finish_reason":"error"}],"error":{"code":502}}"#, Sight::Verdict),
            ("error", "no JSON", Sight::Verdict),
            ("keepalive", "", Sight::KeepAlive),
            ("", "no JSON", Sight::Content),
        ] {
            check(openai_chat, name, data, expected);
        }
    }

    #[test]
    fn a_response_ends_and_fails_by_its_events() {
        let failed = r#"{"type":"response.failed","response":{"error":{"code":"server_error","message":""}}}"#;
        for (name, data, expected) in [
            ("response.created", r#"{"type":"response.created","response":{"error":null}}"#, Sight::Preamble),
            ("", r#"{"type":"response.output_item.added"}"#, Sight::Preamble),
            ("response.output_text.delta", r#"{"type":"error","delta":"x"}"#, Sight::Content),
            ("response.completed", "{}", Sight::Terminal),
            ("response.incomplete", "{}", Sight::Terminal),
            ("response.failed", failed, Sight::Verdict),
            ("error", "{}", Sight::Verdict),
            ("keepalive", "{}", Sight::KeepAlive),
            ("", r#"{"type":"response.completed","response":{"error":null}}"#, Sight::Terminal),
            ("message", r#"{"response":{"x":[1,{"type":"y"}]},"type":"response.incomplete"}"#, Sight::Terminal),
            ("", failed, Sight::Verdict),
            ("", r#"{"type":"error","code":"x","message":"y"}"#, Sight::Verdict),
            ("", r#"{"error":{"message":"a gateway's"}}"#, Sight::Verdict),
            ("", r#"{"type":"response.output_text.delta","delta":"{\"type\":\"error\"}"}"#, Sight::Content),
            ("", r#"{"type":7}"#, Sight::Content),
            ("", "no JSON", Sight::Content),
        ] {
            check(openai_responses, name, data, expected);
        }
    }

    #[test]
    fn a_message_ends_and_fails_by_its_events_and_a_ping_is_a_ping() {
        let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
        for (name, data, expected) in [
            ("message_start", r#"{"type":"message_start","message":{"type":"message"}}"#, Sight::Preamble),
            ("", r#"{"type":"content_block_start","content_block":{"type":"text","text":""}}"#, Sight::Preamble),
            (
                "content_block_delta",
                r#"{"type":"content_block_delta","delta":{"text":"message_stop"}}"#,
                Sight::Content,
            ),
            ("ping", r#"{"type":"ping"}"#, Sight::KeepAlive),
            ("message_stop", r#"{"type":"message_stop"}"#, Sight::Terminal),
            ("error", overloaded, Sight::Verdict),
            ("", r#"{"type":"ping"}"#, Sight::KeepAlive),
            ("", r#"{"type":"message_stop"}"#, Sight::Terminal),
            ("", overloaded, Sight::Verdict),
            ("", r#"{"error":"a gateway's"}"#, Sight::Verdict),
            ("", r#"{"type":"content_block_delta","delta":{"type":"ping"}}"#, Sight::Content),
        ] {
            check(anthropic, name, data, expected);
        }
    }
}
