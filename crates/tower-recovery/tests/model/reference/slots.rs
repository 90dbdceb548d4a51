//! The concurrency limit: so many slots, handed to those who ask in the order in which they asked.

use std::collections::VecDeque;

#[derive(Debug)]
pub(crate) struct Slots {
    free: usize,
    /// Who waits, and whether a slot lies ready for it.
    waiting: VecDeque<(u32, bool)>,
}

impl Slots {
    pub(super) fn new(slots: usize) -> Self {
        Self { free: slots, waiting: VecDeque::new() }
    }

    /// Takes a slot, or a place in the queue.
    pub(super) fn ask(&mut self, id: u32) -> bool {
        match self.waiting.iter().position(|(waiting, _)| *waiting == id) {
            Some(place) if self.waiting[place].1 => {
                self.waiting.remove(place);
                true
            }
            Some(_) => false,
            None if self.free > 0 => {
                self.free -= 1;
                true
            }
            None => {
                self.waiting.push_back((id, false));
                false
            }
        }
    }

    pub(super) fn is_assigned(&self, id: u32) -> bool {
        self.waiting.contains(&(id, true))
    }

    pub(super) fn release(&mut self) {
        match self.waiting.iter_mut().find(|(_, assigned)| !assigned) {
            Some((_, assigned)) => *assigned = true,
            None => self.free += 1,
        }
    }

    /// Leaves the queue.
    pub(super) fn abandon(&mut self, id: u32) {
        let Some(place) = self.waiting.iter().position(|(waiting, _)| *waiting == id) else { return };
        if let Some((_, true)) = self.waiting.remove(place) {
            self.release();
        }
    }
}
