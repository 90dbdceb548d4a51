//! Which corners of the stack the scripts have been in: a guard against scripts that go nowhere.

use std::collections::BTreeSet;

use proptest::{strategy::Strategy, strategy::ValueTree, test_runner::TestRunner};

use crate::{
    driver,
    record::{Cause, Event, Outcome},
    reference::Settings,
    script::scripts,
};

#[derive(Debug, Default)]
pub(crate) struct Corners {
    reached: BTreeSet<String>,
    generations: u64,
}

impl Corners {
    pub(crate) fn sees(&mut self, event: Event) {
        match event {
            Event::Asked | Event::Called { .. } | Event::Sent { .. } | Event::Resolve { .. } => {}
            Event::AttemptDropped { .. } => self.reach("an attempt dropped"),
            Event::ResolveDropped { .. } => self.reach("a resolve dropped"),
            Event::ResolveFailed => self.reach("a resolve failed"),
            Event::Evicted { .. } => self.reach("evicted"),
            Event::Installed { generation, identity, previous } => {
                self.generations = generation;
                let who = if previous == Some(identity) { "the same" } else { "another" };
                self.reach(format!("installed: {who}"));
            }
            Event::Failed { generation: Some(generation), .. } if generation < self.generations => {
                self.reach("a failure of an old generation");
            }
            Event::Failed { .. } => {}
            Event::Repeated { attempt, silenced, free } => {
                self.reach(format!("repeated: attempt {attempt}"));
                self.reach(format!("repeated: silenced {silenced}, free {free}"));
            }
            Event::GivenUp { reason, .. } => self.reach(format!("given up: {reason:?}")),
            Event::Ended { outcome: Outcome::Reply(reply), .. } => self.reach(format!("reply: {:?}", reply.end)),
            Event::Ended { outcome: Outcome::Failure { verdict, cause, .. }, .. } => {
                self.reach(format!("failure: {:?}", verdict.delivery()));
                self.reach(format!("cause: {}", name(cause)));
            }
            Event::Ended { outcome: Outcome::Refreshed { .. }, .. } => self.reach("refreshed"),
            Event::Ended { outcome: Outcome::NotRefreshed(_), .. } => self.reach("not refreshed"),
        }
    }

    fn reach(&mut self, corner: impl Into<String>) {
        self.reached.insert(corner.into());
    }
}

fn name(cause: Cause) -> String {
    match cause {
        Cause::Fault(_) => String::from("Fault"),
        Cause::LookUpFailed(_) => String::from("LookUpFailed"),
        cause => format!("{cause:?}"),
    }
}

const CORNERS: [&str; 37] = [
    "a failure of an old generation",
    "a resolve dropped",
    "a resolve failed",
    "an attempt dropped",
    "cause: Deadline { after_a_failure: false }",
    "cause: Deadline { after_a_failure: true }",
    "cause: Fault",
    "cause: LookUpFailed",
    "cause: LookUpPanicked",
    "cause: LookUpTimedOut",
    "cause: NotReady",
    "cause: TimedOut { handed_over: false }",
    "cause: TimedOut { handed_over: true }",
    "evicted",
    "failure: None",
    "failure: Some(Answered)",
    "failure: Some(MaybeSent)",
    "failure: Some(NeverSent)",
    "failure: Some(Refused)",
    "given up: Attempts",
    "given up: Budget",
    "given up: Deadline",
    "given up: NoRequest",
    "installed: another",
    "installed: the same",
    "not refreshed",
    "refreshed",
    "repeated: attempt 2",
    "repeated: attempt 3",
    "repeated: silenced false, free false",
    "repeated: silenced false, free true",
    "repeated: silenced true, free false",
    "repeated: silenced true, free true",
    "reply: Answered { stale: false }",
    "reply: Answered { stale: true }",
    "reply: Refused { stale: false }",
    "reply: Refused { stale: true }",
];

#[test]
fn the_scripts_reach_every_corner_of_every_shape() {
    for settings in [Settings::DEADLINE, Settings::LIMITED, Settings::BUFFERED] {
        let mut runner = TestRunner::deterministic();
        let mut reached = BTreeSet::new();
        for _ in 0..100 {
            let script = scripts().new_tree(&mut runner).unwrap().current();
            reached.append(&mut driver::run(settings, &script).reached);
        }
        let missed: Vec<_> = CORNERS.iter().filter(|corner| !reached.contains(**corner)).collect();
        assert!(missed.is_empty(), "{missed:?} of {settings:?}, in {reached:#?}");
    }
}
