//! Asking for the events after the last one.

use std::{
    collections::hash_map::DefaultHasher,
    fmt,
    hash::{Hash, Hasher},
};

use http::{HeaderName, HeaderValue, Method, Request, StatusCode, response::Parts};
use tower_recovery::stream_replacement::{Resume, ResumeRefused};

use super::{SseEvent, SseItem, head::is_event_stream};

/// Resumes an event stream by `Last-Event-ID` (WHATWG HTML §9.2.3), and believes nothing.
///
/// **When**: for streams that are asked for by `GET` (MCP resumes by one, too) and whose ids are positions in one sequence that outlives its connection. **Not** for ids that
/// are made anew for each connection: a server that does not look at the header begins again under ids that nobody has seen, and passes for one that went on.
///
/// The rest is asked for by `GET` alone: a server that does not look at the header would execute a `POST` once more. ([`for_any_method`](Self::for_any_method)
/// is for servers that are known to look at it.)
///
/// The rest is asked for only where the last event's id says where the stream stands: it has one of its own, and no id came twice. What comes is the rest only if it is a
/// 200 with an event stream, its first event has an id, and no event has an id that was handed out before: a server that does not look at the header and begins
/// again is found out by its first event. The first id of the stream is remembered for that, and the last 1,024, as 64 bits each.
///
/// That the server leaves nothing out is not seen from here. A server that steps back by more than 1,024 events, and not to the first one, is found out only when it repeats
/// an id that is remembered.
///
/// # Examples
///
/// ```
/// use http::{Request, Response};
/// use tower_recovery::stream_replacement::Resume;
/// use tower_recovery_http::sse::{LastEventIdResume, SseEvent, SseItem};
///
/// let (head, ()) = Response::new(()).into_parts();
/// let mut resume = LastEventIdResume::new();
/// Resume::<Request<()>, _, _>::begin(&mut resume, &head);
/// Resume::<Request<()>, _, _>::hand_out(&mut resume, &SseItem::Event(SseEvent::new("a").with_id("7")))?;
///
/// let mut request = Request::new(());
/// Resume::<_, http::response::Parts, SseItem>::ask(&resume, &mut request)?;
/// assert_eq!(request.headers()["last-event-id"], "7");
/// # Ok::<(), tower_recovery::stream_replacement::ResumeRefused>(())
/// ```
#[derive(Clone, Default)]
pub struct LastEventIdResume {
    asks_by_any_method: bool,
    // Of the last event that had one. Empty where there was none, or where it was taken back.
    last_id: String,
    // An event without an id was handed out after the last one that had one.
    is_beyond_last_id: bool,
    has_repeated_id: bool,
    handed_out: HandedOut,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    First,
    /// An answer was accepted, and nothing of it was handed out yet.
    Accepted,
    Resumed,
}

/// The ids of the events that were handed out, as hashes: two that collide refuse a resumption that was right, which is safe.
#[derive(Clone, Default)]
struct HandedOut {
    first: Option<u64>,
    last: Vec<u64>,
    oldest: usize,
}

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// How many of the last ids are remembered.
const REMEMBERED: usize = 1024;

impl LastEventIdResume {
    /// Nothing was handed out yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The rest is asked for by whatever method the stream was asked for.
    ///
    /// **When**: the server is known to look at `Last-Event-ID` of such requests, and to execute none of them that has one. If it is not, a `POST` is executed
    /// again, and where its ids are new ones the words of its second answer follow those of the first.
    #[must_use]
    pub fn for_any_method(mut self) -> Self {
        self.asks_by_any_method = true;
        self
    }

    fn hand_out_event(&mut self, event: &SseEvent) -> Result<(), ResumeRefused> {
        let id = event.id().filter(|id| !id.is_empty());
        if let Some(id) = id {
            let hash = hash_of(id);
            if self.handed_out.contains(hash) {
                if self.state != State::First {
                    return Err(ResumeRefused::new("an event has an id that was handed out before"));
                }
                self.has_repeated_id = true;
            }
            self.handed_out.add(hash);
        } else if self.state == State::Accepted {
            return Err(ResumeRefused::new("the first event of the rest has no id"));
        }
        if self.state == State::Accepted {
            self.state = State::Resumed;
        }
        if let Some(id) = event.id() {
            self.last_id.clear();
            self.last_id.push_str(id);
        }
        self.is_beyond_last_id = event.id().is_none();
        Ok(())
    }
}

impl<RequestBody> Resume<Request<RequestBody>, Parts, SseItem> for LastEventIdResume {
    fn begin(&mut self, _: &Parts) {
        *self = Self { asks_by_any_method: self.asks_by_any_method, ..Self::new() };
    }

    fn ask(&self, request: &mut Request<RequestBody>) -> Result<(), ResumeRefused> {
        let refused = |reason: &'static str| Err(ResumeRefused::new(reason));
        if !self.asks_by_any_method && request.method() != Method::GET {
            return refused("it was not asked for by GET, and another method may execute once more");
        }
        if self.last_id.is_empty() {
            return refused("no event had an id, or the last one was taken back");
        }
        if self.is_beyond_last_id {
            return refused("events were handed out after the last one with an id");
        }
        if self.has_repeated_id {
            return refused("its ids do not tell its events apart");
        }
        let Ok(value) = HeaderValue::from_bytes(self.last_id.as_bytes()) else {
            return refused("the last id cannot stand in a header");
        };
        request.headers_mut().insert(LAST_EVENT_ID, value);
        Ok(())
    }

    fn accept(&mut self, head: &Parts) -> Result<(), ResumeRefused> {
        if head.status != StatusCode::OK {
            return Err(ResumeRefused::new(format!("the answer has the status {}", head.status.as_u16())));
        }
        if !is_event_stream(head.status, &head.headers) {
            return Err(ResumeRefused::new("the answer is no event stream"));
        }
        self.state = State::Accepted;
        Ok(())
    }

    fn hand_out(&mut self, item: &SseItem) -> Result<(), ResumeRefused> {
        if let SseItem::Event(event) = item { self.hand_out_event(event) } else { Ok(()) }
    }
}

/// Without the ids, which may say what was asked for.
impl fmt::Debug for LastEventIdResume {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("LastEventIdResume")
            .field("asks_by_any_method", &self.asks_by_any_method)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl HandedOut {
    fn contains(&self, id: u64) -> bool {
        self.first == Some(id) || self.last.contains(&id)
    }

    fn add(&mut self, id: u64) {
        self.first.get_or_insert(id);
        if self.last.len() < REMEMBERED {
            self.last.push(id);
        } else {
            self.last[self.oldest] = id;
            self.oldest = (self.oldest + 1) % REMEMBERED;
        }
    }
}

fn hash_of(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests;
