//! Every order of events up to length eight. Orders that lead to the same state have the same future, which is followed once.

use std::collections::HashSet;

use super::{
    Times,
    events::{EVENTS, Event},
    world::World,
};
use crate::StreamMode;

const LENGTH: usize = 8;

/// The way to where a test failed.
struct Trace<'a>(&'a [Event], Event);

impl Trace<'_> {
    fn events(&self) -> impl Iterator<Item = Event> {
        self.0.iter().copied().chain([self.1])
    }
}

impl Drop for Trace<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("after {:?}", self.events().collect::<Vec<_>>());
        }
    }
}

/// Follows every order of events from here, and says how many states they lead to.
fn explore(start: World) -> usize {
    let mut seen = HashSet::from([start.state()]);
    let mut reached = vec![(start, Vec::new())];
    for _ in 0..LENGTH {
        let mut next = Vec::new();
        for (world, trace) in &reached {
            for event in EVENTS.into_iter().filter(|event| world.can_happen(*event)) {
                let mut world = world.clone();
                let trace = Trace(trace, event);
                world.happens(event);
                if seen.insert(world.state()) {
                    world.check();
                    next.push((world, trace.events().collect()));
                }
            }
        }
        reached = next;
    }
    seen.len()
}

/// With times of two kinds, and with and without a probe. Who asks for more states than there are has an enumeration that prunes itself to nothing.
fn explore_all(mode: StreamMode, max_replacements: u32, at_least: usize) {
    let explored: usize = [Times::SHORT_PROBES, Times::LONG_PROBES]
        .into_iter()
        .flat_map(|times| [true, false].map(|has_probe| World::new(times, mode, has_probe, max_replacements)))
        .map(explore)
        .sum();
    assert!(explored > at_least, "only {explored} states were reached");
}

#[test]
fn every_order_keeps_the_rules_where_nothing_may_be_replaced() {
    explore_all(StreamMode::RetryOnHealthyProbe, 0, 10_000);
}

#[test]
fn every_order_keeps_the_rules_with_one_replacement() {
    explore_all(StreamMode::RetryOnHealthyProbe, 1, 10_000);
}

#[test]
fn every_order_keeps_the_rules_with_two_replacements() {
    explore_all(StreamMode::RetryOnHealthyProbe, 2, 10_000);
}

#[test]
fn every_order_keeps_the_rules_where_a_silent_stream_is_preserved() {
    explore_all(StreamMode::Preserve, 1, 10_000);
}

#[test]
fn every_order_keeps_the_rules_where_nothing_is_watched() {
    explore_all(StreamMode::Disabled, 1, 500);
}
