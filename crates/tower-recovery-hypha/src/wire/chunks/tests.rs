use std::collections::BTreeMap;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use tokio::time::Instant;

use super::{ChunkError, Chunks};
use crate::wire::Limits;

const LIMITS: Limits = Limits {
    max_frame_bytes: 1024,
    max_message_bytes: 1000,
    max_decoded_bytes: 1024,
    max_depth: 4,
    max_open_messages: 2,
    max_open_messages_of_one: 2,
    max_open_bytes: 2000,
};

fn unknown(key: &str) -> ChunkError {
    ChunkError::Unknown { key: key.to_owned() }
}

#[test]
fn chunks_in_any_order_make_the_message() {
    let (mut chunks, now) = (Chunks::new(LIMITS), Instant::now());
    chunks.create("key", "ws/a", false, now).unwrap();
    chunks.set("key", "ws/a", 2, b"ee".to_vec(), now).unwrap();
    chunks.set("key", "ws/a", 0, b"ab".to_vec(), now).unwrap();
    chunks.set("key", "ws/a", 1, b"cd".to_vec(), now).unwrap();
    assert_eq!(chunks.process("key", "ws/a"), Ok(b"abcdee".to_vec()));
    assert_eq!(chunks.process("key", "ws/a"), Err(unknown("key")), "it is processed once");
    chunks.assert_sound();
}

#[test]
fn appended_chunks_make_the_message() {
    let (mut chunks, now) = (Chunks::new(LIMITS), Instant::now());
    chunks.create("key", "ws/a", false, now).unwrap();
    chunks.append("key", "ws/a", b"ab".to_vec(), now).unwrap();
    chunks.append("key", "ws/a", b"c".to_vec(), now).unwrap();
    assert_eq!(chunks.process("key", "ws/a"), Ok(b"abc".to_vec()));
}

#[test]
fn a_chunk_that_comes_again_replaces_the_first() {
    let (mut chunks, now) = (Chunks::new(LIMITS), Instant::now());
    chunks.create("key", "ws/a", false, now).unwrap();
    chunks.set("key", "ws/a", 0, vec![0; 900], now).unwrap();
    chunks.set("key", "ws/a", 0, vec![1; 1000], now).unwrap();
    chunks.assert_sound();
    assert_eq!(chunks.process("key", "ws/a"), Ok(vec![1; 1000]));
}

#[test]
fn a_message_with_a_hole_is_truncated_and_over() {
    let (mut chunks, now) = (Chunks::new(LIMITS), Instant::now());
    for (present, missing) in [(&[1][..], 0), (&[0, 2], 1), (&[0, 1, u64::MAX], 2)] {
        chunks.create("key", "ws/a", false, now).unwrap();
        for &index in present {
            chunks.set("key", "ws/a", index, vec![0], now).unwrap();
        }
        let error = chunks.process("key", "ws/a").unwrap_err();
        assert_eq!(error, ChunkError::Truncated { key: "key".to_owned(), missing });
        assert_eq!(chunks.remove("key", "ws/a"), Err(unknown("key")));
    }
    chunks.assert_sound();
}

#[test]
fn another_sender_can_neither_touch_nor_block_a_message() {
    let (mut chunks, now) = (Chunks::new(LIMITS), Instant::now());
    chunks.create("key", "ws/a", false, now).unwrap();
    chunks.set("key", "ws/a", 0, b"mine".to_vec(), now).unwrap();
    assert_eq!(chunks.set("key", "ws/b", 0, b"theirs".to_vec(), now), Err(unknown("key")));
    assert_eq!(chunks.append("key", "ws/b", b"theirs".to_vec(), now), Err(unknown("key")));
    assert_eq!(chunks.process("key", "ws/b"), Err(unknown("key")));
    assert_eq!(chunks.remove("key", "ws/b"), Err(unknown("key")));
    assert_eq!(chunks.create("key", "ws/b", true, now), Ok(()), "a message of its own");
    assert_eq!(chunks.process("key", "ws/b"), Ok(Vec::new()));
    assert_eq!(chunks.process("key", "ws/a"), Ok(b"mine".to_vec()));
}

#[test]
fn a_message_is_begun_once_unless_it_may_be_overwritten() {
    let (mut chunks, now) = (Chunks::new(LIMITS), Instant::now());
    chunks.create("key", "ws/a", false, now).unwrap();
    chunks.set("key", "ws/a", 0, b"old".to_vec(), now).unwrap();
    assert_eq!(chunks.create("key", "ws/a", false, now), Err(ChunkError::Exists { key: "key".to_owned() }));
    assert_eq!(chunks.create("key", "ws/a", true, now), Ok(()));
    assert_eq!(chunks.process("key", "ws/a"), Ok(Vec::new()));
}

