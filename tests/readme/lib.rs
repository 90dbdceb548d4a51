//! The code in the README, compiled by the tests of the documentation.
//!
//! It stands here because the README uses all crates, and only the harness depends on all of them: an adapter knows no other adapter, not even in its tests.

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
