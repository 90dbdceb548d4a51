//! What the layers do, for whoever watches: as values to an [`Observer`], and through `tracing`.

mod observer;
mod trace;

use std::{error::Error, sync::Arc};

pub use self::observer::Observer;
pub(crate) use self::observer::Reporter;
use crate::{Delivery, Generation, Identity, sources};

/// Something that a layer did on its failure path.
///
/// It never holds a request, a response or a credential. With the feature `serde` it is serialised with its name under `event`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(tag = "event", rename_all = "snake_case"))]
#[non_exhaustive]
pub enum RecoveryEvent {
    /// A resolve gave a new handle.
    HandleResolved {
        /// The name of the cache.
        name: Arc<str>,
        /// Who serves now.
        identity: Identity,
        /// The new generation.
        generation: Generation,
        /// Who served before, if anybody did.
        previous: Option<Identity>,
    },
    /// A resolve failed.
    ResolveFailed {
        /// The name of the cache.
        name: Arc<str>,
        /// Why, cut to 256 characters.
        cause: String,
    },
    /// A failure indicted the handle.
    HandleEvicted {
        /// The name of the cache.
        name: Arc<str>,
        /// Who was evicted.
        identity: Identity,
        /// The generation that ended.
        generation: Generation,
    },
    /// An attempt failed.
    AttemptFailed {
        /// The name of the retry layer.
        route: Arc<str>,
        /// The method that was called.
        method: String,
        /// Which attempt of its call, from 1.
        attempt: u32,
        /// What the failure proves; `None` where nothing recognised it.
        delivery: Option<Delivery>,
        /// The generation of the handle it ran on, where one was attached.
        generation: Option<Generation>,
        /// Why, cut to 256 characters.
        cause: String,
    },
    /// A call is sent again.
    CallRepeated {
        /// The name of the retry layer.
        route: Arc<str>,
        /// The method that is called.
        method: String,
        /// Which attempt of its call, from 2.
        attempt: u32,
        /// Whether the request was asked to be silent.
        silenced: bool,
        /// Whether it cost no permit, because another instance serves now, or another handle whose predecessor gave the request back.
        free: bool,
    },
    /// A call that failed is not sent again, although its bounds alone forbid it.
    CallGivenUp {
        /// The name of the retry layer.
        route: Arc<str>,
        /// The method that was called.
        method: String,
        /// How many attempts were spent.
        attempts: u32,
        /// What they prove together.
        delivery: Option<Delivery>,
        /// Which bound it was.
        reason: GiveUp,
    },
}

/// Which bound ended a call that might have been sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum GiveUp {
    /// The attempts of the call, or of a retry layer below.
    Attempts,
    /// The budget had no permit.
    Budget,
    /// The deadline has passed, or would before the next attempt.
    Deadline,
    /// The request can not be copied and was not handed back.
    NoRequest,
    /// The copy that was kept can not give the whole request any more: its body was longer than what is kept of it.
    IncompleteCopy,
}

impl GiveUp {
    /// Whether it is the bounds of the call that ended it, so that an outer retry must stop too. Without a request to send here, an outer layer may
    /// still have one.
    pub(crate) fn is_exhaustion(self) -> bool {
        match self {
            Self::Attempts | Self::Budget | Self::Deadline => true,
            Self::NoRequest | Self::IncompleteCopy => false,
        }
    }
}

/// The longest text in an event, in characters.
const LONGEST_TEXT: usize = 256;

/// An error with all its sources in one line, cut.
pub(crate) fn text(error: &(dyn Error + 'static)) -> String {
    let mut text = String::new();
    for link in sources(error) {
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&link.to_string());
        if text.len() > 4 * LONGEST_TEXT {
            break;
        }
    }
    text.char_indices().nth(LONGEST_TEXT).map(|(end, _)| end).into_iter().for_each(|end| text.truncate(end));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Link(String, #[source] Option<Box<Self>>);

    #[test]
    fn a_text_is_the_whole_chain_in_one_line() {
        let error = Link("outer".into(), Some(Box::new(Link("inner".into(), None))));
        assert_eq!(text(&error), "outer: inner");
    }

    #[test]
    fn a_long_text_is_cut_at_a_character() {
        for letter in ["a", "ä", "字", "😀"] {
            let error = Link(letter.repeat(200), Some(Box::new(Link(letter.repeat(2_000), None))));
            assert_eq!(text(&error).chars().count(), LONGEST_TEXT);
        }
    }
}
