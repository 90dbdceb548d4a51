//! What a stream holds does not depend on the chunks that it comes in, and is what a parser finds that sees all of it at once.

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream};
use proptest::{collection::vec, prelude::*, sample::select};
use sse_stream::{Sse, SseByteStream};

use crate::source::{Held, held};

/// Pieces that mean something to an event stream, and some that do not.
const PIECES: &[&[u8]] = &[
    b"\n",
    b"\r",
    b"\r\n",
    b"\n\n",
    b":",
    b" ",
    b"data",
    b"data:",
    b"data: ",
    b"event: ",
    b"id: ",
    b"id",
    b"retry: ",
    b"7",
    b"\0",
    b"{",
    b"\xEF\xBB\xBF",
    b"\xEF\xBB",
    b"\xC3\xBC",
    b"\xF0\x9F\x98\x80",
    b"\xC3",
    b"x",
];

fn stream_bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![9 => select(PIECES).prop_map(<[u8]>::to_vec), 1 => vec(any::<u8>(), 0..4)];
    vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

fn cut(bytes: &[u8], sizes: &[usize]) -> Vec<Bytes> {
    let mut rest = Bytes::copy_from_slice(bytes);
    let mut chunks: Vec<_> = sizes.iter().map(|&size| rest.split_to(size.min(rest.len()))).collect();
    chunks.push(rest);
    chunks
}

/// Without the signs of life, which are those of the frames.
fn of_the_stream(held: Held) -> Held {
    Held { signs: 0, ..held }
}

/// What a parser finds that sees all of it at once, where all of that is UTF-8.
fn all_at_once(text: &str) -> Vec<Sse> {
    let blocks = SseByteStream::new(stream::iter([Ok::<_, std::convert::Infallible>(text.as_bytes())]));
    blocks.map(|block| block.expect("it is UTF-8")).collect::<Vec<_>>().now_or_never().expect("all of it is there")
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn chunks_change_nothing_but_the_signs_of_life(
        bytes in stream_bytes(),
        sizes in vec(0_usize..9, 0..80),
        limit in prop_oneof![Just(1_usize << 20), 1_usize..40],
    ) {
        let chunks = cut(&bytes, &sizes);
        let frames = chunks.iter().filter(|chunk| !chunk.is_empty()).count();
        let in_chunks = held(chunks, limit);
        prop_assert!(in_chunks.signs <= frames);
        prop_assert_eq!(of_the_stream(in_chunks), of_the_stream(held(vec![bytes.into()], limit)));
    }

    #[test]
    fn any_bytes_are_survived(bytes in vec(any::<u8>(), 0..400), size in 1_usize..20) {
        let in_chunks = held(bytes.chunks(size).map(Bytes::copy_from_slice).collect(), 1 << 20);
        prop_assert_eq!(of_the_stream(in_chunks), of_the_stream(held(vec![bytes.into()], 1 << 20)));
    }

    #[test]
    fn events_are_those_that_a_parser_finds_who_sees_all_at_once(bytes in stream_bytes(), size in 1_usize..9) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let held = held(text.as_bytes().chunks(size).map(Bytes::copy_from_slice).collect(), 1 << 20);
        prop_assert_eq!(held.error, None);
        let (mut id, mut retry, mut expected) = (None, None, Vec::new());
        for block in all_at_once(&text) {
            id = block.id.or(id);
            retry = block.retry.or(retry);
            if let Some(data) = block.data {
                expected.push((block.event.filter(|event| !event.is_empty()), data, id.take(), retry.take()));
            }
        }
        let found: Vec<_> = held.events.iter().map(|event| {
            let retry = event.retry().map(|retry| u64::try_from(retry.as_millis()).unwrap());
            (event.event().map(str::to_owned), event.data().to_owned(), event.id().map(str::to_owned), retry)
        }).collect();
        prop_assert_eq!(found, expected);
    }
}

/// A line is looked at once, however many chunks it comes in: twice as much takes twice as long, which a test without a clock sees by finishing at all.
#[test]
fn a_long_event_in_many_small_chunks_is_decoded() {
    let mut chunks: Vec<_> = std::iter::repeat_n(Bytes::from_static(b"data: 0123456789\n"), 200_000).collect();
    chunks.push(Bytes::from_static(b"\n"));
    let held = held(chunks, 1 << 23);
    assert_eq!((held.events.len(), held.events[0].data().len(), held.error), (1, 200_000 * 11 - 1, None));
}
