//! Which clean ends of a body prove that it is whole.
//!
//! hyper ends an HTTP/2 stream that the peer resets with `NO_ERROR` like a whole one, and a body of HTTP/1 that has neither length nor chunks ends with its
//! connection, whatever ended that. So a layer that must know whether a body is whole looks at its head, and asks the body at its end:
//!
//! | the head | the end is believed |
//! |---|---|
//! | answers a `HEAD` or a successful `CONNECT`, or has a status without a body: 1xx, 204, 304 | always |
//! | has a `content-length` | once that many bytes have come |
//! | is of HTTP/2, without one | if the body says that it is at its end: the peer marked it |
//! | is of HTTP/1, chunked | always: hyper has seen the last chunk |
//! | is of HTTP/1, with neither | if the body says so, or where such ends are trusted |
//! | is of another version | always |
//!
//! Any other end is [`EndedEarly`] or [`Unterminated`].
//!
//! | layer | what it makes of it | the end of the connection | any clean end without a length |
//! |---|---|---|---|
//! | [`CollectLayer`](crate::CollectLayer) | the source of an [`IncompleteBody`](crate::IncompleteBody) | is trusted | [`trust_clean_ends`](crate::CollectLayer::trust_clean_ends) |
//! | [`StreamedLayer`](crate::StreamedLayer) | an error of the body | [`trust_close_delimited`](crate::StreamedLayer::trust_close_delimited) | [`trust_clean_ends`](crate::StreamedLayer::trust_clean_ends) |
//!
//! Whatever changes bodies, such as a decompression, takes the length off the head and may hide the end: it belongs above these layers. Where it cannot be put
//! there, clean ends must be trusted, or every whole body of HTTP/2 without a length would be an error.
//!
//! A peer may end an answer, and then reset its stream with `NO_ERROR` because it wants no more of the request (RFC 9113 §8.1): such an answer is whole. The h2 crate
//! tells the two apart since its 0.4.16.

mod awaited;
mod error;
mod length;

pub use self::error::{EndedEarly, UnprovenEnd, Unterminated};
pub(crate) use self::{
    awaited::{Asked, Awaited, Trust},
    length::promised_length,
};
