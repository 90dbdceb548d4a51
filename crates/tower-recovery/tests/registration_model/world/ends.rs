//! How the next steps of a rebuild and the next look-ups end, by the script.

use std::collections::VecDeque;

use crate::script::{Close, Connect, LookUp, Register, Step};

/// Of each kind, those that are still to come, with the milliseconds that they take.
#[derive(Default)]
pub(super) struct Ends {
    look_ups: VecDeque<(u16, LookUp)>,
    closes: VecDeque<(u16, Close)>,
    connects: VecDeque<(u16, Connect)>,
    registers: VecDeque<(u16, Register)>,
}

/// What nobody says anything of works, and takes a little.
const TAKES: u16 = 40;

impl Ends {
    pub(super) fn add(&mut self, step: Step) {
        match step {
            Step::LookUps { number, takes, end } => self.look_ups.extend(times(number, (takes, end))),
            Step::Close { takes, end } => self.closes.push_back((takes, end)),
            Step::Connects { number, takes, end } => self.connects.extend(times(number, (takes, end))),
            Step::Registers { number, takes, end } => self.registers.extend(times(number, (takes, end))),
            _ => {}
        }
    }

    pub(super) fn look_up(&mut self) -> (u16, LookUp) {
        self.look_ups.pop_front().unwrap_or((TAKES, LookUp::Truth))
    }

    pub(super) fn close(&mut self) -> (u16, Close) {
        self.closes.pop_front().unwrap_or((TAKES, Close::Works))
    }

    pub(super) fn connect(&mut self) -> (u16, Connect) {
        self.connects.pop_front().unwrap_or((TAKES, Connect::Works))
    }

    pub(super) fn register(&mut self) -> (u16, Register) {
        self.registers.pop_front().unwrap_or((TAKES, Register::Works))
    }
}

fn times<End: Clone>(number: u8, end: End) -> impl Iterator<Item = End> {
    std::iter::repeat_n(end, usize::from(number))
}
