//! What one look-up comes to.

use crate::{record::Answer, script::Setup};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// By the clock, or asked for.
    First,
    /// Before a rebuild.
    Second,
    /// Before another attempt at it.
    Between,
    /// After one.
    Confirming,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Found,
    Lost,
    Another,
    Nothing,
}

/// Remembers of the look-ups before what counts for the next one.
pub(super) struct Judge {
    setup: Setup,
    unanswered: u32,
    busy: u32,
    /// The last one was, by the end of the connection: that is had once in a row.
    excused: bool,
    /// The registry said no, and nothing was registered since.
    denied: bool,
}

impl Judge {
    pub(super) fn new(setup: Setup) -> Self {
        Self { setup, unanswered: 0, busy: 0, excused: false, denied: false }
    }

    /// Something was, or may have been.
    pub(super) fn registered(&mut self) {
        self.denied = false;
    }

    pub(super) fn meaning(&mut self, role: Role, answer: Answer, connected: bool, disconnected: bool) -> Meaning {
        // Without a connection nothing can be ours, whatever is answered or not.
        let answer = match answer {
            Answer::Another => Answer::Another,
            _ if !connected => Answer::Missing,
            answer => answer,
        };
        let answered = matches!(answer, Answer::Ours | Answer::Missing | Answer::Another);
        self.excused = disconnected && !self.excused && !matches!(answer, Answer::Ours | Answer::Another);
        if answered {
            self.unanswered = 0;
            self.denied = answer == Answer::Missing && !self.excused;
        }
        match answer {
            Answer::Ours => {
                self.busy = 0;
                return Meaning::Found;
            }
            Answer::Another => return Meaning::Another,
            _ if self.excused || role == Role::Confirming => return Meaning::Nothing,
            _ if self.denied => return Meaning::Lost,
            Answer::TimedOut { busy: true } => {
                self.busy += 1;
                if self.busy <= self.setup.busy_look_ups {
                    return Meaning::Nothing;
                }
            }
            _ => {}
        }
        if role == Role::First && !answered {
            self.unanswered += 1;
            if self.unanswered < self.setup.unanswered_look_ups {
                return Meaning::Nothing;
            }
        }
        Meaning::Lost
    }
}
