//! How scripts are made, and shrunk: by proptest.

use proptest::{collection::vec, prelude::*};

use crate::script::{Close, Connect, LookUp, Register, Script, Setup, Step};

const MOST_EPISODES: usize = 12;

pub(crate) fn scripts(connected: bool) -> impl Strategy<Value = Script> {
    let bounds = (prop_oneof![3 => Just(1_u32), 1 => 2..4_u32], prop_oneof![2 => Just(3_u32), 1 => 0..3_u32]);
    let setup = bounds.prop_map(move |(unanswered_look_ups, busy_look_ups)| Setup {
        connected,
        unanswered_look_ups,
        busy_look_ups,
    });
    (setup, vec(episodes(), 0..=MOST_EPISODES), any::<u64>()).prop_map(|(setup, episodes, chance)| Script {
        setup,
        steps: episodes.concat(),
        chance,
    })
}

/// Steps in any order, and here and there some that lead somewhere.
fn episodes() -> impl Strategy<Value = Vec<(u32, Step)>> {
    let soon = || 0..9_000_u32;
    prop_oneof![
        6 => vec((pauses(), steps()), 1..=3),
        // Something is lost, and the first rebuild meets what the script says.
        3 => (pauses(), losses(), vec(ends(), 0..=3), soon()).prop_map(|(pause, loss, ends, seen)| {
            let ends = ends.into_iter().map(|end| (0, end));
            let seen = (seen, Step::EvictionSeen { times: 1 });
            std::iter::once((pause, loss)).chain(ends).chain([seen]).collect()
        }),
        // The connection ends, and again in the look-up after the grace, and in the one after that.
        1 => (pauses(), losses(), 0..11_000_u32, 35_000..43_000_u32).prop_map(|(pause, loss, first, second)| {
            let ends = Step::Disconnected { times: 1 };
            let slowly = Step::LookUps { number: 3, takes: 9_000, end: LookUp::Truth };
            vec![(pause, loss), (0, slowly), (0, ends), (30_000 + first, ends), (second, ends)]
        }),
        // An outage, in which another process may come.
        1 => (pauses(), 1..8_u8, takes(), prop::bool::ANY).prop_map(|(pause, number, takes, another)| {
            let outage = [
                (0, Step::LookUps { number, takes, end: LookUp::Hangs }),
                (0, Step::Connects { number: number / 2, takes, end: Connect::Refused }),
            ];
            let comes = another.then_some((200_000, Step::AnotherComes));
            std::iter::once((pause, Step::Evicted)).chain(outage).chain(comes).collect()
        }),
    ]
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        10 => ends(),
        4 => losses(),
        2 => Just(Step::RepairsItself),
        2 => Just(Step::Reaped),
        3 => Just(Step::AnotherLeaves),
        3 => (1..3_u8).prop_map(|times| Step::Disconnected { times }),
        3 => (1..3_u8).prop_map(|times| Step::EvictionSeen { times }),
    ]
}

fn losses() -> impl Strategy<Value = Step> {
    prop_oneof![4 => Just(Step::Evicted), 2 => Just(Step::ConnectionEnds), 1 => Just(Step::AnotherComes)]
}

fn ends() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..5_u8, takes(), look_ups()).prop_map(|(number, takes, end)| Step::LookUps { number, takes, end }),
        2 => (takes(), closes()).prop_map(|(takes, end)| Step::Close { takes, end }),
        3 => (1..4_u8, takes(), connects()).prop_map(|(number, takes, end)| Step::Connects { number, takes, end }),
        3 => (1..4_u8, takes(), registers()).prop_map(|(number, takes, end)| Step::Registers { number, takes, end }),
    ]
}

fn look_ups() -> impl Strategy<Value = LookUp> {
    use LookUp::{Another, Error, Hangs, HangsBusy, Missing, Ours, Panics, Stale, Truth};
    prop_oneof![
        4 => Just(Truth),
        2 => Just(Stale),
        1 => Just(Ours),
        3 => Just(Missing),
        1 => Just(Another),
        3 => Just(Error),
        3 => Just(Hangs),
        2 => Just(HangsBusy),
        1 => Just(Panics),
    ]
}

fn closes() -> impl Strategy<Value = Close> {
    prop_oneof![
        2 => Just(Close::Works),
        3 => any::<bool>().prop_map(|seen| Close::Hangs { seen }),
        1 => any::<bool>().prop_map(|seen| Close::Panics { seen }),
    ]
}

fn connects() -> impl Strategy<Value = Connect> {
    prop_oneof![
        2 => Just(Connect::Works),
        3 => Just(Connect::Refused),
        1 => Just(Connect::RefusedForGood),
        2 => Just(Connect::Hangs),
        2 => any::<bool>().prop_map(|hangs| Connect::HalfDone { hangs }),
        1 => Just(Connect::Panics),
    ]
}

fn registers() -> impl Strategy<Value = Register> {
    prop_oneof![
        2 => Just(Register::Works),
        3 => Just(Register::Refused),
        1 => Just(Register::RefusedForGood),
        2 => Just(Register::Hangs),
        2 => any::<bool>().prop_map(|hangs| Register::HalfDone { hangs }),
        2 => Just(Register::Dropped),
        1 => Just(Register::Panics),
    ]
}

/// Some are over at once, some take longer than they may.
fn takes() -> impl Strategy<Value = u16> {
    prop_oneof![2 => Just(0_u16), 4 => 0..3_000_u16, 2 => 0..12_000_u16]
}

fn pauses() -> impl Strategy<Value = u32> {
    prop_oneof![3 => Just(0_u32), 3 => 0..10_000_u32, 3 => 0..90_000_u32, 1 => 0..300_000_u32]
}
