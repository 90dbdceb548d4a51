//! What the replacement of streams must know of server-sent events.

use std::{error::Error, fmt};

use http::{Response, response::Parts};
use http_body::Body;
use tower::BoxError;
use tower_recovery::{
    InvalidSetting, Verdict, sources,
    stream_replacement::{Sight, StreamRules},
};

use super::{
    EventNotUtf8, EventTooLong, SseDecoder, SseEvent, SseItem,
    decoder::{MAX_EVENT_BYTES, checked_max_event_bytes},
    error_object::is_error_object,
    head::is_event_stream,
    presets,
};
use crate::HttpClassifier;

/// What the events of a stream say, and when the whole of it has come.
///
/// | what comes | what it is |
/// |---|---|
/// | a status that is no success, or 204, or 205 | a verdict: the body goes out [raw](SseItem::Raw) |
/// | a body that is not `text/event-stream`, or in a content coding | the same: whoever wants its events decodes it below |
/// | a JSON object with an `error`, without any event stream round it, in the place of the first event | a verdict, raw |
/// | an event | what the function says that was given to [`new`](Self::new), or one of the presets |
/// | comments, blank lines, blocks without data, a part of an event below 4 KiB | a keep-alive |
/// | a larger part of an event | progress |
/// | the end of the body before a [`Terminal`](Sight::Terminal) event | incomplete; complete with [`complete_at_clean_end`](Self::complete_at_clean_end) |
/// | an event that is too long, or not UTF-8 | the other side's last word: answered, and permanent |
/// | another error of the body | what an [`HttpClassifier`] says |
///
/// # Examples
///
/// ```
/// use tower_recovery::stream_replacement::Sight;
/// use tower_recovery_http::sse::SseRules;
///
/// let chat = SseRules::openai_chat().max_event_bytes(1 << 20)?;
///
/// // One's own: jobs that report their state.
/// let jobs = SseRules::new(|event| match event.event() {
///     Some("alive") => Sight::KeepAlive,
///     Some("done") => Sight::Terminal,
///     Some("failed") => Sight::Verdict,
///     _ => Sight::Content,
/// });
/// # let _ = (chat, jobs);
/// # Ok::<(), tower_recovery::InvalidSetting>(())
/// ```
#[derive(Clone)]
pub struct SseRules {
    look: fn(&SseEvent) -> Sight,
    completes_at_clean_end: bool,
    max_event_bytes: usize,
    classifier: HttpClassifier,
}

impl SseRules {
    /// Rules that see events like this, and take a stream for incomplete that ends without a [`Terminal`](Sight::Terminal) one.
    #[must_use]
    pub fn new(look: fn(&SseEvent) -> Sight) -> Self {
        Self {
            look,
            completes_at_clean_end: false,
            max_event_bytes: MAX_EVENT_BYTES,
            classifier: HttpClassifier::new(),
        }
    }

    /// Events of any kind, all of them content; complete at a clean end.
    #[must_use]
    pub fn plain() -> Self {
        Self::new(presets::plain).complete_at_clean_end()
    }

    /// OpenAI's chat completions, and everybody's who is compatible with them: `[DONE]` is terminal; a verdict is an event called `error`, and a JSON
    /// object with an `error` at its top, which is what OpenAI's own clients raise. An event called `keepalive` is that. A chunk that says who speaks and nothing
    /// else is a [`Preamble`](Sight::Preamble).
    ///
    /// (Sources: async-openai 0.43, `client.rs`; openai-python, `_streaming.py`.)
    #[must_use]
    pub fn openai_chat() -> Self {
        Self::new(presets::openai_chat)
    }

