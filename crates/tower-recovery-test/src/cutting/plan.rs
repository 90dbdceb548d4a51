//! What goes wrong with one connection, and after which byte.

use std::{collections::VecDeque, time::Duration};

/// One end of a connection, as the proxy sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a connection has two ends")]
pub enum Side {
    /// Who connected to the proxy.
    Client,
    /// Whom the proxy connected to.
    Server,
}

/// The way of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a connection has two directions")]
pub enum Direction {
    /// From the client to the server.
    ToServer,
    /// From the server to the client.
    ToClient,
}

/// What goes wrong.
///
/// *Close* and *reset* cut the connection: nothing more is forwarded in either direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Disturbance {
    /// Both sides see an orderly end (FIN).
    Close,
    /// Both sides see a reset (RST).
    Reset,
    /// This side sees an orderly end. The other one keeps a silent connection; what it sends is thrown away.
    CloseTo(Side),
    /// This side sees a reset. The other one keeps a silent connection; what it sends is thrown away.
    ResetTo(Side),
    /// This direction stands still until the next [thaw](super::CuttingProxy::thaw), for ever if there is none.
    Freeze,
    /// Both directions stand still until the next [thaw](super::CuttingProxy::thaw), for ever if there is none.
    FreezeBoth,
    /// This direction stands still for that long, then goes on.
    Delay(Duration),
}

/// What goes wrong with one connection. By default nothing does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    at_accept: AtAccept,
    to_server: Vec<Step>,
    to_client: Vec<Step>,
}

/// What happens to a connection when it is accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AtAccept {
    #[default]
    Serve,
    Close,
    Reset,
}

/// A disturbance of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// How many bytes are forwarded before it.
    pub(super) bytes: u64,
    pub(super) when: When,
    pub(super) disturbance: Disturbance,
}

/// When a step is due, once its bytes were forwarded. In the order in which steps of the same byte are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum When {
    AtOnce,
    /// When the next byte has arrived, which is not forwarded before the step.
    NextByte,
}

impl Plan {
    /// Everything is forwarded.
    #[must_use]
    pub fn pass() -> Self {
        Self::default()
    }

    /// The connection is closed when it is accepted. The proxy does not connect to the server for it.
    #[must_use]
    pub fn close_at_accept() -> Self {
        Self { at_accept: AtAccept::Close, ..Self::default() }
    }

    /// The connection is reset when it is accepted. The proxy does not connect to the server for it.
    #[must_use]
    pub fn reset_at_accept() -> Self {
        Self { at_accept: AtAccept::Reset, ..Self::default() }
    }

    /// One cut at random: [`Close`](Disturbance::Close) or [`Reset`](Disturbance::Reset), in either direction, [after](Self::after) at most
    /// `limit` bytes. The same seed, connection and limit always give the same plan.
    #[must_use]
    pub fn random(seed: u64, connection: usize, limit: u64) -> Self {
        // Spread over all bits, or neighbouring connections would draw alike.
        let stream = (connection as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut random = fastrand::Rng::with_seed(seed ^ stream);
        let direction = if random.bool() { Direction::ToServer } else { Direction::ToClient };
        let cut = if random.bool() { Disturbance::Close } else { Disturbance::Reset };
        Self::pass().after(direction, random.u64(..=limit), cut)
    }

    /// Adds a disturbance that comes as soon as exactly `bytes` bytes were forwarded in this direction; with 0, as soon as the proxy has
    /// connected to the server, before any byte of either direction.
    ///
    /// What is added for the same byte comes one after the other, in the order of addition.
    #[must_use]
    pub fn after(self, direction: Direction, bytes: u64, disturbance: Disturbance) -> Self {
        self.with(direction, Step { bytes, when: When::AtOnce, disturbance })
    }

    /// Adds a disturbance that comes when exactly `bytes` bytes were forwarded in this direction and *one more has arrived*; it never comes
    /// if the direction ends there. With 0 and [`Direction::ToClient`], a server's answer is lost when its first byte is there.
    ///
    /// For the same byte, it comes after what was added with [`after`](Self::after).
    #[must_use]
    pub fn beyond(self, direction: Direction, bytes: u64, disturbance: Disturbance) -> Self {
        self.with(direction, Step { bytes, when: When::NextByte, disturbance })
    }

    fn with(mut self, direction: Direction, step: Step) -> Self {
        let steps = match direction {
            Direction::ToServer => &mut self.to_server,
            Direction::ToClient => &mut self.to_client,
        };
        let later = steps.partition_point(|other| (other.bytes, other.when) <= (step.bytes, step.when));
        steps.insert(later, step);
        self
    }

    pub(super) fn accepts(&self) -> AtAccept {
        self.at_accept
    }

    /// Whether something comes before the first byte of this direction, and waits for none.
    pub(super) fn disturbs_at_once(&self, direction: Direction) -> bool {
        self.steps(direction).front().is_some_and(|step| (step.bytes, step.when) == (0, When::AtOnce))
    }

    /// In the order in which they come.
    pub(super) fn steps(&self, direction: Direction) -> VecDeque<Step> {
        match direction {
            Direction::ToServer => self.to_server.iter().copied().collect(),
            Direction::ToClient => self.to_client.iter().copied().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn steps_come_in_the_order_of_their_bytes_then_of_their_addition() {
        let delay = |seconds| Disturbance::Delay(Duration::from_secs(seconds));
        let plan = Plan::pass()
            .after(Direction::ToServer, 9, delay(5))
            .beyond(Direction::ToServer, 4, delay(4))
            .after(Direction::ToServer, 4, delay(2))
            .after(Direction::ToServer, 0, delay(1))
            .after(Direction::ToServer, 4, delay(3))
            .after(Direction::ToClient, 1, Disturbance::Close);
        let order: Vec<_> = plan.steps(Direction::ToServer).into_iter().map(|step| step.disturbance).collect();
        assert_eq!(order, (1..=5).map(delay).collect::<Vec<_>>());
        assert_eq!(plan.steps(Direction::ToClient).len(), 1);
    }

    #[test]
    fn random_plans_are_the_same_for_the_same_seed_and_cover_everything() {
        let plans = |seed| (1..=200).map(|connection| Plan::random(seed, connection, 9)).collect::<Vec<_>>();
        assert_eq!(plans(7), plans(7));
        assert_ne!(plans(7), plans(8));
        let mut drawn = HashSet::new();
        for plan in plans(7) {
            for direction in [Direction::ToServer, Direction::ToClient] {
                drawn.extend(plan.steps(direction).iter().map(|step| {
                    assert!(step.bytes <= 9);
                    (direction, step.bytes, step.disturbance == Disturbance::Close)
                }));
            }
        }
        assert!(drawn.len() > 30, "{} of 40", drawn.len());
    }
}
