//! The handle cache: who is live, which resolve is in flight, and how many wait for it.

use crate::{
    expect::Expect,
    protocol::LookUpFailed,
    record::{Cause, Event},
    script::Answer,
};

use super::Settings;

/// A live handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) generation: u64,
    pub(crate) identity: u32,
    /// The number of the resolve that gave it.
    pub(crate) handle: u32,
}

#[derive(Debug)]
pub(crate) struct Cache {
    settings: Settings,
    live: Option<Found>,
    current: Option<usize>,
    flights: Vec<Flight>,
    generations: u64,
    resolves: u32,
    /// Who was evicted, until somebody is found in its place.
    evicted: Option<u32>,
    /// Resolves in a row that did not help.
    strikes: u64,
    /// The newest generation that has answered a call.
    served: u64,
    answered: Option<u64>,
    /// The registry: who it names, and how it answers.
    identity: u32,
    pub(super) registry: Option<Answer>,
}

#[derive(Debug)]
struct Flight {
    waiters: usize,
    stage: Stage,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// The resolver is called when somebody polls it from `latest` on, never before `earliest`.
    Floor {
        earliest: u64,
        latest: u64,
    },
    Called {
        number: u32,
        times_out: u64,
        answer: Option<Answer>,
    },
    Landed(Result<(), Cause>),
    /// Nobody waited any more.
    Ended,
}

impl Cache {
    pub(super) fn new(settings: Settings) -> Self {
        Self {
            settings,
            live: None,
            current: None,
            flights: Vec::new(),
            generations: 0,
            resolves: 0,
            evicted: None,
            strikes: 0,
            served: 0,
            answered: None,
            identity: 0,
            registry: None,
        }
    }

    pub(super) fn live(&self) -> Option<Found> {
        self.live
    }

    /// The script ends the resolve in flight.
    pub(super) fn end_resolve(&mut self, with: Answer) {
        let stage = self.current.map(|flight| &mut self.flights[flight].stage);
        let Some(Stage::Called { answer, .. }) = stage else { panic!("no resolve is in flight") };
        *answer = Some(with);
    }

    /// A place in the resolve in flight, or in a new one.
    pub(super) fn look_up(&mut self, now: u64) -> usize {
        let flight = match self.current {
            Some(flight) => flight,
            None => {
                // Longer ago than the longest pause: what went before tells nothing any more.
                if self.answered.is_none_or(|answered| now >= answered + self.settings.floor_ceiling) {
                    self.strikes = 0;
                }
                let pause = (self.settings.floor_step * self.strikes.max(1)).min(self.settings.floor_ceiling);
                let (earliest, latest) =
                    self.answered.map_or((now, now), |answered| (answered + pause, answered + pause + pause / 4));
                self.flights.push(Flight { waiters: 0, stage: Stage::Floor { earliest, latest } });
                *self.current.insert(self.flights.len() - 1)
            }
        };
        self.flights[flight].waiters += 1;
        flight
    }

    /// Waits for the live handle. `waiting` is the place that the waiter has, if it has one.
    pub(super) fn acquire(
        &mut self,
        waiting: &mut Option<usize>,
        expect: &mut Expect<'_>,
    ) -> Option<Result<Found, Cause>> {
        loop {
            if let Some(flight) = *waiting {
                let landed = self.poll(flight, expect)?;
                *waiting = None;
                if let Err(cause) = landed {
                    return Some(Err(cause));
                }
            }
            match self.live {
                Some(live) => return Some(Ok(live)),
                None => *waiting = Some(self.look_up(expect.now())),
            }
        }
    }

    /// A waiter goes away before its flight has ended: the last one takes the resolve with it.
    pub(super) fn leave(&mut self, flight: usize, expect: &mut Expect<'_>) {
        let left = &mut self.flights[flight];
        if matches!(left.stage, Stage::Landed(_)) {
            return;
        }
        left.waiters -= 1;
        if left.waiters > 0 {
            return;
        }
        self.current = None;
        if let Stage::Called { number, .. } = left.stage {
            expect.event(Event::ResolveDropped { number });
            // It had asked the registry, so the next one keeps its distance.
            self.answered = Some(expect.now());
            self.strikes += u64::from(self.live.is_none());
        }
        left.stage = Stage::Ended;
    }

