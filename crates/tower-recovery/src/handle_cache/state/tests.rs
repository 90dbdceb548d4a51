//! Every order of events up to length six, against a model that is flat where the machine has three states.

use super::*;

/// A handle is known by the resolve that made it, so that none can be lost or served twice unseen.
type Handle = u64;

const LENGTH: u32 = 6;
/// Two instances take turns, so that a resolve may find the one just evicted or another.
const IDENTITIES: [&str; 2] = ["a", "b"];

#[derive(Clone, Copy, Debug)]
enum Event {
    Acquire,
    LookUp,
    Ask,
    EvictLive,
    EvictOlder,
    Answer { identity: &'static str },
    Fail,
    AnswerOfAnEndedFlight,
    Leave,
    LeaveAnEndedFlight,
    Invalidate,
}

const EVENTS: [Event; 12] = [
    Event::Acquire,
    Event::LookUp,
    Event::Ask,
    Event::EvictLive,
    Event::EvictOlder,
    Event::Answer { identity: IDENTITIES[0] },
    Event::Answer { identity: IDENTITIES[1] },
    Event::Fail,
    Event::AnswerOfAnEndedFlight,
    Event::Leave,
    Event::LeaveAnEndedFlight,
    Event::Invalidate,
];

/// What must hold, said with two options and some counters.
#[derive(Clone, Debug)]
struct Model {
    telling: Telling,
    live: Option<(u64, &'static str, Handle)>,
    flight: Option<(u64, usize)>,
    generations: u64,
    flights: u64,
    handles: u64,
    evicted: Option<&'static str>,
    /// Whether the flight's resolver was asked, and whether somebody was evicted since.
    asked: bool,
    unaware: bool,
    strikes: u32,
    /// What came back out of the machine.
    returned: Vec<Handle>,
}

impl Model {
    fn new(telling: Telling) -> Self {
        Self {
            telling,
            live: None,
            flight: None,
            generations: 0,
            flights: 0,
            handles: 0,
            evicted: None,
            asked: false,
            unaware: false,
            strikes: 0,
            returned: Vec::new(),
        }
    }

    fn board(&mut self) -> Joined {
        if let Some((id, waiters)) = &mut self.flight {
            *waiters += 1;
            return Joined::Existing(FlightId(*id));
        }
        self.flights += 1;
        (self.asked, self.unaware) = (false, false);
        self.flight = Some((self.flights, 1));
        Joined::New(FlightId(self.flights))
    }

    fn ended_flight(&self) -> FlightId {
        // Ids start at 1: 0 is a flight that never was, and the newest but one has ended for sure.
        FlightId(self.flight.map_or(self.flights, |(id, _)| id - 1))
    }

    fn make_handle(&mut self) -> Handle {
        self.handles += 1;
        self.handles
    }

