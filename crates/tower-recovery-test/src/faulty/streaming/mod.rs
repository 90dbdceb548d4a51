//! Answers that are streamed, step by step.
//!
//! A [`StreamScript`] says what is sent of the body, what is waited for, and how it ends; [`Streams`] find the script of a request. The
//! protocols play it alike, as [`play`] has it, and each stream that is sent is told by a [`StreamedAnswer`].

mod events;
mod http1;
pub(super) mod play;
mod script;
mod streamed;
mod streams;

pub(super) use self::streamed::{Sending, StreamLog};
pub use self::{
    script::{StreamEnding, StreamScript},
    streamed::{StreamEnd, StreamedAnswer},
    streams::Streams,
};
