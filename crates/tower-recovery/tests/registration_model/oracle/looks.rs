//! How often the registry is asked, and what the answers come to: one episode from the first loss to the next look-up that finds the process.

use std::time::Duration;

use super::meaning::{Judge, Meaning, Role};
use crate::{
    record::{Answer, End, Kind, Outcome, Seen, What},
    script::Setup,
    times::{FLOOR, GRACE, INTERVAL, LOOK_UP, SHORTEST_PAUSE, SPREAD, TICK},
};

/// What the process was told, and counts for the next look-up.
#[derive(Clone, Copy, Debug, Default)]
struct Signals {
    first_disconnect: Option<Duration>,
    last_disconnect: Option<Duration>,
    first_eviction: Option<Duration>,
}

pub(super) struct Looks {
    pub(super) number: u64,
    pub(super) episodes: u64,
    /// After which time, each.
    pub(super) recovered: Vec<Duration>,
    pub(super) confirmed: u64,
    judge: Judge,
    lost: Option<Duration>,
    /// A call was told, and no look-up has begun since.
    proof: bool,
    /// When the last look-up that was not the second one began; when one ended that confirmed.
    regular: Duration,
    rebuild_began: Option<Duration>,
    last: Option<(Meaning, Duration)>,
    leads_to_a_second: bool,
    /// Attempts of the rebuild that is under way.
    tries: u32,
    since_last: Signals,
}

pub(super) fn judge(setup: Setup, record: &[Seen]) -> Looks {
    let mut looks = Looks {
        number: 0,
        episodes: 0,
        recovered: Vec::new(),
        confirmed: 0,
        judge: Judge::new(setup),
        lost: (!setup.connected).then_some(Duration::ZERO),
        proof: false,
        regular: Duration::ZERO,
        rebuild_began: None,
        last: None,
        leads_to_a_second: false,
        tries: 0,
        since_last: Signals::default(),
    };
    let mut step = None;
    let mut role = Role::First;
    let mut during = Signals::default();
    for (place, seen) in record.iter().enumerate() {
        match seen.what {
            What::Began(kind) => {
                step = Some((kind, seen.at));
                if let Kind::LookUp { .. } = kind {
                    role = looks.role(&record[..place], seen.at);
                    looks.begins(role, seen.at);
                    during = Signals::default();
                } else if begins_a_rebuild(&record[..place], role, &looks) {
                    looks.rebuild_began = Some(seen.at);
                    looks.tries = 0;
                }
                looks.tries += u32::from(kind == Kind::Connect);
            }
            What::Ended(End::LookUp(answer)) => {
                let Some((Kind::LookUp { connection }, _)) = step.take() else { panic!("a look-up ends that began") };
                looks.ends(role, answer, connection.is_some(), during, seen.at);
            }
            What::Ended(end) => {
                step = None;
                if let End::Register(_) = end {
                    looks.judge.registered();
                }
            }
            What::Disconnected | What::EvictionSeen => {
                let looks_up = matches!(step, Some((Kind::LookUp { .. }, _)));
                let connected = !matches!(step, Some((Kind::LookUp { connection: None }, _)));
                let is_heard = match seen.what {
                    What::EvictionSeen => role != Role::Confirming,
                    _ => role == Role::First && connected,
                };
                if looks_up && is_heard {
                    during.hear(seen);
                } else if step.is_none() && waits_for_a_first(record, place, &looks) {
                    looks.since_last.hear(seen);
                    looks.proof |= seen.what == What::EvictionSeen;
                }
            }
            What::ScriptEnded | What::Let { .. } => {}
        }
    }
    looks
}

/// The step before was a look-up that leads to a rebuild, and not to another attempt at one.
fn begins_a_rebuild(before: &[Seen], role: Role, looks: &Looks) -> bool {
    let ended = before.iter().rev().find_map(|seen| match seen.what {
        What::Ended(end) => Some(end),
        _ => None,
    });
    let is_lost = matches!(looks.last, Some((Meaning::Lost, _)));
    is_lost && matches!(ended, Some(End::LookUp(_))) && role != Role::Between
}

/// What begins next is a look-up by the clock, and no step of a rebuild and no other look-up.
fn waits_for_a_first(record: &[Seen], place: usize, looks: &Looks) -> bool {
    let next = record.iter().enumerate().skip(place).find_map(|(at, seen)| match seen.what {
        What::Began(kind) => Some((at, kind)),
        _ => None,
    });
    let Some((at, Kind::LookUp { connection })) = next else { return false };
    // Without a connection there is none that could have ended.
    let is_told = connection.is_some() || record[place].what == What::EvictionSeen;
    is_told && looks.role(&record[..at], record[at].at) == Role::First
}

impl Signals {
    fn hear(&mut self, seen: &Seen) {
        if seen.what == What::Disconnected {
            self.first_disconnect.get_or_insert(seen.at);
            self.last_disconnect = Some(seen.at);
        } else {
            self.first_eviction.get_or_insert(seen.at);
        }
    }

    fn nothing(self) -> bool {
        self.first_disconnect.is_none() && self.first_eviction.is_none()
    }
}

