//! HTTP for [`tower_recovery`]: origin handles with a client of their own, a classifier, rules, and the front door.
//!
//! | client | feature | what it gives |
//! |---|---|---|
//! | [`OriginHandle`]: hyper-util's client, a pool for each origin | none; `http2`, `rustls` | [`Recovery::http`](HttpFrontDoor::http) and [`build`](HttpRecovery::build) |
//! | [`ConnectionHandle`]: one connection of hyper's, which hands back what was not sent | none; `http2`, `rustls` | a handle for a stack of your own |
//! | `reqwest::Client` 0.13, one for each origin | `reqwest` | `HttpRecovery::reqwest`, the module `reqwest` |
//! | `reqwest::Client` 0.12, one for each origin | `reqwest-0-12` | `HttpRecovery::reqwest_0_12`, the module `reqwest_0_12` |
//!
//! No feature is on until it is asked for. HTTP/2 and TLS of reqwest are features of your dependency on it.
//!
//! The [`guide`] has what every client shows of every failure.
//!
//! # Examples
//!
//! The recommended stack, over a registry that knows one instance:
//!
//! ```
//! use std::{convert::Infallible, time::Duration};
//! use bytes::Bytes;
//! use http::Request;
//! use http_body_util::Full;
//! use tower::{Service, ServiceExt, service_fn};
//! use tower_recovery::{Recovery, Resolved};
//! use tower_recovery_http::{HttpFrontDoor, Origin, ReadRoutes};
//! use tower_recovery_test::FaultyServer;
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! # let server = FaultyServer::builder()
//! #     .application(|_| http::Response::new(Bytes::from_static(b"3 artifacts")))
//! #     .start().await?;
//! # let address = server.origin();
//! let origin: Origin = address.parse()?;
//! let resolver = service_fn(move |_name: &'static str| {
//!     let found = Resolved::from(origin.clone());
//!     async move { Ok::<_, Infallible>(found) }
//! });
//!
//! let mut api = Recovery::http(resolver, "artifact-manager")
//!     .reads(ReadRoutes::safe())
//!     .deadline(Duration::from_secs(10))
//!     .build::<Full<Bytes>>()?;
//!
//! // The path is enough: scheme and authority are those of the instance that serves the name.
//! let response = api.ready().await?.call(Request::get("/artifacts").body(Full::default())?).await?;
//! assert_eq!(response.into_body().to_bytes(), "3 artifacts");
//! # Ok(())
//! # }
//! ```

pub mod body_end;
mod body_rules;
mod classifier;
pub mod collect;
pub mod connection;
mod front_door;
pub mod guide;
mod origin;
mod origin_handle;
mod range_resume;
pub mod replay;
#[cfg(feature = "reqwest")]
#[path = "reqwest/v0_13.rs"]
pub mod reqwest;
#[cfg(feature = "reqwest-0-12")]
#[path = "reqwest/v0_12.rs"]
pub mod reqwest_0_12;
mod retry_after;
mod rules;
pub mod sse;
pub mod streamed;
pub mod streams;
mod target;
mod transport;

pub use crate::{
    body_end::{EndedEarly, UnprovenEnd, Unterminated},
    body_rules::BodyRules,
    classifier::{AnswerRule, HttpClassifier, Intermediary},
    collect::{BodyTooLong, CollectLayer, IncompleteBody},
    connection::{ConnectLayer, ConnectionHandle, Unanswered},
    front_door::{
        CollectedBody, HttpFrontDoor, HttpRecovery, HttpStack, HttpStreamsOverPools, SendSideHttpStack,
        StreamingHttpStack,
    },
    origin::{InvalidOrigin, Origin},
    origin_handle::OriginHandle,
    range_resume::RangeResume,
    replay::{RepeatableBody, ReplayError, ReplayableBody, SentOnce},
    retry_after::RetryAfter,
    rules::{HttpRules, ReadRoutes, Silence},
    streamed::{StreamedBody, StreamedLayer},
    streams::{HttpProbe, HttpStreams},
    target::{InvalidHost, TunnelRefused},
    transport::{ConnectTimedOut, Protocol, Transport},
};
