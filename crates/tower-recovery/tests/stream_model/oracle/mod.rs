//! The laws, judged by what is seen from outside.
//!
//! Whoever reads the record knows at each moment what the layer owes: to whom it must be silent, what must be closed, what its reader must get next, and until
//! when a silence is waited for. It is told by what the layer *does*; what the layer says to its observer must agree with that.

mod attempts;
mod endings;
mod probes;
mod reader;
mod silence;
mod words;

use std::{collections::VecDeque, time::Duration};

use tower_recovery::{StreamMode, stream_replacement::ReplacementBasis};

use self::{silence::Watch, words::law_of};
use crate::{
    protocol::{Head, Item},
    record::{Event, Out, Report, Word, broken},
    script::{Admission, Setup},
    stack::Times,
    stakes::Stakes,
    world::World,
};

#[derive(Debug)]
pub(crate) struct Oracle {
    setup: Setup,
    times: Times,
    now: Duration,
    stage: Stage,
    /// How often the layer has called what is below it.
    calls: u32,
    /// How many attempts were made below beyond those, where the calls have failed.
    further_below: u32,
    /// The number of the attempt that is under way, or comes next.
    attempt: u32,
    /// What is open: the call of an attempt, sendings, streams.
    call_is_open: bool,
    sends: Vec<u32>,
    streams: Vec<u32>,
    /// Whether a sending of the current call may have executed.
    sent_in_doubt: bool,
    /// Whether some attempt may have executed, as far as it can be known here.
    may_have_run: bool,
    /// Whether there is a request to be sent next.
    request: bool,
    settled: bool,
    committed: bool,
    /// The response of a call that failed by one.
    refused: Option<Head>,
    head: Option<Head>,
    reader_has_head: bool,
    /// What this attempt gave and is held back.
    held: Vec<Item>,
    held_bytes: usize,
    items: u64,
    bytes: u64,
    /// How many parts of the result this attempt gave.
    parts: u32,
    /// How many parts of the result the reader has, of all attempts: what a replacement is not asked for any more.
    next_part: u32,
    has_handed_out: bool,
    discarded: Vec<(u32, ReplacementBasis, u64, u64)>,
    /// What the reader must get in this poll.
    outs: VecDeque<Out>,
    /// What the layer must say in this poll.
    words: Vec<Word>,
    proposed: Option<ReplacementBasis>,
    watch: Watch,
    /// How many signs of life came in this poll.
    signs: u32,
    /// The instance is ready.
    must_call: bool,
    /// The reader has come to the end, or has gone away.
    over: bool,
    left: bool,
    pub(crate) stakes: Stakes,
}

/// Where the call is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    Calling,
    Streaming,
    /// The attempt is closed, and the next one is due after a pause that began then.
    Pausing {
        since: Duration,
        pause: Duration,
    },
    Readying,
    Over,
}

impl Oracle {
    pub(crate) fn new(setup: Setup) -> Self {
        let times = Times::of(&setup);
        Self {
            setup,
            times,
            now: Duration::ZERO,
            stage: Stage::Readying,
            calls: 0,
            further_below: 0,
            attempt: 1,
            call_is_open: false,
            sends: Vec::new(),
            streams: Vec::new(),
            sent_in_doubt: false,
            may_have_run: false,
            request: true,
            settled: false,
            committed: false,
            refused: None,
            head: None,
            reader_has_head: false,
            held: Vec::new(),
            held_bytes: 0,
            items: 0,
            bytes: 0,
            parts: 0,
            next_part: 0,
            has_handed_out: false,
            discarded: Vec::new(),
            outs: VecDeque::new(),
            words: Vec::new(),
            proposed: None,
            watch: Watch::new(times, setup.mode, setup.probed),
            signs: 0,
            must_call: false,
            over: false,
            left: false,
            stakes: Stakes::default(),
        }
    }

