//! What is known after look-ups that mean this and that.

use std::time::Duration;

use Meaning::{Confirmed, Failing, Registered, Superseded, Unconfirmed, Undecided};

use super::*;

/// A status, and a clock that goes by a second a look-up.
struct Known {
    status: RegistrationStatus,
    start: Instant,
}

impl Known {
    fn nothing() -> Self {
        Self { status: RegistrationStatus::unseen(), start: Instant::now() }
    }

    fn at(&self, second: u64) -> Instant {
        self.start + Duration::from_secs(second)
    }

    /// The next look-up.
    fn hears(&mut self, meaning: Meaning) -> Option<News> {
        let now = self.at(self.status.look_ups + 1);
        self.status.looked_up(meaning, None, now)
    }

    fn hears_of(&mut self, other: &'static str) -> Option<News> {
        let now = self.at(self.status.look_ups + 1);
        self.status.looked_up(Superseded, Some(Identity::from(other)), now)
    }
}

fn superseded(by: &'static str) -> Option<News> {
    Some(News::Superseded { by: Identity::from(by) })
}

#[test]
fn before_the_first_look_up_nothing_is_known() {
    let known = Known::nothing();
    assert!(!known.status.is_registered());
    assert_eq!(known.status.failing_since(), None);
    assert_eq!(known.status.health, RegistrationHealth::Unseen);
}

#[test]
fn a_look_up_that_decides_nothing_leaves_what_is_known() {
    let mut known = Known::nothing();
    for meaning in [Undecided, Unconfirmed] {
        assert_eq!(known.hears(meaning), None);
        assert_eq!(known.status.health, RegistrationHealth::Unseen);
    }
    assert_eq!(known.hears(Registered), None, "that it is registered is no news at first");
    assert_eq!(known.hears(Undecided), None);
    assert!(known.status.is_registered());
    known.hears(Failing);
    for meaning in [Undecided, Unconfirmed] {
        assert_eq!(known.hears(meaning), None);
        assert_eq!(known.status.failing_since(), Some(known.at(5)));
    }
    assert_eq!((known.status.look_ups, known.status.flaps), (7, 1));
}

#[test]
fn flaps_are_episodes_however_many_look_ups_they_last() {
    let mut known = Known::nothing();
    known.hears(Registered);
    for (flaps, began) in [(1, 2), (2, 6), (3, 10)] {
        assert_eq!(known.hears(Failing), Some(News::Lost));
        assert_eq!(known.hears(Failing), None);
        assert_eq!(known.hears(Unconfirmed), None);
        assert_eq!(known.status.failing_since(), Some(known.at(began)), "since it was seen first");
        assert!(!known.status.is_registered());
        assert_eq!(known.status.flaps, flaps);
        assert_eq!(known.hears(Confirmed), Some(News::Recovered { since: known.at(began) }));
        assert_eq!(known.status.failing_since(), None);
        assert_eq!(known.status.confirmed, flaps);
    }
    assert_eq!(known.hears(Registered), None);
    assert_eq!((known.status.look_ups, known.status.flaps, known.status.confirmed), (14, 3, 3));
}

#[test]
fn what_recovers_without_a_rebuild_is_not_confirmed() {
    let mut known = Known::nothing();
    known.hears(Failing);
    assert_eq!(known.hears(Registered), Some(News::Recovered { since: known.at(1) }));
    assert_eq!(known.status.confirmed, 0);
}

#[test]
fn another_owner_is_told_once_and_counts_as_one_flap() {
    let mut known = Known::nothing();
    known.hears(Registered);
    assert_eq!(known.hears_of("other"), superseded("other"));
    assert_eq!(known.hears_of("other"), None);
    assert_eq!(known.hears(Undecided), None);
    assert_eq!(known.hears_of("other"), None);
    assert_eq!(known.status.failing_since(), Some(known.at(2)));
    assert_eq!(known.status.flaps, 1);
    // One after the other, in the same episode.
    assert_eq!(known.hears_of("third"), superseded("third"));
    let by = Identity::from("third");
    assert_eq!(known.status.health, RegistrationHealth::Superseded { by, since: known.at(2) });
    assert_eq!(known.status.flaps, 1);
}

#[test]
fn a_loss_and_another_owner_are_one_episode_whichever_comes_first() {
    let mut known = Known::nothing();
    assert_eq!(known.hears(Failing), Some(News::Lost));
    assert_eq!(known.hears_of("other"), superseded("other"));
    assert_eq!(known.hears(Failing), None, "it was not registered before either");
    assert_eq!(known.status.health, RegistrationHealth::Failing { since: known.at(1) });
    assert_eq!(known.hears_of("other"), superseded("other"));
    assert_eq!(known.status.flaps, 1);
    assert_eq!(known.hears(Registered), Some(News::Recovered { since: known.at(1) }));
    assert_eq!(known.hears_of("other"), superseded("other"));
    assert_eq!(known.status.flaps, 2);
}

#[test]
fn another_owner_without_a_name_is_no_news() {
    let mut known = Known::nothing();
    assert_eq!(known.hears(Superseded), None);
    assert_eq!((known.status.look_ups, known.status.flaps), (1, 0));
    assert_eq!(known.status.health, RegistrationHealth::Unseen);
}
