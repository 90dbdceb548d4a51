//! The balance of permits, in hundredths of one.

use super::Settings;

/// So many answered calls of one clone are paid in together.
const BATCH: u64 = 16;

#[derive(Debug)]
pub(crate) struct Budget {
    percent: u64,
    ceiling: u64,
    balance: u64,
    /// What each clone has counted and not paid in.
    counted: Vec<u64>,
}

impl Budget {
    pub(super) fn new(settings: Settings, clones: usize) -> Self {
        Self {
            percent: settings.percent.into(),
            ceiling: u64::from(settings.ceiling) * 100,
            balance: u64::from(settings.reserve) * 100,
            counted: vec![0; clones],
        }
    }

    pub(super) fn permits(&self) -> u64 {
        self.balance / 100
    }

    pub(super) fn withdraw(&mut self) -> bool {
        let enough = self.balance >= 100;
        self.balance -= if enough { 100 } else { 0 };
        enough
    }

    pub(super) fn give_back(&mut self) {
        self.add(100);
    }

    /// A call of this clone was answered.
    pub(super) fn answered(&mut self, clone: usize) {
        self.counted[clone] += 1;
        if self.counted[clone] == BATCH {
            self.settle(clone);
        }
    }

    /// A call of a clone of its own was answered.
    pub(super) fn answered_once(&mut self) {
        self.add(self.percent);
    }

    pub(super) fn settle_all(&mut self) {
        (0..self.counted.len()).for_each(|clone| self.settle(clone));
    }

    fn settle(&mut self, clone: usize) {
        let counted = std::mem::take(&mut self.counted[clone]);
        self.add(counted * self.percent);
    }

    fn add(&mut self, amount: u64) {
        self.balance = (self.balance + amount).min(self.ceiling);
    }
}
