//! Copies of a stream against a reference, over random scripts.
//!
//! A script says what the stream yields and what is done with its copies, also in the middle of a poll of the stream, where on two threads
//! the other one would do it. The [driver] does it and compares what every poll gives, who is woken, what is kept, and what is said of the
//! size and the end with the [reference]. Without asking the reference: each copy that ends without an error has yielded exactly what the
//! stream did.

mod driver;
mod reference;
mod stream;

use proptest::{prelude::*, sample::Index};

/// What is done with a copy, chosen among those that live.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    Poll(Index),
    Copy(Index),
    Drop(Index),
}

/// What the stream does next.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Data {
        length: usize,
    },
    Trailers,
    /// One poll finds nothing.
    Pending,
    /// While it is polled, other copies are dealt with.
    Meanwhile(Vec<Action>),
    Error,
    Panic,
}

#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) limit: usize,
    pub(crate) size_is_known: bool,
    /// The stream says that nothing more will come, when nothing will.
    pub(crate) end_is_known: bool,
    pub(crate) events: Vec<Event>,
    pub(crate) actions: Vec<Action>,
}

fn actions(number: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<Action>> {
    let action = prop_oneof![
        6 => any::<Index>().prop_map(Action::Poll),
        3 => any::<Index>().prop_map(Action::Copy),
        1 => any::<Index>().prop_map(Action::Drop),
    ];
    prop::collection::vec(action, number)
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        6 => (0_usize..5).prop_map(|length| Event::Data { length }),
        2 => Just(Event::Pending),
        3 => actions(1..5).prop_map(Event::Meanwhile),
    ];
    let last = prop_oneof![
        4 => Just(None),
        2 => Just(Some(Event::Trailers)),
        1 => Just(Some(Event::Error)),
        1 => Just(Some(Event::Panic)),
    ];
    let meanwhile = || prop::option::of(actions(1..5).prop_map(Event::Meanwhile));
    (prop::collection::vec(event, 0..8), meanwhile(), last, meanwhile()).prop_map(
        |(mut events, before, last, after)| {
            events.extend(before);
            events.extend(last);
            events.extend(after);
            events
        },
    )
}

fn scripts() -> impl Strategy<Value = Script> {
    let announced = (any::<bool>(), any::<bool>());
    (0_usize..16, announced, events(), actions(0..40)).prop_map(
        |(limit, (size_is_known, end_is_known), events, actions)| Script {
            limit,
            size_is_known,
            end_is_known,
            events,
            actions,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_copy_yields_the_whole_or_an_error(script in scripts()) {
        driver::run(&script);
    }
}
