//! Why a copy cannot be sent.

/// Why a copy of a [`ReplayableBody`](crate::ReplayableBody) yields no more: never a part of the body as if it were the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// Something was sent that was not kept for later copies.
    #[error("the request body cannot be sent again: more of it was sent than the limit of {limit} bytes keeps")]
    NotReplayable {
        /// How many bytes could be kept.
        limit: usize,
    },
    /// A newer copy is being sent, and the rest of the body belongs to that.
    #[error("the rest of the request body belongs to a newer copy")]
    TakenOver,
    /// The source failed; its error was given to the copy that was being sent.
    #[error("the request body cannot be sent: its source has failed before")]
    SourceFailed,
    /// The source panicked while it was polled, maybe in another task.
    #[error("the request body cannot be sent: its source has panicked")]
    SourcePanicked,
}
