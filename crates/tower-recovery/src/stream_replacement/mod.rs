//! [`StreamReplacementLayer`]: one admitted stream, replaced within a budget.
//!
//! The answer of a stream route comes in parts, and what breaks it breaks it late: after the call has ended, when no retry looks at it any more. This layer looks
//! at the stream to its end. An attempt that failed by its transport, before the head or in the middle, or that ended before it was complete, is replaced; so is one
//! that is silent while its route still answers a health probe. One result is admitted: items of two attempts are never handed out as one.
//!
//! **When**: around routes whose answers are streams, and whose requests may be executed twice: by its [policy](crate::StreamPolicy) the user says so. **Not**
//! around unary calls: their bodies belong to their attempts. **Where**: outermost, above [`ReadOnlyRetryLayer`](crate::ReadOnlyRetryLayer), which is
//! to repeat on such a route what provably did not execute and nothing else ([`SendSideOnly`](crate::SendSideOnly)): then the application sees at most one call and its
//! replacements.
//!
//! # What is handed out
//!
//! | admission | the call ends | what is replaced | what the reader sees |
//! |---|---|---|---|
//! | [`Whole`] | with the stream | anything | one complete stream, or an error |
//! | [`UntilFirstItem`] | with the first item | what comes before the first item | items, then the end or an error |
//! | [`Marked`] | with the first head | anything | items, and a mark where everything before it is to be discarded |
//! | [`Resumed`] | with the first item | anything, by its rest | items, then the end or an error |
//!
//! # What is replaced
//!
//! | what happened | mode `retry_on_healthy_probe` | `preserve` | `disabled` |
//! |---|---|---|---|
//! | the transport failed without a verdict, or the stream ended [incomplete](StreamRules::is_complete) | replaced after 5 s × attempt, less up to half, the grace at the most | [`StreamBroken`] | as it comes |
//! | no bytes for `idle`, or nothing but keep-alives for `keep_alive_idle` | probed; replaced if healthy and nothing comes through the grace | probed and waited for | nothing |
//! | the same, and there is no probe | left alone until `keep_alive_idle` without content, then [`StreamBroken`] | left alone | nothing |
//! | three probes in a row without an answer | [`StreamBroken`] | [`StreamBroken`] | nothing |
//! | a verdict: an answer that [is one](StreamRules::is_verdict), an [item](Sight::Verdict) that is one | as it comes; [`StreamBroken`] if no more of it comes for `idle` | as it comes | as it comes |
//! | a failure that is permanent, answered, not recognised, or for which a layer below has spent its budget or its deadline | as it comes | as it comes | as it comes |
//!
//! Failed and silent attempts spend one budget, `max_replacements`. When it is spent, a failure ends the stream, and so does a silence, though not before its probe and
//! its grace. Silence before the head counts as any other. What breaks a silence is a sign of life of the kind that was missing: a keep-alive
//! ends no lack of content. Between an item that is there and a timer that is due, the item comes first.
//!
//! What provably did not execute is repeated below, at once and at the expense of that layer's attempts. When they are spent, it is a failed attempt like any other here: a server that
//! restarts is back after the pause.
//!
//! A replacement of a method that can be [silenced](crate::Access::SilentRead) is silenced if an earlier attempt may have executed.
//!
//! # Examples
//!
//! A stream of lines that ends with a full stop, held back until it is complete:
//!
//! ```
//! use std::io;
//! use futures_util::{Stream, stream};
//! use tower::{ServiceBuilder, ServiceExt, service_fn};
//! use tower_recovery::{
//!     NamedRules, ReadMethods, StreamMode, StreamPolicy, StreamReplacementLayer, Verdict,
//!     stream_replacement::{ItemRules, Sight, Whole},
//! };
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! // The first stream is cut off after one line, the second one is complete.
//! let streams = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
//! let model = service_fn(move |_: &'static str| {
//!     let lines: Vec<io::Result<&str>> = match streams.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
//!         0 => vec![Ok("Hello wor"), Err(io::ErrorKind::ConnectionReset.into())],
//!         _ => vec![Ok("Hello world"), Ok(".")],
//!     };
//!     async move { Ok::<_, io::Error>(stream::iter(lines)) }
//! });
//!
//! let policy = StreamPolicy::builder(StreamMode::RetryOnHealthyProbe).build().unwrap();
//! let requests = NamedRules::new(|method: &&'static str| *method, ReadMethods::new()).copied_by(|method| Some(*method));
//! let streams = ItemRules::new(|line: &&str| if *line == "." { Sight::Terminal } else { Sight::Content })
//!     .incomplete_without_terminal()
//!     .broken_by(|error| if error.is::<io::Error>() { Verdict::maybe_sent() } else { Verdict::unrecognised() });
//! let stack = ServiceBuilder::new()
//!     .layer(StreamReplacementLayer::new(policy, requests, streams, Whole::up_to(1 << 20)))
//!     .service(model);
//!
//! let answer = stack.oneshot("complete").await.unwrap();
//! assert_eq!(answer.items, ["Hello world", "."]);
//! assert_eq!((answer.report.attempts, answer.report.discarded[0].items), (2, 1));
//! # }
//! ```
//!
//! With a probe, and items as they come:
//!
//! ```
//! use tower::service_fn;
//! use tower_recovery::{
//!     NamedRules, ReadMethods, StreamMode, StreamPolicy, StreamReplacementLayer,
//!     stream_replacement::{Health, ItemRules, ProbeRequest, Sight, UntilFirstItem},
//! };
//!
//! # fn main() -> Result<(), tower_recovery::InvalidSetting> {
//! let policy = StreamPolicy::builder(StreamMode::RetryOnHealthyProbe).max_replacements(2).build()?;
//! let requests = NamedRules::new(|method: &&'static str| *method, ReadMethods::new()).copied_by(|method| Some(*method));
//! let streams = ItemRules::new(|line: &&str| if line.is_empty() { Sight::KeepAlive } else { Sight::Content });
//! // In earnest: a small request on the same route.
//! let probe = service_fn(|_: ProbeRequest| async { Ok::<_, std::convert::Infallible>(Health::Healthy) });
//! let layer = StreamReplacementLayer::new(policy, requests, streams, UntilFirstItem).health_probe(probe);
//! # let _ = layer;
//! # Ok(())
//! # }
//! ```
//!
//! # Readiness
//!
//! That of the inner service; the first attempt is called on the instance that was readied. A replacement readies a clone, after the attempt that it replaces is
//! closed; what backpressure it meets there is waited for, and counts as silence, until the request is sent: from then on its own silence counts.
//!
//! # Cancel safety
//!
//! Dropping the future or the stream closes what is under way (the attempt, the probe, the pause before the next attempt) and starts nothing more. There is no task
//! beside them: what is not polled does nothing.
//!
//! # Errors
//!
//! A [`Failure`](crate::Failure), after which the stream is over. Its cause is [`StreamBroken`], with the account of the attempts, unless the very first attempt failed before its head, or the
//! failure is none of the transport's: such a one goes out as it is. [Exhausted](crate::Failure::is_exhausted) where only the budget ended it. Of [`Whole`]
//! there is [`WholeTooLong`] besides.
//!
//! # Panics
//!
//! Where a watched stream is waited for and there is no tokio runtime with a timer. A probe that panics is caught.

mod admission;
mod error;
mod layer;
mod probe;
mod report;
mod resume;
mod rules;
mod service;
mod supervision;
mod supervisor;

pub use self::{
    admission::{
        Admitted, AdmittedFuture, AdmittedStream, Marked, MarkedFuture, MarkedItem, MarkedStream, Restart, Restarted,
        Resumed, UntilFirstItem, Whole, WholeFuture, WholeStream,
    },
    error::{StreamBroken, StreamEnd, WholeTooLong},
    layer::StreamReplacementLayer,
    probe::{Health, ProbeRequest},
    report::{DiscardedAttempt, ReplacementBasis, StreamReport},
    resume::{Resume, ResumeRefused},
    rules::{ItemRules, Sight, StreamRules},
    service::StreamReplacement,
    supervision::PreservedBecause,
};
