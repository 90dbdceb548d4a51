//! The number that tells one handle from the next.

use std::{fmt, num::NonZeroU64};

/// A number that grows by one with every new handle of a cache. Who evicts names the generation it saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(transparent))]
pub struct Generation(NonZeroU64);

impl Generation {
    /// The generation of a cache's first handle.
    pub const FIRST: Self = Self(NonZeroU64::MIN);

    /// The generation as a number, from 1.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0.get()
    }

    pub(crate) fn next(self) -> Self {
        // 2^64 handles at one a nanosecond take 584 years.
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, formatter)
    }
}