    /// OpenAI's Responses API: `response.completed` and `response.incomplete` are terminal, `response.failed` and `error` verdicts, `keepalive` is that;
    /// what is created, queued, in progress or added is a [`Preamble`](Sight::Preamble). Events
    /// without a name go by the `type` in their data, and are verdicts too if they have an `error` instead of a type.
    ///
    /// (Sources: async-openai 0.43, `types/responses/stream.rs`;
    /// <https://developers.openai.com/api/reference/resources/responses/streaming-events>.)
    #[must_use]
    pub fn openai_responses() -> Self {
        Self::new(presets::openai_responses)
    }

    /// Anthropic's Messages API: `message_stop` is terminal, `error` a verdict, `ping` a keep-alive, `message_start` and
    /// `content_block_start` a [`Preamble`](Sight::Preamble). Events without a name go by the `type` in their data, and
    /// are verdicts too if they have an `error` instead of a type.
    ///
    /// (Source: <https://docs.claude.com/en/docs/build-with-claude/streaming>.)
    #[must_use]
    pub fn anthropic() -> Self {
        Self::new(presets::anthropic)
    }

    /// A stream that ends cleanly is complete, with or without a [`Terminal`](Sight::Terminal) event.
    ///
    /// A clean end alone proves nothing: see [what stands below](super#what-stands-below).
    #[must_use]
    pub fn complete_at_clean_end(mut self) -> Self {
        self.completes_at_clean_end = true;
        self
    }

    /// How many bytes an event may hold: 16 MiB, unless it is said here. See [`SseDecoder::max_event_bytes`].
    ///
    /// # Errors
    ///
    /// It is not from 1 to 2^30 (1 GiB).
    pub fn max_event_bytes(mut self, limit: usize) -> Result<Self, InvalidSetting> {
        self.max_event_bytes = checked_max_event_bytes(limit)?;
        Ok(self)
    }

    /// Who says what an error of the body proves. By default, a classifier without rules of the user's.
    #[must_use]
    pub fn classified_by(mut self, classifier: HttpClassifier) -> Self {
        self.classifier = classifier;
        self
    }
}

impl<ResponseBody> StreamRules<Response<ResponseBody>> for SseRules
where
    ResponseBody: Body + Unpin,
    ResponseBody::Error: Into<BoxError>,
{
    type Head = Parts;
    type Item = SseItem;
    type Items = SseDecoder<ResponseBody>;

    fn is_verdict(&self, response: &Response<ResponseBody>) -> bool {
        !is_event_stream(response.status(), response.headers())
    }

    fn open(&mut self, response: Response<ResponseBody>) -> (Parts, Self::Items) {
        let (head, body) = response.into_parts();
        let has_events = is_event_stream(head.status, &head.headers);
        let mut items = if has_events { SseDecoder::new(body) } else { SseDecoder::raw(body) };
        items.set_max_event_bytes(self.max_event_bytes);
        items.set_look(self.look);
        (head, items)
    }

    fn look(&mut self, item: &SseItem) -> Sight {
        match item {
            SseItem::Event(event) => event.sight().unwrap_or_else(|| (self.look)(event)),
            SseItem::KeepAlive => Sight::KeepAlive,
            SseItem::Progress => Sight::Progress,
            SseItem::Raw(object) if is_error_object(object) => Sight::Verdict,
            SseItem::Raw(_) => Sight::Progress,
        }
    }

    fn is_complete(&self) -> bool {
        self.completes_at_clean_end
    }

    fn broken_by(&self, error: &(dyn Error + 'static)) -> Verdict {
        let is_of_the_stream = sources(error).any(|link| link.is::<EventTooLong>() || link.is::<EventNotUtf8>());
        if is_of_the_stream { Verdict::answered().permanent() } else { self.classifier.verdict_of_error(error) }
    }

    fn bytes(&self, item: &SseItem) -> u64 {
        item.size() as u64
    }
}

impl fmt::Debug for SseRules {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SseRules")
            .field("completes_at_clean_end", &self.completes_at_clean_end)
            .field("max_event_bytes", &self.max_event_bytes)
            .field("classifier", &self.classifier)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
