//! The front door of a stream route: [`HttpStreams`].
//!
//! An answer that is a stream, a model's words or a download, breaks long after its call has ended. Behind this door it is watched to its end, and replaced as its
//! [policy](tower_recovery::StreamPolicy) says; what the user gets is one stream, never two glued together. See
//! [`tower_recovery::stream_replacement`] for what is replaced, and when.
//!
//! **When**: for routes whose requests the server may execute twice. A policy of the mode `retry_on_healthy_probe` says that it may.
//!
//! The streams that are handed out are not `Unpin`: `pin!` them, or `Box::pin` them where they are kept.
//!
//! # Time
//!
//! A [deadline](crate::HttpRecovery::deadline) or an [attempt timeout](crate::HttpRecovery::attempt_timeout) of the stack bounds each attempt until its head has come, and not the
//! stream after it, nor the call with its replacements. An attempt that takes longer is replaced as one that broke, without a probe; where a deadline runs out over what is repeated
//! below, the call ends. The time of a stream is its policy's: leave them out, and a silence before the head is seen like any other.
//!
//! # Examples
//!
//! A model's words as they come, replaced until the first of them was handed out:
//!
//! ```
//! use std::{convert::Infallible, pin::pin, time::Duration};
//! use bytes::Bytes;
//! use futures_util::StreamExt;
//! use http::Request;
//! use http_body_util::Full;
//! use tower::{Service, ServiceExt, service_fn};
//! use tower_recovery::{Recovery, Resolved, StreamMode, StreamPolicy};
//! use tower_recovery_http::{HttpFrontDoor, Origin, sse::SseRules};
//! use tower_recovery_test::FaultyServer;
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! # let server = FaultyServer::builder()
//! #     .application(|_| {
//! #         let events = "data: {\"delta\": \"Hello\"}\n\ndata: [DONE]\n\n";
//! #         http::Response::builder().header("content-type", "text/event-stream").body(Bytes::from(events)).unwrap()
//! #     })
//! #     .start().await?;
//! # let address = server.origin();
//! let origin: Origin = address.parse()?;
//! let resolver = service_fn(move |_name: &'static str| {
//!     let found = Resolved::from(origin.clone());
//!     async move { Ok::<_, Infallible>(found) }
//! });
//!
//! let policy = StreamPolicy::builder(StreamMode::RetryOnHealthyProbe).idle(Duration::from_secs(120)).build()?;
//! let mut chat = Recovery::http(resolver, "model")
//!     .streams::<Full<Bytes>>(policy)?
//!     .probe(|| Request::get("/v1/models").body(Full::default()).expect("a request"))
//!     .sse(SseRules::openai_chat())
//!     .until_first_item();
//!
//! let question = Request::post("/v1/chat/completions").body(Full::from(r#"{"stream": true}"#))?;
//! let answer = chat.ready().await?.call(question).await?;
//! let mut events = pin!(answer.items);
//! let first = events.next().await.expect("an event")?.into_event().expect("no raw body");
//! assert_eq!(first.data(), r#"{"delta": "Hello"}"#);
//! # Ok(())
//! # }
//! ```
//!
//! A download, resumed where it broke:
//!
//! ```
//! use bytes::Bytes;
//! use http::Request;
//! use http_body_util::{BodyExt, Full};
//! use tower::{Service, ServiceExt};
//! use tower_recovery_http::{HttpRules, HttpStreams, streams::AdmittedBody};
//!
//! # async fn download<Api>(files: HttpStreams<Api, Api, HttpRules<Full<Bytes>>>) -> Result<Bytes, tower::BoxError>
//! # where
//! #     Api: Service<Request<Full<Bytes>>, Response = http::Response<Full<Bytes>>> + Clone,
//! #     Api::Error: Into<tower::BoxError>,
//! # {
//! let mut files = files.bodies().resumed().map_response(AdmittedBody::of);
//! let answer = files.ready().await?.call(Request::get("/large").body(Full::default())?).await?;
//! let bytes = answer.into_body().collect().await?.to_bytes();
//! # Ok(bytes)
//! # }
//! ```
//!
//! # For clients that read bodies
//!
//! [`AdmittedBody`] and [`WholeBody`] make a body of what was admitted; `map_response` puts them behind a stack:
//!
//! ```
//! use bytes::Bytes;
//! use http::Request;
//! use http_body_util::Full;
//! use tower::ServiceExt;
//! use tower_recovery::StreamPolicy;
//! use tower_recovery_http::{HttpRules, HttpStreams, sse::SseRules, streams::WholeBody};
//!
//! # fn over<Api>(model: HttpStreams<Api, Api, HttpRules<Full<Bytes>>>) -> impl tower::Service<Request<Full<Bytes>>>
//! # where
//! #     Api: tower::Service<Request<Full<Bytes>>, Response = http::Response<Full<Bytes>>> + Clone,
//! #     Api::Error: Into<tower::BoxError>,
//! # {
//! let stack = model.sse(SseRules::anthropic()).whole(1 << 20).map_response(WholeBody::of_whole);
//! # stack
//! # }
//! ```

mod body;
mod builder;
mod probe;

pub use self::{
    body::{AdmittedBody, IntoFrame, WholeBody},
    builder::HttpStreams,
    probe::HttpProbe,
};
