//! [`RepeatableBody`]: how a request body is sent again; [`ReplayableBody`]: a stream that can be.
//!
//! A request is repeated from a copy that was made before it was sent. Bodies that are whole in memory are cloned; a stream can be read
//! once only, so [`ReplayableBody`] keeps what it yields, up to a bound, and copies of it begin with what was kept and go on with the
//! stream. [`SentOnce`] is for a body that is never to be copied.
//!
//! # Examples
//!
//! A stream whose first sending breaks off, and the copy that is sent instead:
//!
//! ```
//! use std::convert::Infallible;
//! use bytes::Bytes;
//! use futures_util::stream;
//! use http_body::Frame;
//! use http_body_util::{BodyExt, StreamBody};
//! use tower_recovery_http::{RepeatableBody, ReplayableBody};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! let parts = ["the first part, ", "the second part, ", "the last"];
//! let frames = parts.map(|part| Ok::<_, Infallible>(Frame::data(Bytes::from_static(part.as_bytes()))));
//! let mut first = ReplayableBody::new(StreamBody::new(stream::iter(frames)), 64 << 10);
//! let again = first.try_copy().expect("nothing was sent of it");
//!
//! first.frame().await.expect("a first part")?;
//! drop(first); // The connection broke.
//!
//! assert!(again.is_repeatable());
//! assert_eq!(again.collect().await?.to_bytes(), parts.concat());
//! # Ok(())
//! # }
//! ```
//!
//! One type for a whole stack: bytes go as they are, anything else is boxed.
//!
//! ```
//! use bytes::Bytes;
//! use http_body_util::Full;
//! use tower_recovery_http::ReplayableBody;
//!
//! let whole: ReplayableBody = ReplayableBody::from("a body");
//! let upload: ReplayableBody = ReplayableBody::boxed(Full::new(Bytes::from_static(b"a stream")), 1 << 20);
//! # let _ = (whole, upload);
//! ```

mod body;
mod buffer;
mod error;
mod in_bytes;
mod repeatable;
mod sent_once;
mod shared;
mod state;

pub use self::{body::ReplayableBody, error::ReplayError, repeatable::RepeatableBody, sent_once::SentOnce};
