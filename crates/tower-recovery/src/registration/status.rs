//! What is known of a registration: pure, and fed by what look-ups mean.

#[cfg(test)]
mod tests;

use tokio::time::Instant;

use super::schedule::Meaning;
use crate::Identity;

/// What a [`RegistrationProbe`](super::RegistrationProbe) knows. It is for whoever looks, and for logs and metrics.
///
/// Do not let it end a process: a registry that is down takes it away from all processes at once, and gives it back to all that still live.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RegistrationStatus {
    /// Whether the registry serves this process.
    pub health: RegistrationHealth,
    /// How many look-ups have ended, those that confirm a rebuild among them.
    pub look_ups: u64,
    /// How many rebuilds began.
    pub rebuilds: u64,
    /// How many of them a look-up confirmed.
    pub confirmed: u64,
    /// How many times the registration began to fail: one for each episode, however many look-ups it lasted. Where the probe began without a connection, until it was registered is none.
    pub flaps: u64,
}

/// Whether the registry serves a process.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegistrationHealth {
    /// It was not asked yet, or gave no answer that counts.
    Unseen,
    /// It did when it answered last. A look-up without an answer may have been left alone since.
    Healthy,
    /// It does not, or gives no answer. The registration is rebuilt.
    Failing {
        /// When that was seen first; of a process that began without a connection, when its probe was built.
        since: Instant,
    },
    /// Somebody else serves under the id. Nothing is rebuilt until they are gone.
    Superseded {
        /// Who.
        by: Identity,
        /// When that was seen first.
        since: Instant,
    },
}

/// What is worth to be told of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum News {
    Lost,
    Recovered { since: Instant },
    Superseded { by: Identity },
}

impl RegistrationStatus {
    /// Of a process that is registered, as far as it knows.
    pub(super) fn unseen() -> Self {
        Self { health: RegistrationHealth::Unseen, look_ups: 0, rebuilds: 0, confirmed: 0, flaps: 0 }
    }

    /// Of a process that is not connected yet. That is nothing lost.
    pub(super) fn starting(now: Instant) -> Self {
        Self { health: RegistrationHealth::Failing { since: now }, ..Self::unseen() }
    }

    /// Whether the registry served this process when it answered last. Before the first look-up, which may be an interval away, nobody knows:
    /// [`own_eviction_seen`](super::RegistrationMonitor::own_eviction_seen) has it done at once.
    #[must_use]
    pub fn is_registered(&self) -> bool {
        self.health == RegistrationHealth::Healthy
    }

    /// Since when the process is not registered, as far as the probe has seen.
    #[must_use]
    pub fn failing_since(&self) -> Option<Instant> {
        match self.health {
            RegistrationHealth::Unseen | RegistrationHealth::Healthy => None,
            RegistrationHealth::Failing { since } | RegistrationHealth::Superseded { since, .. } => Some(since),
        }
    }

    /// A look-up has ended, and means this. `other` is who was found, if it was somebody else.
    pub(super) fn looked_up(&mut self, meaning: Meaning, other: Option<Identity>, now: Instant) -> Option<News> {
        self.look_ups += 1;
        let failing = self.failing_since();
        let since = failing.unwrap_or(now);
        match (meaning, other) {
            (Meaning::Registered | Meaning::Confirmed, _) => {
                self.confirmed += u64::from(meaning == Meaning::Confirmed);
                self.health = RegistrationHealth::Healthy;
                failing.map(|since| News::Recovered { since })
            }
            (Meaning::Failing, _) => {
                self.health = RegistrationHealth::Failing { since };
                if failing.is_some() {
                    return None;
                }
                self.flaps += 1;
                Some(News::Lost)
            }
            (Meaning::Superseded, Some(by)) => {
                let health = RegistrationHealth::Superseded { by: by.clone(), since };
                let is_news = health != self.health;
                self.flaps += u64::from(failing.is_none());
                self.health = health;
                is_news.then_some(News::Superseded { by })
            }
            (Meaning::Superseded, None) | (Meaning::Unconfirmed | Meaning::Undecided, _) => None,
        }
    }
}