#[test]
fn a_message_over_the_limit_is_over() {
    let (mut chunks, now) = (Chunks::new(LIMITS), Instant::now());
    chunks.create("key", "ws/a", false, now).unwrap();
    chunks.append("key", "ws/a", vec![0; 999], now).unwrap();
    chunks.append("key", "ws/a", vec![0; 1], now).unwrap();
    let error = chunks.append("key", "ws/a", vec![0; 1], now).unwrap_err();
    assert_eq!(error, ChunkError::TooLong { key: "key".to_owned(), limit: 1000 });
    assert_eq!(chunks.append("key", "ws/a", vec![0; 1], now), Err(unknown("key")));
    chunks.assert_sound();
}

#[test]
fn one_sender_leaves_room_for_the_others() {
    let limits = Limits { max_open_messages_of_one: 1, ..LIMITS };
    let (mut chunks, now) = (Chunks::new(limits), Instant::now());
    chunks.create("one", "ws/a", false, now).unwrap();
    assert_eq!(chunks.create("two", "ws/a", false, now), Err(ChunkError::TooManyOpen { limit: 1 }));
    chunks.create("one", "ws/b", false, now).unwrap();
    chunks.create("one", "ws/a", true, now).unwrap();
    chunks.assert_sound();
}

#[test]
fn the_answer_of_a_call_of_ours_has_its_place_whoever_else_sends() {
    let (mut chunks, now) = (Chunks::new(LIMITS), Instant::now());
    chunks.create("one", "ws/a", false, now).unwrap();
    chunks.create("two", "ws/b", false, now).unwrap();
    assert_eq!(chunks.create("three", "ws/c", false, now), Err(ChunkError::TooManyOpen { limit: 2 }));
    chunks.create_awaited("three", "ws/c", false, now).unwrap();
    chunks.create_awaited("four", "ws/c", false, now).unwrap();
    chunks.assert_sound();
}

#[test]
fn all_messages_together_are_bounded() {
    let (mut chunks, now) = (Chunks::new(LIMITS), Instant::now());
    chunks.create("one", "ws/a", false, now).unwrap();
    chunks.create("two", "ws/a", false, now).unwrap();
    assert_eq!(chunks.create("three", "ws/a", false, now), Err(ChunkError::TooManyOpen { limit: 2 }));
    chunks.append("one", "ws/a", vec![0; 1000], now).unwrap();
    let too_much = Err(ChunkError::TooManyBytes { limit: 2000 });
    assert_eq!(chunks.append("two", "ws/a", vec![0; 900], now), too_much);
    chunks.remove("one", "ws/a").unwrap();
    assert_eq!(chunks.append("two", "ws/a", vec![0; 900], now), Ok(()), "what was removed is given back");
    chunks.assert_sound();
}

#[test]
fn empty_chunks_are_not_for_free() {
    let (mut chunks, now) = (Chunks::new(LIMITS), Instant::now());
    chunks.create("key", "ws/a", false, now).unwrap();
    let taken = (0..1000).take_while(|&index| chunks.set("key", "ws/a", index, Vec::new(), now).is_ok()).count();
    assert_eq!(taken, 30, "each counts 64 bytes, and so does the message");
    let long_key = "k".repeat(2000);
    assert_eq!(chunks.create(&long_key, "ws/a", false, now), Err(ChunkError::TooManyBytes { limit: 2000 }));
    chunks.assert_sound();
}

#[test]
fn a_message_for_which_nothing_comes_is_given_up() {
    let (mut chunks, begin) = (Chunks::new(LIMITS), Instant::now());
    let after = |seconds| begin + Duration::from_secs(seconds);
    let idle = Duration::from_secs(10);
    chunks.create("one", "ws/a", false, begin).unwrap();
    chunks.create("two", "ws/a", false, begin).unwrap();
    chunks.append("two", "ws/a", vec![0], after(5)).unwrap();
    assert_eq!(chunks.expire(after(9), idle), 0);
    assert_eq!(chunks.expire(after(10), idle), 1);
    assert_eq!(chunks.process("one", "ws/a"), Err(unknown("one")));
    assert_eq!(chunks.expire(after(14), idle), 0);
    assert_eq!(chunks.expire(after(15), idle), 1);
    chunks.assert_sound();
}

proptest! {
    /// As `hypha_rpc` keeps them: a map from index to bytes, joined from 0 to its length.
    #[test]
    fn a_message_is_what_was_set_last(sets in vec((0..4_u64, vec(any::<u8>(), 0..40)), 0..12)) {
        let (mut chunks, now) = (Chunks::new(LIMITS), Instant::now());
        chunks.create("key", "ws/a", false, now).unwrap();
        let mut model = BTreeMap::new();
        for (index, data) in sets {
            chunks.set("key", "ws/a", index, data.clone(), now).unwrap();
            chunks.assert_sound();
            model.insert(index, data);
        }
        let whole: Option<Vec<_>> = (0..model.len() as u64).map(|index| model.get(&index).cloned()).collect();
        prop_assert_eq!(chunks.process("key", "ws/a").ok(), whole.map(|parts| parts.concat()));
    }
}
