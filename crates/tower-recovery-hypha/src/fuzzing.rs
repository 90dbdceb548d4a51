//! Doors for the fuzz targets, in builds of `cargo fuzz` only.

use std::time::Duration;

use tokio::time::Instant;

use crate::RemoteError;
use crate::wire::{Chunks, Incoming, Limits, decode, decode_assembled};

/// A frame from anybody.
pub fn frame(bytes: &[u8]) {
    if let Ok(Incoming::Call(call)) = decode(bytes, &Limits::default()) {
        for argument in &call.args {
            let error = RemoteError::from_value(argument);
            let again = RemoteError::from_value(&error.to_value());
            assert!(again.to_string().len() <= error.to_string().len().max(64 * 1024));
        }
    }
}

/// Steps of two senders, each with two messages in chunks; of a step, the first byte says what and the second how much.
pub fn chunks(mut bytes: &[u8]) {
    let limits = Limits {
        max_message_bytes: 1024,
        max_decoded_bytes: 16 * 1024,
        max_open_messages: 3,
        max_open_bytes: 2048,
        ..Limits::default()
    };
    let mut chunks = Chunks::new(limits);
    let mut now = Instant::now();
    while let [step, amount, rest @ ..] = bytes {
        let (data, rest) = rest.split_at(usize::from(*amount).min(rest.len()));
        bytes = rest;
        let (key, from) = (["a", "b"][usize::from(step >> 3 & 1)], ["ws/one", "ws/two"][usize::from(step >> 4 & 1)]);
        let index = u64::from(step >> 5);
        match step & 7 {
            0 => drop(chunks.create(key, from, index > 0, now)),
            1 | 2 => drop(chunks.set(key, from, index, data.to_vec(), now)),
            3 => drop(chunks.append(key, from, data.to_vec(), now)),
            4 => drop(chunks.remove(key, from)),
            5 => now += Duration::from_secs(index),
            6 => drop(chunks.expire(now, Duration::from_secs(4))),
            _ => {
                if let Ok(message) = chunks.process(key, from) {
                    let _ = decode_assembled(&message, from, None, &limits);
                }
            }
        }
        chunks.assert_sound();
    }
}
