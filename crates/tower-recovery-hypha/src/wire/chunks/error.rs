/// A step of a chunked message that was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ChunkError {
    /// Never begun by this sender, processed or removed already, or given up since nothing came for too long.
    #[error("no message with the key {key:?} of this sender is open")]
    Unknown { key: String },
    /// Begun twice.
    #[error("a message with the key {key:?} is open already")]
    Exists { key: String },
    /// Processed before all of it was there, which ends it.
    #[error("the message with the key {key:?} lacks the chunk {missing}")]
    Truncated { key: String, missing: u64 },
    /// Longer than we take, which ends it.
    #[error("the message with the key {key:?} is longer than the limit of {limit} bytes")]
    TooLong { key: String, limit: usize },
    /// Too many at once.
    #[error("{limit} messages are open, which is the limit")]
    TooManyOpen { limit: usize },
    /// All of them together are too much.
    #[error("the open messages would take more than the limit of {limit} bytes together")]
    TooManyBytes { limit: usize },
}
