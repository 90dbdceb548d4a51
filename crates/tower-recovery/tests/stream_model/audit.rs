//! Whether each law was at stake often enough: a guard against scripts that go nowhere.

use proptest::{
    strategy::{BoxedStrategy, Just, Strategy, ValueTree},
    test_runner::TestRunner,
};

use crate::{
    driver,
    script::{Admission, Setup},
    stakes::Stakes,
    strategies::{any_admission, scripts, setups, whole},
};

const SCRIPTS: usize = 600;

/// What is at stake so often at least, over all shapes of the layer.
const AT_STAKE: &[(&str, u32)] = &[
    ("disabled", 300),
    ("fused", 300),
    ("law 1: a replacement", 300),
    ("law 1: not after a verdict", 15),
    ("law 1: not after the first item", 20),
    ("law 1: not beyond the budget", 100),
    ("law 1: not in this mode", 100),
    ("law 1: replaced after a preamble", 10),
    ("law 2: there is no request", 20),
    ("law 3: not silenced", 20),
    ("law 3: silenced", 100),
    ("law 3: silent, and never sent", 10),
    ("law 4: a failure that is an answer", 10),
    ("law 4: a refusal goes out as the response that it is", 15),
    ("law 4: a refusal is repeated", 20),
    ("law 4: a response that is a verdict", 40),
    ("law 4: an item that is a verdict", 15),
    ("law 7: a response that is not the rest", 3),
    ("law 7: an item that does not continue", 5),
    ("law 7: a preamble before the first item", 15),
    ("law 7: a preamble that is too long", 15),
    ("law 7: begun anew", 20),
    ("law 7: nothing but a preamble", 3),
    ("law 7: nothing of an earlier attempt is a part", 10),
    ("law 7: replaced after items", 50),
    ("law 7: resumed", 10),
    ("law 7: the rest of what failed cannot be asked for", 2),
    ("law 7: too long", 2),
    ("law 7: whole, of a replacement", 10),
    ("law 8: attempts below are counted", 10),
    ("law 8: failed and silent attempts share the budget", 30),
    ("law 8: what was spent below is replaced", 5),
    ("law 9: left during a probe", 10),
    ("law 9: left in the grace", 2),
    ("law 9: left in the pause", 10),
    ("law 9: left while calling", 50),
    ("law 9: left while readying", 3),
    ("law 9: left while streaming", 50),
    ("nobody was forgotten", 5000),
    ("silence: a keep-alive is no content", 30),
    ("silence: a probe that takes too long", 300),
    ("silence: a sign between probes", 50),
    ("silence: a sign during the probe", 50),
    ("silence: a sign in the grace", 20),
    ("silence: a silent attempt is given up", 100),
    ("silence: healthy", 200),
    ("silence: no life", 500),
    ("silence: no work", 40),
    ("silence: not healthy", 50),
    ("silence: three probes without an answer", 100),
    ("silence: without a probe, and at once over", 3),
    ("silence: without a probe, and over", 20),
];

#[test]
fn each_law_is_at_stake() {
    let mut runner = TestRunner::deterministic();
    let mut stakes = Stakes::default();
    let shapes: [BoxedStrategy<Setup>; 5] = [
        setups(whole(), false).boxed(),
        setups(Just(Admission::UntilFirstItem), false).boxed(),
        setups(Just(Admission::Marked), false).boxed(),
        setups(Just(Admission::Resumed), false).boxed(),
        setups(any_admission(), true).boxed(),
    ];
    for setups in shapes {
        let scripts = scripts(setups);
        for _ in 0..SCRIPTS {
            let script = scripts.new_tree(&mut runner).unwrap().current();
            stakes.add(&driver::run(&script));
        }
    }
    let missed: Vec<_> = AT_STAKE.iter().filter(|(what, least)| stakes.count(what) < *least).collect();
    assert!(missed.is_empty(), "{missed:?}, in {stakes:#?}");
}
