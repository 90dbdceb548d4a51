//! Items that are held back, up to a bound.

use std::{mem, vec};

/// Items of one attempt that are held back. Each counts with the bytes that it holds and with the size of its value.
pub(super) struct Held<Item> {
    items: Vec<Item>,
    size: u64,
    limit: u64,
}

impl<Item> Held<Item> {
    pub(super) fn up_to(limit: usize) -> Self {
        Self { items: Vec::new(), size: 0, limit: limit as u64 }
    }

    /// Holds one more, which holds so many bytes. Tells whether all of them are within the bound.
    pub(super) fn push(&mut self, item: Item, bytes: u64) -> bool {
        self.size = self.size.saturating_add(bytes).saturating_add(size_of::<Item>() as u64);
        self.items.push(item);
        self.size <= self.limit
    }

    /// Lets go of them: what comes next is another attempt's.
    pub(super) fn clear(&mut self) {
        self.items.clear();
        self.size = 0;
    }

    pub(super) fn take(&mut self) -> Vec<Item> {
        self.size = 0;
        mem::take(&mut self.items)
    }

    pub(super) fn drain(&mut self) -> vec::IntoIter<Item> {
        self.take().into_iter()
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    pub(super) fn limit(&self) -> usize {
        self.limit as usize
    }
}
