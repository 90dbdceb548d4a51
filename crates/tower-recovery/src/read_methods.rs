//! Which methods only read.

use std::{collections::HashMap, sync::Arc};

/// What a method does to the other side, as far as repeating it is concerned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "rules outside this crate decide by it, and a fifth kind would change what every layer does"
)]
pub enum Access {
    /// It may change something: never repeated once it may have executed. What nobody listed is a write.
    #[default]
    Write,
    /// It changes something, and the other side does it once however often it is asked, because the user says so: a request that carries a
    /// key of its own (`Idempotency-Key`). It is repeated like a read, and waited for like a write.
    IdempotentWrite,
    /// It changes nothing.
    Read,
    /// It changes nothing but a counter, and leaves that alone when it is asked to be silent: a repeat after an attempt that may
    /// have executed is silenced, so that nobody is counted twice.
    SilentRead,
}

impl Access {
    /// Whether it changes nothing, but for a counter.
    #[must_use]
    pub fn is_read(self) -> bool {
        matches!(self, Self::Read | Self::SilentRead)
    }

    /// Whether it may be repeated after an attempt that may have executed.
    #[must_use]
    pub fn is_repeatable(self) -> bool {
        self.is_read() || self == Self::IdempotentWrite
    }
}

/// The allowlist: exact names of methods that only read, each plain or silent. Every other method is a write.
///
/// # Examples
///
/// ```
/// use tower_recovery::{Access, ReadMethods};
///
/// let reads = ReadMethods::new().read("search").read("list_files").silent("read").silent("list");
///
/// assert_eq!(reads.access("search"), Access::Read);
/// assert_eq!(reads.access("read"), Access::SilentRead);
/// assert_eq!(reads.access("commit"), Access::Write);
/// assert_eq!(reads.access("Read"), Access::Write, "names are exact");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadMethods {
    // Shared, because every clone of a stack has its rules.
    listed: Arc<HashMap<Box<str>, Access>>,
}

impl ReadMethods {
    /// An empty list: every method is a write.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Lists a method that changes nothing.
    #[must_use]
    pub fn read(mut self, name: impl Into<Box<str>>) -> Self {
        Arc::make_mut(&mut self.listed).insert(name.into(), Access::Read);
        self
    }

    /// Lists a method that changes nothing but a counter, and leaves that alone when it is asked to be silent.
    #[must_use]
    pub fn silent(mut self, name: impl Into<Box<str>>) -> Self {
        Arc::make_mut(&mut self.listed).insert(name.into(), Access::SilentRead);
        self
    }

    /// What this method does. A name that is not listed is a write.
    #[must_use]
    pub fn access(&self, name: &str) -> Access {
        self.listed.get(name).copied().unwrap_or_default()
    }

    /// What is listed, in no order.
    #[cfg(feature = "serde")]
    pub(crate) fn listed(&self) -> impl Iterator<Item = (&str, Access)> {
        self.listed.iter().map(|(name, access)| (&**name, *access))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_listed_is_a_write() {
        let reads = ReadMethods::new().read("list").silent("read");
        let access = ["list", "read", "commit", "Read", "rea", "read ", ""].map(|name| reads.access(name));
        assert_eq!(access[..2], [Access::Read, Access::SilentRead]);
        assert!(access[2..].iter().all(|access| *access == Access::Write), "{access:?}");
        assert_eq!(ReadMethods::new().access("list"), Access::Write);
    }

    #[test]
    fn both_kinds_of_read_are_reads_and_a_write_is_none() {
        let all = [Access::Write, Access::IdempotentWrite, Access::Read, Access::SilentRead];
        assert_eq!(all.map(Access::is_read), [false, false, true, true]);
        assert_eq!(all.map(Access::is_repeatable), [false, true, true, true]);
    }

    #[test]
    fn a_list_that_grows_leaves_its_clones_alone_and_the_last_word_counts() {
        let reads = ReadMethods::new().read("list");
        let grown = reads.clone().silent("list").read("search");
        assert_eq!((reads.access("list"), reads.access("search")), (Access::Read, Access::Write));
        assert_eq!((grown.access("list"), grown.access("search")), (Access::SilentRead, Access::Read));
    }
}
