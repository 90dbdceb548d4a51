//! Messages that are too long for a frame, put together from chunks.

mod error;

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use tokio::time::Instant;

use super::Limits;

pub(crate) use self::error::ChunkError;

/// What a chunk takes beside its bytes, so that many empty ones are not for free.
const CHUNK_OVERHEAD: usize = 64;

/// The messages in the making. Each belongs to the sender that began it: a key names one only together with its sender, so that nobody can write into, process
/// or be in the way of another's.
#[derive(Debug)]
pub(crate) struct Chunks {
    limits: Limits,
    open: HashMap<(String, String), Message>,
    bytes: usize,
}

#[derive(Debug)]
struct Message {
    chunks: BTreeMap<u64, Vec<u8>>,
    /// The bytes of the chunks alone.
    length: usize,
    /// What it counts for, with its names and the overhead of its chunks.
    bytes: usize,
    touched: Instant,
    is_awaited: bool,
}

impl Chunks {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, open: HashMap::new(), bytes: 0 }
    }

    /// Begins a message.
    pub(crate) fn create(&mut self, key: &str, from: &str, overwrite: bool, now: Instant) -> Result<(), ChunkError> {
        self.begin(key, from, overwrite, false, now)
    }

    /// Begins the answer of a call of ours. There are no more of these than calls, so they are not counted, and nobody else's messages are in their way.
    pub(crate) fn create_awaited(
        &mut self,
        key: &str,
        from: &str,
        overwrite: bool,
        now: Instant,
    ) -> Result<(), ChunkError> {
        self.begin(key, from, overwrite, true, now)
    }

    fn begin(
        &mut self,
        key: &str,
        from: &str,
        overwrite: bool,
        is_awaited: bool,
        now: Instant,
    ) -> Result<(), ChunkError> {
        let name = name(key, from);
        if self.open.contains_key(&name) && !overwrite {
            return Err(ChunkError::Exists { key: key.to_owned() });
        }
        self.take(&name);
        let Limits { max_open_messages, max_open_messages_of_one: of_one, .. } = self.limits;
        let counted = || self.open.iter().filter(|(_, message)| !message.is_awaited);
        if !is_awaited && counted().count() >= max_open_messages {
            return Err(ChunkError::TooManyOpen { limit: max_open_messages });
        }
        if !is_awaited && counted().filter(|((sender, _), _)| sender == from).count() >= of_one {
            return Err(ChunkError::TooManyOpen { limit: of_one });
        }
        let bytes = CHUNK_OVERHEAD + key.len() + from.len();
        self.reserve(bytes)?;
        self.open.insert(name, Message { chunks: BTreeMap::new(), length: 0, bytes, touched: now, is_awaited });
        Ok(())
    }

    /// Sets one chunk; setting it again replaces it.
    pub(crate) fn set(
        &mut self,
        key: &str,
        from: &str,
        index: u64,
        data: Vec<u8>,
        now: Instant,
    ) -> Result<(), ChunkError> {
        self.put(key, from, Some(index), data, now)
    }

    /// Sets the chunk after those that are there.
    pub(crate) fn append(&mut self, key: &str, from: &str, data: Vec<u8>, now: Instant) -> Result<(), ChunkError> {
        self.put(key, from, None, data, now)
    }

    /// Gives a message up.
    pub(crate) fn remove(&mut self, key: &str, from: &str) -> Result<(), ChunkError> {
        self.take(&name(key, from)).map(drop).ok_or_else(|| ChunkError::Unknown { key: key.to_owned() })
    }

    /// The whole message, which is not open any more then.
    pub(crate) fn process(&mut self, key: &str, from: &str) -> Result<Vec<u8>, ChunkError> {
        let message = self.take(&name(key, from)).ok_or_else(|| ChunkError::Unknown { key: key.to_owned() })?;
        if let Some((missing, _)) = (0..).zip(message.chunks.keys()).find(|(expected, index)| expected != *index) {
            return Err(ChunkError::Truncated { key: key.to_owned(), missing });
        }
        let mut whole = Vec::with_capacity(message.length);
        for chunk in message.chunks.into_values() {
            whole.extend_from_slice(&chunk);
        }
        Ok(whole)
    }

    /// Gives up the messages for which nothing came within `idle`, and tells how many they were.
    pub(crate) fn expire(&mut self, now: Instant, idle: Duration) -> usize {
        let before = self.open.len();
        let bytes = &mut self.bytes;
        self.open.retain(|_, message| {
            let keep = now.saturating_duration_since(message.touched) < idle;
            if !keep {
                *bytes -= message.bytes;
            }
            keep
        });
        before - self.open.len()
    }

    fn put(
        &mut self,
        key: &str,
        from: &str,
        index: Option<u64>,
        data: Vec<u8>,
        now: Instant,
    ) -> Result<(), ChunkError> {
        let name = name(key, from);
        let Some(message) = self.open.get_mut(&name) else {
            return Err(ChunkError::Unknown { key: key.to_owned() });
        };
        let index = index.unwrap_or(message.chunks.len() as u64);
        let replaced = message.chunks.remove(&index).map(|chunk| chunk.len());
        let freed = replaced.map_or(0, |length| length + CHUNK_OVERHEAD);
        message.length -= replaced.unwrap_or(0);
        message.bytes -= freed;
        self.bytes -= freed;
        if data.len() > self.limits.max_message_bytes.saturating_sub(message.length) {
            self.take(&name);
            return Err(ChunkError::TooLong { key: key.to_owned(), limit: self.limits.max_message_bytes });
        }
        let bytes = data.len() + CHUNK_OVERHEAD;
        self.reserve(bytes)?;
        if let Some(message) = self.open.get_mut(&name) {
            message.length += data.len();
            message.bytes += bytes;
            message.touched = now;
            message.chunks.insert(index, data);
        }
        Ok(())
    }

    fn take(&mut self, name: &(String, String)) -> Option<Message> {
        let message = self.open.remove(name)?;
        self.bytes -= message.bytes;
        Some(message)
    }

    fn reserve(&mut self, bytes: usize) -> Result<(), ChunkError> {
        if bytes > self.limits.max_open_bytes.saturating_sub(self.bytes) {
            return Err(ChunkError::TooManyBytes { limit: self.limits.max_open_bytes });
        }
        self.bytes += bytes;
        Ok(())
    }
}

fn name(key: &str, from: &str) -> (String, String) {
    (from.to_owned(), key.to_owned())
}

#[cfg(any(test, fuzzing))]
impl Chunks {
    /// What is counted is what is there, and within the limits.
    pub(crate) fn assert_sound(&self) {
        let mut total = 0;
        for ((from, key), message) in &self.open {
            let length: usize = message.chunks.values().map(Vec::len).sum();
            assert_eq!(message.length, length);
            assert_eq!(message.bytes, length + key.len() + from.len() + (1 + message.chunks.len()) * CHUNK_OVERHEAD);
            assert!(length <= self.limits.max_message_bytes);
            total += message.bytes;
        }
        assert_eq!(self.bytes, total);
        let counted = self.open.values().filter(|message| !message.is_awaited).count();
        assert!(total <= self.limits.max_open_bytes && counted <= self.limits.max_open_messages);
    }
}

#[cfg(test)]
mod tests;