impl Looks {
    fn role(&self, before: &[Seen], now: Duration) -> Role {
        let ended = before.iter().rev().find_map(|seen| match seen.what {
            What::Ended(end) => Some(end),
            _ => None,
        });
        match ended {
            Some(End::Register(Outcome::Done)) => Role::Confirming,
            Some(End::Connect(Outcome::Failed) | End::Register(Outcome::Failed))
                if self.is_tried_again(before, now) =>
            {
                Role::Between
            }
            Some(End::LookUp(_)) if self.leads_to_a_second => Role::Second,
            _ => Role::First,
        }
    }

    /// Whether a pause began when the step failed: it does if it ends before the next regular look-up. Without one the process waits for that, or for what a call is told.
    fn is_tried_again(&self, before: &[Seen], now: Duration) -> bool {
        let failed = before.iter().rev().find(|seen| matches!(seen.what, What::Ended(_))).map_or(now, |seen| seen.at);
        let shortest = SHORTEST_PAUSE * self.tries.clamp(1, 15);
        let told = before.iter().rev().find(|seen| seen.what == What::EvictionSeen && seen.at >= failed);
        let asked_for = told.is_some_and(|told| {
            let floor = self.last.map_or(Duration::ZERO, |(_, ended)| ended + FLOOR);
            now == told.at.max(floor)
        });
        now < self.due() && failed + shortest < self.due() && now >= failed + shortest && !asked_for
    }

    /// When the next regular look-up is, while a rebuild is under way.
    fn due(&self) -> Duration {
        let after_rebuild = self.rebuild_began.map(|began| began + INTERVAL - 2 * LOOK_UP - SPREAD);
        after_rebuild.unwrap_or_default().max(self.regular + INTERVAL)
    }

    fn begins(&mut self, role: Role, now: Duration) {
        let signals = std::mem::take(&mut self.since_last);
        match (role, self.last) {
            (Role::First, None) => {
                let latest = if signals.first_disconnect.is_some() { INTERVAL + GRACE } else { INTERVAL };
                assert!(now <= latest + TICK, "law 10: the first look-up after {now:?}");
            }
            (Role::First, Some((Meaning::Found, ended))) => self.is_in_time(signals, ended, now),
            (Role::Second, Some((_, ended))) => {
                let allowed = self.rebuild_began.map_or(Duration::ZERO, |began| began + INTERVAL);
                let latest = allowed.max(ended + SPREAD) + TICK;
                assert!(now <= latest, "law 10: the second look-up {:?} late", now - latest);
            }
            _ => {}
        }
        if role == Role::First {
            self.regular = now;
        }
    }

    /// All is well: one look-up an interval, unless somebody says something.
    fn is_in_time(&self, signals: Signals, ended: Duration, now: Duration) {
        let regular = self.regular + INTERVAL;
        if signals.nothing() {
            assert!(now >= regular, "law 10: two look-ups within an interval, {:?} early", regular - now);
            assert!(now <= regular + TICK, "law 10: a look-up that is late by {:?}", now - regular);
            return;
        }
        assert!(now <= regular + GRACE + TICK, "law 10: put off by {:?}", now - regular);
        if let Some(disconnect) = signals.last_disconnect {
            assert!(now <= disconnect + GRACE + TICK, "a disconnect was not looked at for {:?}", now - disconnect);
        }
        if let Some(eviction) = signals.first_eviction {
            assert!(now >= regular.min(ended + FLOOR), "law 11: asked again after {:?}", now - ended);
            let latest = (ended + FLOOR).max(eviction) + TICK;
            assert!(now <= latest, "proof was not looked at for {:?}", now - eviction);
        } else if let Some(disconnect) = signals.first_disconnect {
            assert!(now >= regular.min(disconnect + GRACE), "a disconnect is no reason to ask before the grace");
        }
    }

    fn ends(&mut self, role: Role, answer: Answer, connected: bool, during: Signals, now: Duration) {
        self.number += 1;
        let proof = std::mem::take(&mut self.proof) || during.first_eviction.is_some();
        let disconnected = during.first_disconnect.is_some() && !proof;
        let meaning = self.judge.meaning(role, answer, connected, disconnected);
        match meaning {
            Meaning::Found => {
                self.recovered.extend(self.lost.take().map(|lost| now - lost));
                let confirms = matches!(role, Role::Confirming | Role::Between);
                self.confirmed += u64::from(confirms);
                // It stands for the regular one, if that was due meanwhile.
                if confirms || self.regular + INTERVAL <= now {
                    self.regular = now;
                }
            }
            Meaning::Lost | Meaning::Another => {
                self.episodes += u64::from(self.lost.is_none());
                self.lost.get_or_insert(now);
            }
            Meaning::Nothing => {}
        }
        if matches!(meaning, Meaning::Found | Meaning::Nothing) {
            // It may be from before they were.
            self.since_last = Signals {
                first_disconnect: during.first_disconnect.map(|_| now),
                last_disconnect: during.last_disconnect.map(|_| now),
                first_eviction: during.first_eviction,
            };
            self.proof = during.first_eviction.is_some();
        }
        self.leads_to_a_second = role == Role::First && meaning == Meaning::Lost;
        self.last = Some((meaning, now));
    }
}
