//! [`RoutePolicy`]: what one route is to do, as one value that is checked once and then frozen.
//!
//! It holds how many attempts and how much time a call has, how long repeats wait, which methods only read, and what becomes of a stream that
//! breaks or falls silent. It is built in code, or with the feature `serde` read from any format that serde knows: TOML, JSON, YAML. With the feature
//! `schema` there is a JSON schema of it (`schemars::schema_for!(RoutePolicy)`).
//!
//! **When**: where a route's settings stand in a file, or are to be checked and logged as a whole. **Not** needed where they stand in code:
//! the layers take each of its parts by itself.
//!
//! No layer takes a policy as a whole. [`ReadOnlyRetryLayer`](crate::ReadOnlyRetryLayer) takes its [`timing`](RoutePolicy::timing) and its
//! [`backoff`](RoutePolicy::backoff), [`AttemptTimeoutLayer`](crate::AttemptTimeoutLayer) the timeout of an attempt, and rules such as
//! [`NamedRules`](crate::NamedRules) take the [`reads`](RoutePolicy::reads), and [`StreamReplacementLayer`](crate::StreamReplacementLayer) takes its
//! [`stream`](RoutePolicy::stream). A policy without one leaves streams alone.
//!
//! # Examples
//!
//! In code, and given to the layers:
//!
//! ```
//! use std::time::Duration;
//! use tower_recovery::{AttemptTimeoutLayer, NamedRules, ReadMethods, ReadOnlyRetryLayer, RoutePolicy};
//!
//! let policy = RoutePolicy::builder()
//!     .attempts(4)
//!     .deadline(Duration::from_secs(10))
//!     .reads(ReadMethods::new().read("search").silent("read"))
//!     .build()?;
//!
//! let rules = NamedRules::new(|method: &&'static str| *method, policy.reads().clone()).copied_by(|method| Some(*method));
//! let retry = ReadOnlyRetryLayer::new(rules).timing(policy.timing()).backoff(policy.backoff());
//! let attempt = AttemptTimeoutLayer::new(policy.timing().attempt_timeout());
//! # let _ = (retry, attempt);
//! # Ok::<(), tower_recovery::InvalidSetting>(())
//! ```
//!
//! From a file. Times are numbers of seconds, fractions allowed; every field may be left out, but for a stream's `mode`:
//!
#![cfg_attr(feature = "serde", doc = "```")]
#![cfg_attr(not(feature = "serde"), doc = "```ignore")]
//! use tower_recovery::{Access, RoutePolicy, StreamMode};
//!
//! let policy: RoutePolicy = toml::from_str(
//!     r#"
//!     attempts = 4
//!     deadline_seconds = 10
//!     attempt_timeout_seconds = 2.5
//!     backoff = { step_seconds = 0.05, ceiling_seconds = 1 }
//!     reads = ["search", { method = "read", silent = true }]
//!
//!     [stream]
//!     mode = "retry_on_healthy_probe"
//!     idle_seconds = 300
//!     "#,
//! )?;
//! assert_eq!(policy.timing().attempts(), 4);
//! assert_eq!(policy.reads().access("read"), Access::SilentRead);
//! assert_eq!(policy.stream().mode(), StreamMode::RetryOnHealthyProbe);
//!
//! let refused = toml::from_str::<RoutePolicy>("deadline_seconds = 1e9").unwrap_err();
//! assert!(refused.to_string().contains("deadline_seconds is 1000000000, but it must be above 0 and at most 604800"));
//! # Ok::<(), toml::de::Error>(())
//! ```
//!
//! # Bounds
//!
//! Every time is above zero and seven days at the most. Longer ones are mistakes of units (`900000` for 900 s in milliseconds is refused), and no
//! product or sum of such times overflows; as a number of seconds each is exact to the nanosecond, so that a policy that was written and read again is the
//! same policy. Unknown fields are refused, at every level.
//!
//! # Errors
//!
//! [`InvalidSetting`](crate::InvalidSetting) names the field as it stands in a file, its value and its bound. It comes out of a deserialiser as the text
//! of the deserialiser's own error.

#[cfg(feature = "serde")]
mod record;
mod route;
mod seconds;
mod stream;

pub use self::{
    route::{RoutePolicy, RoutePolicyBuilder},
    stream::{StreamMode, StreamPolicy, StreamPolicyBuilder},
};
