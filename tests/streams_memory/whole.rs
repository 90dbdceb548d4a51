//! Streams that are held back, up to a limit.

use tower::ServiceExt;
use tower_recovery::{
    Delivery, Failure,
    stream_replacement::{WholeStream, WholeTooLong},
};
use tower_recovery_http::sse::SseRules;

use super::{
    client::{SOCKETS, door, get},
    live::{Live, MIB, within},
    server::Large,
};

const LIMIT: usize = 8 * MIB;
/// Beyond the limit: what is read at a time, and what the server has in its hands.
const SLACK: usize = 8 * MIB;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_of_a_gibibyte_is_given_up_at_the_limit() {
    let live = Live::start().await;
    let server = Large::start([]).await;
    let stack = door(&server).bodies().whole(LIMIT);
    let whole = within(stack.oneshot(get("/file"))).await;
    is_given_up(whole, &server, &live, "a whole body").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_of_a_gibibyte_are_given_up_at_the_limit() {
    let live = Live::start().await;
    let server = Large::start([]).await;
    let stack = door(&server).sse(SseRules::openai_chat()).whole(LIMIT);
    let whole = within(stack.oneshot(get("/events"))).await;
    is_given_up(whole, &server, &live, "whole events").await;
}

/// The error is out, the connection is closed, and nobody has held more than was allowed.
async fn is_given_up<Head, Item>(
    whole: Result<WholeStream<Head, Item>, Failure>,
    server: &Large,
    live: &Live,
    what: &str,
) {
    let Err(failure) = whole else { panic!("it is over the limit") };
    let too_long: &WholeTooLong = failure.find().unwrap_or_else(|| panic!("{failure:?}"));
    assert_eq!((too_long.limit, failure.delivery(), failure.attempts()), (LIMIT, Some(Delivery::Answered), 1));
    within(server.wait_until_all_are_closed()).await;
    assert!(server.sent() <= LIMIT as u64 + SOCKETS, "the server has sent {} bytes", server.sent());
    live.assert_never_over(LIMIT + SLACK, what);
}