    fn settle(&mut self, answer: Option<(&'static str, Handle)>) -> Settled {
        self.flight = None;
        let Some((identity, handle)) = answer else {
            self.strikes += u32::from(self.live.is_none());
            return Settled::Failed;
        };
        if let Some((_, live, _)) = self.live
            && live == identity
        {
            self.returned.push(handle);
            return Settled::Confirmed;
        }
        if self.live.is_none() && self.evicted == Some(identity) && self.telling == Telling::OfEvictions && self.unaware
        {
            self.returned.push(handle);
            return Settled::Unaware;
        }
        let previous = match self.live.take() {
            Some((_, live, replaced)) => {
                self.returned.push(replaced);
                Some(live)
            }
            None => self.evicted.take(),
        };
        self.strikes = if previous == Some(identity) { self.strikes + 1 } else { 0 };
        self.generations += 1;
        self.live = Some((self.generations, identity, handle));
        Settled::Installed { generation: generation(self.generations), previous: previous.map(Identity::from) }
    }
}

fn generation(number: u64) -> Generation {
    (1..number).fold(Generation::FIRST, |generation, _| generation.next())
}

/// Applies one event to both. False: the event cannot happen here.
fn step(machine: &mut Machine<Handle>, model: &mut Model, event: Event) -> bool {
    match event {
        Event::Acquire => match (machine.acquire(), model.live) {
            (Acquired::Ready(served), Some((number, identity, handle))) => {
                assert_eq!(served.generation, generation(number));
                assert_eq!((served.identity.as_str(), served.handle), (identity, handle));
            }
            (Acquired::Wait(joined), None) => assert_eq!(joined, model.board()),
            (acquired, live) => panic!("{acquired:?} where {live:?} is live"),
        },
        Event::LookUp => assert_eq!(machine.look_up(), model.board()),
        Event::Ask => {
            let Some((id, _)) = model.flight else { return false };
            let serving = model.live.map(|(_, identity, _)| Identity::from(identity));
            let known = Known { evicted: model.evicted.map(Identity::from), serving };
            assert_eq!(machine.ask(FlightId(id)), known);
            assert_eq!(machine.ask(model.ended_flight()), Known::default(), "what was given up is told nothing");
            (model.asked, model.unaware) = (true, false);
        }
        Event::EvictLive => {
            let Some((number, identity, handle)) = model.live.take() else { return false };
            let evicted = machine.evict(generation(number), false).expect("the live generation can be evicted");
            assert_eq!((evicted.identity.as_str(), evicted.handle), (identity, handle));
            (model.evicted, model.unaware) = (Some(identity), model.asked);
            model.returned.push(handle);
        }
        Event::EvictOlder => {
            let older = match model.live {
                Some((1, ..)) => return false,
                Some((number, ..)) => number - 1,
                None => model.generations.max(1),
            };
            assert!(machine.evict(generation(older), true).is_none(), "a late failure evicts nothing");
        }
        Event::Answer { identity } => {
            let Some((id, _)) = model.flight else { return false };
            let handle = model.make_handle();
            let (settled, left_over) = machine.settle(FlightId(id), Some(Resolved::new(identity, handle)));
            let returned = model.returned.len();
            assert_eq!(settled, model.settle(Some((identity, handle))));
            assert_eq!(left_over.as_slice(), &model.returned[returned..]);
        }
        Event::Fail => {
            let Some((id, _)) = model.flight else { return false };
            assert_eq!(machine.settle(FlightId(id), None), (model.settle(None), None));
        }
        Event::AnswerOfAnEndedFlight => {
            let handle = model.make_handle();
            let answer = Some(Resolved::new(IDENTITIES[0], handle));
            assert_eq!(machine.settle(model.ended_flight(), answer), (Settled::Superseded, Some(handle)));
            model.returned.push(handle);
        }
        Event::Leave => {
            let Some((id, waiters)) = model.flight else { return false };
            assert_eq!(machine.leave(FlightId(id)), waiters == 1, "the last one to leave ends the flight");
            model.flight = (waiters > 1).then_some((id, waiters - 1));
        }
        Event::LeaveAnEndedFlight => {
            assert!(!machine.leave(model.ended_flight()), "whoever was served has nothing to end");
        }
        Event::Invalidate => {
            let was_live = model.live.take();
            let invalidated = machine.invalidate();
            let invalidated = invalidated.map(|live| (live.generation, live.identity.as_str().to_owned(), live.handle));
            let expected = was_live.map(|(number, identity, handle)| (generation(number), identity.to_owned(), handle));
            assert_eq!(invalidated, expected);
            model.returned.extend(was_live.map(|(.., handle)| handle));
            (model.flight, model.evicted, model.strikes) = (None, None, 0);
        }
    }
    true
}

fn check(machine: &Machine<Handle>, model: &Model) {
    assert_eq!(machine.live(), model.live.map(|(number, ..)| generation(number)));
    assert_eq!(machine.flying().map(|flying| (flying.id.0, flying.waiters)), model.flight);
    assert_eq!(machine.strikes(), model.strikes);
    // Every handle that went in is live or came out, once.
    let mut accounted = model.returned.clone();
    accounted.extend(model.live.map(|(.., handle)| handle));
    accounted.sort_unstable();
    assert!(accounted.iter().copied().eq(1..=model.handles), "{accounted:?} of {}", model.handles);
}

fn explore(machine: &Machine<Handle>, model: &Model, trace: &mut Vec<Event>, explored: &mut u64) {
    for event in EVENTS {
        let (mut machine, mut model) = (machine.clone(), model.clone());
        trace.push(event);
        let happened = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let happened = step(&mut machine, &mut model, event);
            check(&machine, &model);
            happened
        }));
        match happened {
            Ok(true) if trace.len() < LENGTH as usize => {
                *explored += 1;
                explore(&machine, &model, trace, explored);
            }
            Ok(happened) => *explored += u64::from(happened),
            Err(panic) => {
                eprintln!("after {trace:?}");
                std::panic::resume_unwind(panic);
            }
        }
        trace.pop();
    }
}