    /// The handle of this generation has answered.
    pub(super) fn has_served(&mut self, generation: u64) {
        self.served = self.served.max(generation);
    }

    /// Only the live generation is evicted.
    pub(super) fn evict(&mut self, generation: u64, expect: &mut Expect<'_>) {
        if let Some(live) = self.live.take_if(|live| live.generation == generation) {
            if self.served == generation {
                self.strikes = 0;
            }
            self.evicted = Some(live.identity);
            expect.event(Event::Evicted { generation, identity: live.identity });
        }
    }

    /// Whether whoever waits for this flight has something to do.
    pub(super) fn is_due(&self, flight: usize, now: u64) -> bool {
        match self.flights[flight].stage {
            Stage::Floor { latest, .. } => now >= latest,
            Stage::Called { times_out, answer, .. } => answer.is_some() || now >= times_out,
            Stage::Landed(_) => true,
            Stage::Ended => false,
        }
    }

    pub(super) fn moments(&self) -> impl Iterator<Item = u64> {
        let stage = self.current.map(|flight| self.flights[flight].stage);
        let (first, second) = match stage {
            Some(Stage::Floor { earliest, latest }) => (Some(earliest), Some(latest)),
            Some(Stage::Called { times_out, .. }) => (Some(times_out), None),
            _ => (None, None),
        };
        first.into_iter().chain(second)
    }

    fn poll(&mut self, flight: usize, expect: &mut Expect<'_>) -> Option<Result<(), Cause>> {
        let now = expect.now();
        if let Stage::Floor { earliest, latest } = self.flights[flight].stage {
            let number = self.resolves + 1;
            let call = Event::Resolve { number };
            if now < earliest || (now < latest && expect.next() != Some(call)) {
                return None;
            }
            expect.event(call);
            self.resolves = number;
            let times_out = now + self.settings.resolve_timeout;
            self.flights[flight].stage = Stage::Called { number, times_out, answer: self.registry };
        }
        if let Stage::Called { number, times_out, answer } = self.flights[flight].stage {
            let landed = match answer {
                Some(answer) => self.answered(number, answer, expect),
                None if now >= times_out => {
                    expect.event(Event::ResolveDropped { number });
                    self.failed(Cause::LookUpTimedOut, expect)
                }
                None => return None,
            };
            self.answered = Some(now);
            self.current = None;
            self.flights[flight].stage = Stage::Landed(landed);
        }
        match self.flights[flight].stage {
            Stage::Landed(landed) => Some(landed),
            stage => panic!("somebody waits for a flight that is {stage:?}"),
        }
    }

    fn answered(&mut self, number: u32, answer: Answer, expect: &mut Expect<'_>) -> Result<(), Cause> {
        match answer {
            Answer::New => self.identity += 1,
            Answer::Same => self.identity = self.identity.max(1),
            Answer::Error => return self.failed(Cause::LookUpFailed(LookUpFailed { number }), expect),
            Answer::Panic => return self.failed(Cause::LookUpPanicked, expect),
        }
        if self.live.is_some_and(|live| live.identity == self.identity) {
            return Ok(());
        }
        let previous = self.live.map(|live| live.identity).or_else(|| self.evicted.take());
        self.strikes = if previous == Some(self.identity) { self.strikes + 1 } else { 0 };
        self.generations += 1;
        let found = Found { generation: self.generations, identity: self.identity, handle: number };
        self.live = Some(found);
        expect.event(Event::Installed { generation: found.generation, identity: found.identity, previous });
        Ok(())
    }

    fn failed(&mut self, cause: Cause, expect: &mut Expect<'_>) -> Result<(), Cause> {
        // Beside a live handle nothing is missing.
        self.strikes += u64::from(self.live.is_none());
        expect.event(Event::ResolveFailed);
        Err(cause)
    }
}
