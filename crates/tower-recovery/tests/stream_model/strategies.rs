//! How scripts are made, and shrunk: by proptest.

use proptest::{collection::vec, option, prelude::*};
use tower_recovery::StreamMode;

use crate::{
    faults::{By, Kind},
    protocol::Method,
    script::{Admission, Amount, Feed, Finish, Health, Opening, Readiness, Script, Setup, Step},
};

const MOST_EPISODES: usize = 16;

pub(crate) fn scripts(setups: impl Strategy<Value = Setup>) -> impl Strategy<Value = Script> {
    let finish = prop_oneof![Just(Finish::Serve), Just(Finish::Starve), Just(Finish::Leave)];
    (setups, vec(episodes(), 0..=MOST_EPISODES), finish, any::<u64>())
        .prop_map(|(setup, episodes, finish, chance)| Script { setup, steps: episodes.concat(), finish, chance })
}

pub(crate) fn setups(admission: impl Strategy<Value = Admission>, retries: bool) -> impl Strategy<Value = Setup> {
    let mode = prop_oneof![
        8 => Just(StreamMode::RetryOnHealthyProbe),
        2 => Just(StreamMode::Preserve),
        1 => Just(StreamMode::Disabled),
    ];
    let budgets = prop_oneof![1 => Just(0_u32), 3 => Just(1), 2 => Just(2), 2 => Just(3)];
    let method = prop_oneof![1 => Just(Method::Write), 1 => Just(Method::Read), 3 => Just(Method::SilentRead)];
    let often = || prop::bool::weighted(0.9);
    let request = (method, option::weighted(0.1, any::<bool>()), often(), often());
    (admission, mode, budgets, often(), any::<bool>(), any::<bool>(), request).prop_map(
        move |(admission, mode, max_replacements, probed, slow_probe, counts, request)| {
            let (method, silent, copyable, resumable) = request;
            Setup {
                admission,
                retries,
                mode,
                max_replacements,
                probed,
                slow_probe,
                counts,
                method,
                silent,
                copyable,
                resumable,
            }
        },
    )
}

pub(crate) fn whole() -> impl Strategy<Value = Admission> {
    prop_oneof![
        4 => Just(Admission::Whole { limit: 1_000_000 }),
        // Two or three items.
        1 => Just(Admission::Whole { limit: 100 }),
    ]
}

pub(crate) fn any_admission() -> impl Strategy<Value = Admission> {
    let others = prop_oneof![Just(Admission::UntilFirstItem), Just(Admission::Marked), Just(Admission::Resumed)];
    prop_oneof![1 => whole(), 3 => others]
}

/// Steps in any order, and here and there some that lead somewhere.
fn episodes() -> impl Strategy<Value = Vec<Step>> {
    let stream = Opening::Stream { resumes: true };
    let breaks = Feed::Breaks { kind: Kind::MaybeSent, known: false };
    let never_sent = Opening::Fails { kind: Kind::NeverSent, handed_back: false };
    let to_the_next = Step::Advance(Amount::ToTheNext);
    prop_oneof![
        8 => vec(steps(), 1..=3),
        1 => vec(steps(), 1..=8),
        1 => Just(vec![Step::Head(stream), Step::Feed(Feed::Content)]),
        1 => prop::bool::weighted(0.8).prop_map(move |resumes| {
            vec![Step::Feed(breaks), to_the_next, Step::Head(Opening::Stream { resumes })]
        }),
        1 => (vec(any::<bool>(), 1..=4), any::<bool>()).prop_map(move |(preamble, ends)| {
            let feeds = preamble.into_iter().map(|long| Feed::Preamble { long }).chain(ends.then_some(Feed::End));
            std::iter::once(Step::Head(stream)).chain(feeds.map(Step::Feed)).collect()
        }),
        1 => Just(vec![Step::Head(never_sent), Step::Advance(Amount::Millis(1_000)), Step::Head(never_sent)]),
        1 => Just(vec![to_the_next, Step::Probe(Health::Healthy)]),
        1 => Just(vec![to_the_next, Step::Probe(Health::Healthy), to_the_next, to_the_next]),
        1 => Just([Step::Feed(Feed::KeepAlive), Step::Advance(Amount::Millis(90_000))].repeat(3)),
    ]
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        10 => openings().prop_map(Step::Head),
        14 => feeds().prop_map(Step::Feed),
        2 => option::weighted(0.7, openings()).prop_map(Step::Backend),
        2 => readiness().prop_map(Step::Instances),
        6 => health().prop_map(Step::Probe),
        2 => option::weighted(0.6, health()).prop_map(Step::Prober),
        16 => amounts().prop_map(Step::Advance),
        1 => Just(Step::Hold),
        2 => Just(Step::Release),
        1 => Just(Step::Poll),
        // A script that ends early looks at little.
        1 => prop_oneof![1 => Just(Step::Drop), 3 => Just(Step::Poll)],
    ]
}

fn openings() -> impl Strategy<Value = Opening> {
    prop_oneof![
        10 => prop::bool::weighted(0.85).prop_map(|resumes| Opening::Stream { resumes }),
        1 => Just(Opening::Verdict),
        2 => Just(Opening::RefusedBy),
        6 => (kinds(), any::<bool>()).prop_map(|(kind, handed_back)| Opening::Fails { kind, handed_back }),
    ]
}

fn feeds() -> impl Strategy<Value = Feed> {
    prop_oneof![
        5 => Just(Feed::KeepAlive),
        2 => Just(Feed::Progress),
        4 => prop::bool::weighted(0.4).prop_map(|long| Feed::Preamble { long }),
        10 => Just(Feed::Content),
        2 => Just(Feed::Skipping),
        2 => Just(Feed::Terminal),
        1 => Just(Feed::Verdict),
        1 => Just(Feed::Flood),
        3 => Just(Feed::End),
        6 => (kinds(), any::<bool>()).prop_map(|(kind, known)| Feed::Breaks { kind, known }),
    ]
}

fn kinds() -> impl Strategy<Value = Kind> {
    let by = prop_oneof![Just(By::Attempts), Just(By::Budget)];
    prop_oneof![
        6 => Just(Kind::NeverSent),
        3 => Just(Kind::Refused),
        8 => Just(Kind::MaybeSent),
        1 => Just(Kind::Answered),
        1 => any::<bool>().prop_map(|sent| Kind::Permanent { sent }),
        1 => Just(Kind::Unrecognised),
        2 => (by, any::<bool>()).prop_map(|(by, sent)| Kind::Spent { by, sent }),
    ]
}

fn readiness() -> impl Strategy<Value = Readiness> {
    prop_oneof![3 => Just(Readiness::Ready), 2 => Just(Readiness::Pending), 1 => Just(Readiness::Fails)]
}

fn health() -> impl Strategy<Value = Health> {
    prop_oneof![
        6 => Just(Health::Healthy),
        1 => Just(Health::Refused),
        1 => Just(Health::Error),
        1 => Just(Health::Panic),
    ]
}

fn amounts() -> impl Strategy<Value = Amount> {
    prop_oneof![
        2 => (0..15_000_u32).prop_map(Amount::Millis),
        1 => (0..300_000_u32).prop_map(Amount::Millis),
        2 => Just(Amount::JustBeforeTheNext),
        8 => Just(Amount::ToTheNext),
        2 => Just(Amount::JustAfterTheNext),
    ]
}