#[test]
fn every_order_of_events_up_to_length_six_keeps_the_rules() {
    for telling in [Telling::Nothing, Telling::OfEvictions] {
        let mut explored = 0;
        explore(&Machine::new(telling), &Model::new(telling), &mut Vec::new(), &mut explored);
        // A guard against an enumeration that prunes itself to nothing; the exact number changes with the list of events.
        assert!(explored > 130_000, "only {explored} orders were explored");
    }
}

#[test]
fn an_eviction_during_a_look_up_lets_the_look_up_answer_those_who_come_now() {
    let mut machine = Machine::new(Telling::Nothing);
    let Acquired::Wait(Joined::New(first)) = machine.acquire() else { panic!("nothing is live") };
    machine.settle(first, Some(Resolved::new("a", 1)));
    let Joined::New(look_up) = machine.look_up() else { panic!("nothing was in flight") };
    machine.evict(Generation::FIRST, false);
    let Acquired::Wait(Joined::Existing(joined)) = machine.acquire() else { panic!("a second resolve was started") };
    assert_eq!(joined, look_up);
    let (settled, _) = machine.settle(look_up, Some(Resolved::new("b", 2)));
    let previous = Some(Identity::from("a"));
    assert_eq!(settled, Settled::Installed { generation: Generation::FIRST.next(), previous });
}

#[test]
fn a_resolver_is_told_who_was_evicted_until_somebody_is_found() {
    let mut machine = Machine::new(Telling::OfEvictions);
    let ask = |machine: &mut Machine<Handle>, answer: Option<&'static str>| {
        let Joined::New(flight) = machine.look_up() else { panic!("nothing was in flight") };
        let Known { evicted, serving } = machine.ask(flight);
        let told = [evicted, serving].map(|identity| identity.map(|identity| identity.to_string()));
        machine.settle(flight, answer.map(|identity| Resolved::new(identity, 0)));
        told
    };
    let of = |evicted: Option<&str>, serving: Option<&str>| [evicted, serving].map(|name| name.map(str::to_owned));
    assert_eq!(ask(&mut machine, Some("a")), of(None, None), "nobody was evicted yet");
    assert_eq!(ask(&mut machine, Some("b")), of(None, Some("a")), "beside a live handle");
    machine.evict(machine.live().expect("b is live"), false);
    assert_eq!(ask(&mut machine, None), of(Some("b"), None));
    assert_eq!(ask(&mut machine, Some("b")), of(Some("b"), None), "nobody was found yet");
    assert_eq!(ask(&mut machine, Some("b")), of(None, Some("b")), "it was named all the same, and serves");
    machine.evict(machine.live().expect("b is live"), false);
    machine.invalidate();
    assert_eq!(ask(&mut machine, Some("b")), of(None, None), "what was evicted is made of what is gone");
}

