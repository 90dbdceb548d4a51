//! Server-sent events: decoded, judged, resumed.
//!
//! * [`SseDecoder`] makes events of a body, and says between them that the other side is alive, or at work.
//! * [`SseRules`] say of each of them what it means to the
//!   [replacement of streams](tower_recovery::stream_replacement): for OpenAI's chat and responses, for Anthropic's messages, for your own.
//! * [`LastEventIdResume`] asks for the rest of a stream that broke, and checks that what comes is that.
//! * [`SseEvents`], and [`SseMarkedEvents`], give a reader events and nothing else, and verdicts for errors.
//! * [`SseVerdict`] types what the other side says when it says no.
//!
//! **When**: for routes that answer with `text/event-stream`. **Not** for anything else that is streamed: a body that is no event stream passes as it is.
//!
//! # What is decoded
//!
//! Events as WHATWG HTML §9.2.6 has them, whole ones only. A block without data is no event; its id and its retry time go over to the next one, so that they
//! are not lost to whoever gets the events alone. Field names that are not known are passed over. A field that is not UTF-8 ends the stream, where a browser
//! would put in a replacement character: a part of a result that nobody sent is not handed out.
//!
//! An event that comes in parts is a [`KeepAlive`](SseItem::KeepAlive) at first, and [`Progress`](SseItem::Progress) once 4 KiB of it have come: a ping may come in parts too,
//! and a stream of nothing but pings is not one at work. (A server that takes longer for the first 4 KiB of one event than the policy's
//! [`keep_alive_idle`](tower_recovery::StreamPolicy::keep_alive_idle) is taken for a silent one.)
//!
//! # Why this parser
//!
//! The fields of a block are read, and events are written, by `sse-stream` 0.3, which the Rust SDK of MCP reads with: it keeps apart what is empty and what is
//! missing, takes no id with a NUL and no retry time but digits, and refuses what is not UTF-8. It keeps comments to itself, has no limit, and gives no access to the
//! body below it; so the lines are found here, where bytes are counted, and it is given one whole block after the other.
//!
//! `eventsource-stream` 0.2.3, which async-openai reads with, was weighed and left: it slices a byte order mark in the middle and panics, copies the rest of its
//! buffer for every line (twice the lines, four times the time), waits behind a byte that is not UTF-8 until the body ends, without bound, and holds back an event
//! that ends with CR until something follows. Events that were written here are safe with it: no byte order mark, LF alone, UTF-8.
//!
//! # Examples
//!
//! ```
//! use bytes::Bytes;
//! use futures_util::StreamExt;
//! use http_body_util::Full;
//! use tower_recovery_http::sse::{SseDecoder, SseItem};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let body = Full::<Bytes>::from(": hello\n\nevent: delta\ndata: Good\n\ndata: [DO");
//! let mut items = SseDecoder::new(body);
//! let Some(Ok(SseItem::Event(event))) = items.next().await else { panic!("the first event") };
//! assert_eq!((event.event(), event.data()), (Some("delta"), "Good"));
//! assert!(items.next().await.is_none(), "what is unfinished at the end is no event");
//! # }
//! ```
//!
//! # What stands below
//!
//! Whoever decides by the end of the body ([`SseRules::plain`]) puts below whatever makes an error of an end that proves nothing: hyper ends a body cleanly
//! when an HTTP/1 connection without another framing closes, and when an HTTP/2 stream is reset with `NO_ERROR`.
//!
//! # Errors
//!
//! [`EventTooLong`] and [`EventNotUtf8`], or the error of the body.

mod blocks;
mod decoder;
mod error;
mod error_object;
mod event;
mod events;
mod head;
mod item;
mod marked_events;
mod parse;
mod presets;
mod reader;
mod resume;
mod rules;
mod verdict;

pub(crate) use self::error_object::is_error_object;
pub use self::{
    decoder::SseDecoder,
    error::{EventNotUtf8, EventTooLong},
    event::SseEvent,
    events::SseEvents,
    item::SseItem,
    marked_events::SseMarkedEvents,
    reader::NoEventStream,
    resume::LastEventIdResume,
    rules::SseRules,
    verdict::{SseVerdict, VerdictKind},
};
