//! What was at stake: a guard against scripts in which no law could be broken.

use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(crate) struct Stakes(BTreeMap<&'static str, u32>);

impl Stakes {
    pub(crate) fn meets(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }

    pub(crate) fn add(&mut self, others: &Self) {
        for (what, count) in &others.0 {
            *self.0.entry(what).or_default() += count;
        }
    }

    pub(crate) fn count(&self, what: &str) -> u32 {
        self.0.get(what).copied().unwrap_or_default()
    }
}
