//! One step at a time, each bounded; and a rebuild in its order, when it is needed, and not too often.

use std::time::Duration;

use crate::{
    record::{Answer, End, Kind, Outcome, Seen, What},
    script::Setup,
    times::{CLOSE, INTERVAL, LOOK_UP, SHORTEST_PAUSE, STEP, TICK},
};

#[derive(Default)]
pub(super) struct Steps {
    pub(super) rebuilds: u64,
    held: u32,
    in_flight: Option<(Kind, Duration)>,
    /// The newest step that ended.
    ended: Option<(End, Duration)>,
    /// The look-ups since the last step of a rebuild, or since one that was answered with yes.
    denied: u32,
    newest: Option<Answer>,
    rebuild_began: Option<Duration>,
    tries: u32,
    /// When the newest attempt failed, and may be tried again.
    failed: Option<Duration>,
    /// When the newest look-up began.
    asked: Duration,
    /// Something was registered, or would have been, so that a fleet may have lost it together.
    has_begun: bool,
}

pub(super) fn judge(setup: Setup, record: &[Seen]) -> Steps {
    let mut steps = Steps { held: u32::from(setup.connected), has_begun: setup.connected, ..Steps::default() };
    for seen in record {
        match seen.what {
            What::Began(kind) => steps.begins(kind, seen.at),
            What::Ended(end) => steps.ends(end, seen.at),
            What::Let { .. } => steps.held -= 1,
            What::Disconnected | What::EvictionSeen | What::ScriptEnded => {}
        }
    }
    steps
}

impl Steps {
    fn begins(&mut self, kind: Kind, now: Duration) {
        assert_eq!(self.in_flight, None, "law 10: {kind:?} beside another step");
        self.in_flight = Some((kind, now));
        if !matches!(kind, Kind::LookUp { .. }) {
            assert_ne!(self.newest, Some(Answer::Another), "law 10: {kind:?}, and another process has the id");
        }
        match kind {
            Kind::LookUp { connection } => {
                assert_eq!(connection.is_some(), self.held == 1, "what is held is looked at");
                self.asked = now;
            }
            Kind::Close { .. } => self.begins_a_try(now),
            Kind::Connect => {
                assert_eq!(self.held, 0, "law 10: a connection is closed before the next one is made");
                if !matches!(self.ended, Some((End::Close { .. }, _))) {
                    self.begins_a_try(now);
                }
            }
            Kind::Register { .. } => {
                let connected = matches!(self.ended, Some((End::Connect(Outcome::Done), _)));
                assert!(
                    connected,
                    "law 10: nothing is registered but over a new connection, not after {:?}",
                    self.ended
                );
            }
        }
    }

    fn begins_a_try(&mut self, now: Duration) {
        let (before, ended) = self.ended.expect("a look-up comes first");
        assert!(matches!(before, End::LookUp(_)), "law 10: tried after {before:?}, and the registry was not asked");
        assert_eq!(now, ended, "an attempt follows the look-up that says so");
        match self.rebuild_began {
            Some(began) if now < began + INTERVAL => self.tries_again(),
            _ => self.begins_a_rebuild(now),
        }
        self.denied = 0;
        self.failed = None;
    }

    fn tries_again(&mut self) {
        self.tries += 1;
        let failed = self.failed.unwrap_or_else(|| panic!("law 11: try {} of a rebuild that did not fail", self.tries));
        assert!(self.asked >= failed + SHORTEST_PAUSE, "law 11: try {} without a pause", self.tries);
        assert_eq!(self.denied, 1, "law 11: try {} after more than its look-up", self.tries);
    }

    fn begins_a_rebuild(&mut self, now: Duration) {
        let needed = if self.has_begun { 2 } else { 1 };
        assert!(self.denied >= needed, "law 10: rebuilt after {} look-ups of {needed}", self.denied);
        self.rebuild_began = Some(now);
        self.rebuilds += 1;
        self.tries = 1;
        self.has_begun = true;
    }

    fn ends(&mut self, end: End, now: Duration) {
        let (kind, began) = self.in_flight.take().expect("what ends has begun");
        let limit = match end {
            End::LookUp(_) => LOOK_UP,
            End::Close { .. } => CLOSE,
            End::Connect(_) | End::Register(_) => STEP,
        };
        assert!(now <= began + limit + TICK, "law 10: {kind:?} took {:?}", now - began);
        match (end, kind) {
            (End::LookUp(answer), Kind::LookUp { connection }) => {
                // Without a connection, what is there is what is left.
                let ours = answer == Answer::Ours && connection.is_some();
                self.denied = if ours || answer == Answer::Another { 0 } else { self.denied + 1 };
                self.has_begun |= ours;
                self.newest = Some(answer);
            }
            (End::Connect(Outcome::Done), _) => self.held += 1,
            (End::Connect(Outcome::Failed) | End::Register(Outcome::Failed), _) => self.failed = Some(now),
            _ => {}
        }
        self.ended = Some((end, now));
    }
}
