//! This crate against a real Hypha server and the Python client of it, `hypha-rpc`: each calls the other, and what comes is what was sent.
//!
//! All tests share one server and two Python processes, of which one provides and one uses; clients and services have names of their own in each test.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail like the tests do")]

mod admission;
mod applications;
mod failures;
mod hypha;
mod long_messages;
mod methods;
mod patience;
mod rate;
mod refreshing;
mod services;
mod special_values;
#[cfg(feature = "rustls")]
mod tls;
mod values;
mod values_by_chance;
mod visibility;