#[test]
fn a_look_up_that_was_asked_before_the_eviction_and_finds_the_evicted_instance_is_asked_once_more() {
    for (telling, asked_before) in
        [(Telling::OfEvictions, true), (Telling::OfEvictions, false), (Telling::Nothing, true)]
    {
        let mut machine = Machine::new(telling);
        let Acquired::Wait(Joined::New(first)) = machine.acquire() else { panic!("nothing is live") };
        machine.settle(first, Some(Resolved::new("a", 1)));
        let Joined::New(look_up) = machine.look_up() else { panic!("nothing was in flight") };
        if asked_before {
            assert_eq!(machine.ask(look_up), Known { evicted: None, serving: Some(Identity::from("a")) });
        }
        machine.evict(Generation::FIRST, true);
        if !asked_before {
            assert_eq!(machine.ask(look_up).evicted, Some(Identity::from("a")));
        }
        let settled = machine.settle(look_up, Some(Resolved::new("a", 2)));
        let again = Settled::Installed { generation: Generation::FIRST.next(), previous: Some(Identity::from("a")) };
        if telling == Telling::Nothing || !asked_before {
            assert_eq!(settled, (again, None), "it knew, or will never know");
            continue;
        }
        assert_eq!(settled, (Settled::Unaware, Some(2)));
        assert_eq!((machine.live(), machine.strikes()), (None, 0), "the registry has refused nothing yet");
        let Acquired::Wait(Joined::New(next)) = machine.acquire() else { panic!("the look-up has ended") };
        assert_eq!(machine.ask(next).evicted, Some(Identity::from("a")));
        assert_eq!(machine.settle(next, Some(Resolved::new("a", 3))), (again, None), "it has nobody else");
        assert_eq!(machine.strikes(), 1);
    }
}

#[test]
fn an_invalidation_gives_up_the_flight_and_says_nothing_against_whoever_is_found_again() {
    let mut machine = Machine::new(Telling::Nothing);
    let Acquired::Wait(Joined::New(first)) = machine.acquire() else { panic!("nothing is live") };
    machine.settle(first, Some(Resolved::new("a", 1)));
    let Joined::New(look_up) = machine.look_up() else { panic!("nothing was in flight") };
    assert_eq!(machine.invalidate().map(|live| live.handle), Some(1));
    let (settled, left_over) = machine.settle(look_up, Some(Resolved::new("b", 2)));
    assert_eq!((settled, left_over), (Settled::Superseded, Some(2)), "it is made of what is gone");

    let Acquired::Wait(Joined::New(next)) = machine.acquire() else { panic!("the flight was given up") };
    let (settled, _) = machine.settle(next, Some(Resolved::new("a", 3)));
    assert_eq!(settled, Settled::Installed { generation: Generation::FIRST.next(), previous: None });
    assert_eq!(machine.strikes(), 0);
}

#[test]
fn strikes_are_counted_until_they_are_forgotten() {
    let mut machine = Machine::<Handle>::new(Telling::Nothing);
    for strikes in 1..=2 {
        let Acquired::Wait(Joined::New(flight)) = machine.acquire() else { panic!("nothing is live") };
        machine.settle(flight, None);
        assert_eq!(machine.strikes(), strikes);
    }
    machine.forget_strikes();
    assert_eq!(machine.strikes(), 0);
}

#[test]
fn a_resolve_that_did_not_help_is_a_strike_unless_a_handle_serves() {
    let mut machine = Machine::<Handle>::new(Telling::Nothing);
    machine.strike();
    assert_eq!(machine.strikes(), 1);
    let Acquired::Wait(Joined::New(flight)) = machine.acquire() else { panic!("nothing is live") };
    machine.settle(flight, Some(Resolved::new("a", 1)));
    machine.strike();
    assert_eq!(machine.strikes(), 0, "beside a live handle nothing was missing");
}

#[test]
fn an_instance_that_serves_between_two_evictions_is_no_strike_for_long() {
    let mut machine = Machine::new(Telling::Nothing);
    let find = |machine: &mut Machine<&'static str>| {
        let Acquired::Wait(Joined::New(flight)) = machine.acquire() else { panic!("there is no handle") };
        machine.settle(flight, Some(Resolved::new("same", "handle")));
        machine.live().expect("it was installed")
    };
    let mut strikes = Vec::new();
    for has_served in [false, false, false, true, false, true, true] {
        let live = find(&mut machine);
        strikes.push(machine.strikes());
        machine.evict(live, has_served);
    }
    assert_eq!(strikes, [0, 1, 2, 3, 1, 2, 1]);
}
