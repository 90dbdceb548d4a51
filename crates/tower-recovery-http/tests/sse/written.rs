//! What is written reads as the same.

use bytes::Bytes;
use proptest::{option, prelude::*};
use tower_recovery_http::sse::SseEvent;

use crate::source::held;

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(
        proptest::sample::select(vec!["\n", "\r", "\r\n", " ", ":", "data: ", "\u{feff}", "\0", "x", "\u{fc}"]),
        0..8,
    )
    .prop_map(|pieces| pieces.concat())
}

fn event() -> impl Strategy<Value = SseEvent> {
    (text(), option::of(text()), option::of(text()), option::of(any::<u32>())).prop_map(|(data, event, id, retry)| {
        let new = SseEvent::new(data);
        let new = if let Some(event) = event { new.with_event(event) } else { new };
        let new = if let Some(id) = id { new.with_id(id) } else { new };
        if let Some(retry) = retry { new.with_retry(std::time::Duration::from_millis(retry.into())) } else { new }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_event_that_is_written_reads_as_the_same(events in proptest::collection::vec(event(), 1..5), size in 1_usize..40) {
        let bytes: Vec<u8> = events.iter().flat_map(|event| event.clone().into_bytes()).collect();
        let read = held(bytes.chunks(size).map(Bytes::copy_from_slice).collect(), 1 << 20);
        prop_assert_eq!(read.events, events);
        prop_assert_eq!((read.error, read.raw), (None, vec![]));
    }
}
