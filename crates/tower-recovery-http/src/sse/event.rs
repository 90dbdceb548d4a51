//! One event.

use std::time::Duration;

use bytes::Bytes;
use sse_stream::Sse;
use tower_recovery::stream_replacement::Sight;

/// One event of an event stream: what came between two blank lines, once its `data` is whole.
///
/// Its name and its id are one line each, and its data has no line end but LF: so it can always be written, and reads as the same again.
///
/// # Examples
///
/// ```
/// use tower_recovery_http::sse::SseEvent;
///
/// let event = SseEvent::new("one\ntwo").with_event("delta").with_id("7");
/// assert_eq!(event.into_bytes(), "event: delta\ndata: one\ndata: two\nid: 7\n\n");
/// ```
#[derive(Clone, Debug, Default)]
pub struct SseEvent {
    event: Option<String>,
    data: String,
    id: Option<String>,
    retry: Option<u64>,
    // What the rules of the stream that it came from see in it.
    sight: Option<Sight>,
}

impl SseEvent {
    /// An event with this data, and without a name, which makes it a `message`.
    #[must_use]
    pub fn new(data: impl Into<String>) -> Self {
        let data = data.into();
        let data = if data.contains('\r') { data.replace("\r\n", "\n").replace('\r', "\n") } else { data };
        Self { data, ..Self::default() }
    }

    /// Gives it a name. What follows a line end is cut off; an empty name is none.
    #[must_use]
    pub fn with_event(mut self, event: impl Into<String>) -> Self {
        self.event = Some(cut_at(event.into(), &['\r', '\n'])).filter(|event| !event.is_empty());
        self
    }

    /// Gives it an id. What follows a line end or a NUL is cut off; an empty id takes back the ids before it.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(cut_at(id.into(), &['\r', '\n', '\0']));
        self
    }

    /// Asks the client to wait this long before it connects again, in whole milliseconds.
    #[must_use]
    pub fn with_retry(mut self, retry: Duration) -> Self {
        self.retry = Some(retry.as_millis().try_into().unwrap_or(u64::MAX));
        self
    }

    /// What the [rules](super::SseRules) of its stream see in it. `None` for one that came from no stream, or from one without rules.
    #[must_use]
    pub fn sight(&self) -> Option<Sight> {
        self.sight
    }

    pub(super) fn seen(mut self, look: fn(&Self) -> Sight) -> Self {
        self.sight = Some(look(&self));
        self
    }

    /// The name that it was given: `None` for a `message`.
    #[must_use]
    pub fn event(&self) -> Option<&str> {
        self.event.as_deref()
    }

    /// Its data, the lines of it joined by LF.
    #[must_use]
    pub fn data(&self) -> &str {
        &self.data
    }

    /// The id that it was given itself. One without leaves the last id of the stream as it is; an empty one takes it back.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// How long the server asks to wait before the client connects again.
    #[must_use]
    pub fn retry(&self) -> Option<Duration> {
        self.retry.map(Duration::from_millis)
    }

    /// How many bytes its texts hold.
    #[must_use]
    pub fn size(&self) -> usize {
        let texts = [self.event(), Some(self.data()), self.id()];
        texts.into_iter().flatten().map(str::len).sum()
    }

    /// Writes it as it stands in a stream, its blank line included, with LF as its line ends. It is not what came byte by byte, but it reads the same.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        let Self { event, data, id, retry, .. } = self;
        let block = Sse { event, data: Some(data), id, retry };
        block.encode().expect("names and ids were cut at what cannot be written")
    }

    /// What the parser found in one block; `None` for a block without data, which is no event (WHATWG HTML §9.2.6).
    pub(super) fn from_block(block: Sse) -> Result<Self, Metadata> {
        let Sse { event, data, id, retry } = block;
        let Some(mut data) = data else { return Err(Metadata { id, retry }) };
        // The parser leaves up to as much room again, of which who holds events back up to a limit knows nothing.
        data.shrink_to_fit();
        Ok(Self { event: event.filter(|event| !event.is_empty()), data, id, retry, sight: None })
    }

    /// Takes over what earlier blocks without data said, where it does not say it itself.
    pub(super) fn inherit(&mut self, metadata: &mut Metadata) {
        let Metadata { id, retry } = std::mem::take(metadata);
        self.id = self.id.take().or(id);
        self.retry = self.retry.or(retry);
    }
}

/// By what is written, whatever anybody sees in it.
impl PartialEq for SseEvent {
    fn eq(&self, other: &Self) -> bool {
        (&self.event, &self.data, &self.id, self.retry) == (&other.event, &other.data, &other.id, other.retry)
    }
}

impl Eq for SseEvent {}

/// What a block without data says: it holds for what comes after it.
#[derive(Debug, Default)]
pub(super) struct Metadata {
    pub(super) id: Option<String>,
    pub(super) retry: Option<u64>,
}

impl Metadata {
    pub(super) fn update(&mut self, later: Self) {
        self.id = later.id.or_else(|| self.id.take());
        self.retry = later.retry.or(self.retry);
    }
}

fn cut_at(mut text: String, ends: &[char]) -> String {
    if let Some(end) = text.find(ends) {
        text.truncate(end);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_written_with_what_it_has() {
        for (event, expected) in [
            (SseEvent::new("x"), "data: x\n\n"),
            (SseEvent::new(""), "data: \n\n"),
            (SseEvent::new(" x\r\ny\rz\n"), "data:  x\ndata: y\ndata: z\ndata: \n\n"),
            (SseEvent::new("x").with_event("a\nid: b").with_id("1\n\ndata: c"), "event: a\ndata: x\nid: 1\n\n"),
            (SseEvent::new("x").with_event("").with_id(""), "data: x\nid: \n\n"),
            (SseEvent::new("x").with_id("1\0"), "data: x\nid: 1\n\n"),
            (SseEvent::new("x").with_retry(Duration::from_secs(3)), "data: x\nretry: 3000\n\n"),
            (SseEvent::new("x").with_retry(Duration::MAX), "data: x\nretry: 18446744073709551615\n\n"),
        ] {
            assert_eq!(event.into_bytes(), expected);
        }
    }

    #[test]
    fn an_event_that_was_read_holds_no_more_than_its_size() {
        for lines in [1, 9] {
            let (mut data, line) = (String::with_capacity(1 << 20), "x".repeat(10_000));
            data.extend(std::iter::repeat_n(&*line, lines));
            let event = SseEvent::from_block(Sse { data: Some(data), ..Sse::default() }).unwrap();
            assert_eq!((event.data.capacity(), event.size()), (lines * 10_000, lines * 10_000));
        }
    }

    #[test]
    fn the_size_of_an_event_is_that_of_its_texts() {
        assert_eq!(SseEvent::new("four").with_event("ab").with_id("c").with_retry(Duration::ZERO).size(), 7);
    }
}
