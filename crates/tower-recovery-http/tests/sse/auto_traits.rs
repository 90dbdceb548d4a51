//! What can be moved and shared.

use bytes::Bytes;
use http_body_util::Full;
use tower_recovery_http::sse::{
    EventNotUtf8, EventTooLong, LastEventIdResume, SseDecoder, SseEvent, SseItem, SseRules, SseVerdict,
};

#[test]
fn everything_can_be_moved_and_shared_between_threads() {
    fn check<Value: Send + Sync + Unpin + 'static>() {}
    check::<SseDecoder<Full<Bytes>>>();
    check::<SseItem>();
    check::<SseEvent>();
    check::<SseRules>();
    check::<SseVerdict>();
    check::<LastEventIdResume>();
    check::<EventTooLong>();
    check::<EventNotUtf8>();
}