    pub(crate) fn sees(&mut self, event: Event, now: Duration) {
        self.now = now;
        match event {
            Event::Asked => self.is_readied(),
            Event::Ready => self.must_call = self.calls > 0,
            Event::NotReady => self.is_not_ready(),
            Event::Copied => self.is_copied(),
            Event::Called { silent, from } => self.is_called(silent, from),
            Event::CallEnded(outcome) => self.call_ended(outcome),
            Event::CallDropped => self.call_dropped(),
            Event::Sent { send } => self.is_sent(send),
            Event::SendEnded { send, opening } => self.send_ended(send, opening),
            Event::SendDropped { send } => self.sends.retain(|open| *open != send),
            Event::Gave { send, what } => self.gave(send, what),
            Event::StreamDropped { send } => self.stream_dropped(send),
            Event::ProbeCalled { round } => self.watch.probe_called(round),
            Event::ProbeEnded(health) => self.probe_ended(health),
            Event::ProbeDropped => self.probe_dropped(),
            Event::Said { attempt, word, untaken } => {
                self.items_come_before_timers(&word, untaken);
                self.said(attempt, word);
            }
            Event::Got(out) => self.reader_gets(out),
            Event::Pending => self.reader_waits(),
            Event::Left => self.left = true,
        }
    }

    fn is_watched(&self) -> bool {
        !self.settled && self.setup.mode != StreamMode::Disabled
    }

    fn is_resumed(&self) -> bool {
        self.setup.admission == Admission::Resumed
    }

    fn nothing_is_open(&self) -> bool {
        !self.call_is_open && self.sends.is_empty() && self.streams.is_empty() && !self.watch.probe_is_alive()
    }

    /// What must have been done by the end of a poll.
    fn nothing_is_owed(&self) {
        if self.must_call {
            broken("law 2, who is ready is called", format_args!("{self:?}"));
        }
        if let Some(word) = self.words.first() {
            broken(law_of(word), format_args!("it was not said: {:?}", self.words));
        }
        if self.proposed.is_some() {
            broken("law 1 or 8, what is replaced", "a proposal was not made");
        }
        let is_closed = matches!(self.stage, Stage::Over | Stage::Pausing { .. });
        if is_closed && !self.nothing_is_open() {
            broken("law 7 or 9, what is given up is closed at once", format_args!("{self:?}"));
        }
    }

    fn report(&self) -> Report {
        Report { attempts: self.attempt, discarded: self.discarded.clone() }
    }

    /// The reader has asked as often as it was woken: nothing may be left that it should have been woken for.
    pub(crate) fn nobody_was_forgotten(&mut self, world: &World, now: Duration) {
        if self.over || self.left {
            return;
        }
        self.now = now;
        let untaken = world.untaken();
        let forgotten = match self.stage {
            Stage::Calling => untaken.answer,
            Stage::Streaming => untaken.item,
            Stage::Pausing { since, pause } => now >= since + up_to_a_milli(pause),
            Stage::Readying => !world.is_unready(),
            Stage::Over => true,
        };
        let is_due = self.watch.is_timed() && self.watch.next().is_some_and(|due| now >= due);
        if forgotten || is_due || (self.watch.is_probing() && world.has_a_probe_answered()) {
            broken("a lost wake-up", format_args!("at {now:?}: {self:?}"));
        }
        self.stakes.meets("nobody was forgotten");
    }

    /// The next moment at which something is due.
    pub(crate) fn next_moment(&self) -> Option<Duration> {
        match self.stage {
            Stage::Pausing { since, pause } => Some(since + up_to_a_milli(pause)),
            Stage::Over => None,
            _ => self.watch.next().filter(|_| self.watch.is_timed()),
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over
    }
}

/// Timers fire at whole milliseconds.
fn up_to_a_milli(duration: Duration) -> Duration {
    let millis = duration.as_nanos().div_ceil(1_000_000);
    Duration::from_millis(u64::try_from(millis).expect("no pause is that long"))
}
