//! What is logged: the operator finds a move of the service by its line.
//!
//! A test binary of its own, in which every thread collects: `tracing` decides once for each line whether anybody wants it, by
//! whichever thread comes to it first.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail like the tests do")]

mod support;

use std::time::Duration;

use tower::ServiceExt;
use tower_recovery::HandleCache;
use tower_recovery_test::{ScriptedResolver, Step};
use tracing::Level;

use self::support::{Call, Fault, attempts, backend, done, fails, log::Log, recovering, resolved, resolver};

fn named<Handle: Clone + Send + 'static>(resolver: &ScriptedResolver<Handle>) -> HandleCache<Handle> {
    HandleCache::builder(resolver.clone(), "service")
        .named("artifact manager service proxy")
        .resolve_floor(Duration::ZERO, Duration::ZERO)
        .build()
}

const RE_RESOLVED: &str = "Re-resolved the artifact manager service proxy.";

#[tokio::test(start_paused = true)]
async fn a_re_resolve_is_logged_with_the_old_and_the_new_identity() {
    let log = Log::collect();
    let cache = named(&resolver([("ws-1/manager", "old"), ("ws-2/manager", "new")]));

    cache.acquire().await.unwrap().lease.indict();
    assert!(log.lines(RE_RESOLVED).is_empty(), "the first resolve replaces nothing");
    cache.acquire().await.unwrap();

    let lines = log.lines(RE_RESOLVED);
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0].level, Level::INFO);
    assert_eq!((lines[0].field("old"), lines[0].field("new")), ("ws-1/manager", "ws-2/manager"));
    assert_eq!(lines[0].field("generation"), "2");
}

#[tokio::test(start_paused = true)]
async fn the_first_resolve_and_an_eviction_have_lines_of_their_own() {
    let log = Log::collect();
    let cache = named(&resolver([("ws-1/manager", "old")]));
    let held = cache.acquire().await.unwrap();
    held.lease.indict();
    held.lease.indict();

    let first = log.lines("Resolved the artifact manager service proxy.");
    assert_eq!((first.len(), first[0].level, first[0].field("new")), (1, Level::DEBUG, "ws-1/manager"));
    let evicted = log.lines("Evicted the artifact manager service proxy.");
    assert_eq!((evicted.len(), evicted[0].level), (1, Level::INFO));
    assert_eq!((evicted[0].field("identity"), evicted[0].field("generation")), ("ws-1/manager", "1"));
}

#[tokio::test(start_paused = true)]
async fn a_swap_by_a_refresh_is_logged_alike_and_a_confirmation_is_not() {
    let log = Log::collect();
    let cache = named(&resolver([("ws-1/manager", "a"), ("ws-1/manager", "a"), ("ws-2/manager", "b")]));
    cache.acquire().await.unwrap();
    cache.refresh().await.unwrap();
    assert!(log.lines(RE_RESOLVED).is_empty());

    cache.refresh().await.unwrap();
    let lines = log.lines(RE_RESOLVED);
    assert_eq!(lines.len(), 1);
    assert_eq!((lines[0].field("old"), lines[0].field("new")), ("ws-1/manager", "ws-2/manager"));
}

#[tokio::test(start_paused = true)]
async fn failures_between_do_not_make_the_old_identity_forgotten() {
    let log = Log::collect();
    let resolver = ScriptedResolver::new([
        resolved("ws-1/manager", &"old"),
        Step::fail(Fault::Lost),
        resolved("ws-2/manager", &"new"),
    ]);
    let cache = named(&resolver);
    cache.acquire().await.unwrap().lease.indict();
    cache.acquire().await.unwrap_err();
    cache.acquire().await.unwrap();

    let failed = log.lines("Could not resolve the artifact manager service proxy.");
    assert_eq!((failed.len(), failed[0].level), (1, Level::WARN));
    assert_eq!(failed[0].field("cause"), "the resolver failed: the socket was closed before the answer came");
    assert_eq!(log.lines(RE_RESOLVED)[0].field("old"), "ws-1/manager");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_follows_a_move_is_logged_with_its_repeat() {
    let log = Log::collect();
    let resolver = resolver([("ws-1/a", backend([fails(Fault::ConnectionRefused)])), ("ws-2/b", backend([done("b")]))]);
    recovering(named(&resolver), attempts(3)).oneshot(Call::write()).await.unwrap();

    assert_eq!(log.lines(RE_RESOLVED).len(), 1);
    let repeats = log.lines("Repeating a call.");
    assert_eq!((repeats.len(), repeats[0].level), (1, Level::DEBUG));
    assert_eq!((repeats[0].field("method"), repeats[0].field("attempt")), ("commit", "2"));
    assert_eq!((repeats[0].field("silenced"), repeats[0].field("free")), ("false", "true"));
    let failed = log.lines("An attempt failed.");
    assert_eq!((failed.len(), failed[0].field("delivery"), failed[0].field("generation")), (1, "never sent", "1"));
}
