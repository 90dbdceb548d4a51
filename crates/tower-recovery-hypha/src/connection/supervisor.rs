//! The task that keeps a client connected.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use super::{
    ConnectionStatus, Wanted,
    open::open,
    session::{self, Ended},
};
use crate::{
    ConnectError, announcing,
    client::{Outbox, Shared},
};

/// A connection that lived shorter than this is one that failed: who comes back at once, to be put out at once, comes back ever more slowly.
const FLAP: Duration = Duration::from_secs(5);

/// Connects when that is wanted, and again when it was lost; for as long as somebody holds the client.
pub(crate) async fn supervise(shared: Arc<Shared>, mut outbox: Outbox) {
    let mut wanted = shared.wanted.subscribe();
    loop {
        let Wanted { is_open, closings, calls_wait } = *wanted.borrow_and_update();
        shared.was_closed(closings, calls_wait);
        if is_open {
            stay_connected(&shared, &mut outbox, &wanted, closings).await;
        } else if wanted.changed().await.is_err() {
            return;
        }
    }
}

/// Until another closing is asked for.
async fn stay_connected(shared: &Arc<Shared>, outbox: &mut Outbox, wanted: &watch::Receiver<Wanted>, closings: u64) {
    let until_unwanted = || {
        let mut wanted = wanted.clone();
        async move {
            // The sender is in what the task itself holds.
            let _ = wanted.wait_for(|wanted| wanted.closings != closings).await;
        }
    };
    let mut failures = 0;
    shared.status.send_replace(ConnectionStatus::Connecting { failures, last: None });
    loop {
        let opened = tokio::select! {
            opened = open(shared) => opened,
            () = until_unwanted() => return,
        };
        let error = match opened {
            Err(error) => error,
            Ok((socket, admission)) => {
                let began = Instant::now();
                shared.begin_session(&admission);
                // Or else the calls that register would fail at once, like all others.
                shared.status.send_if_modified(|status| {
                    let ConnectionStatus::Refused(error) = status else { return false };
                    *status = ConnectionStatus::Connecting { failures, last: Some(Arc::clone(error)) };
                    true
                });
                let begin = announcing::announce(shared);
                let unwanted = until_unwanted();
                let ended = session::run(shared, socket, &admission, outbox, begin, unwanted).await;
                if shared.status.borrow().is_connected() && began.elapsed() >= FLAP {
                    failures = 0;
                }
                let (reason, error) = match ended {
                    Ended::Closed => return,
                    Ended::Unregistered(error) => (error.to_string().into(), error),
                    Ended::Lost(reason) => (Arc::clone(&reason), ConnectError::Lost { reason }),
                };
                shared.end_session(&reason);
                error
            }
        };
        let error = Arc::new(error);
        failures += 1;
        tracing::warn!(client = %shared.settings.client_id, failures, error = &error as &dyn std::error::Error, "no connection to the server");
        shared.connecting_failed(failures, &error);
        let pause =
            shared.settings.reconnect.pause(if error.is_to_wait_for() { u32::MAX } else { failures }, fastrand::f64());
        tokio::select! {
            () = sleep(pause) => {}
            () = until_unwanted() => return,
        }
    }
}

/// How long the next try to connect waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reconnect {
    pub(crate) shortest: Duration,
    pub(crate) longest: Duration,
}

impl Reconnect {
    /// Twice as long with every failure. Chance, from 0 to 1, takes up to a half away, so that those who lost one server at one moment do not come back at one moment. The first try after a
    /// connection was lost follows soon.
    pub(crate) fn pause(self, failures: u32, chance: f64) -> Duration {
        let doublings = failures.saturating_sub(1).min(31);
        let pause = self.shortest.saturating_mul(1 << doublings).min(self.longest);
        pause.mul_f64(1.0 - chance.clamp(0.0, 1.0) / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECONNECT: Reconnect = Reconnect { shortest: Duration::from_millis(200), longest: Duration::from_secs(30) };

    #[test]
    fn a_pause_doubles_with_every_failure_up_to_the_longest() {
        let pauses = [1, 2, 3, 8, 9, 100, u32::MAX].map(|failures| RECONNECT.pause(failures, 0.0).as_millis());
        assert_eq!(pauses, [200, 400, 800, 25_600, 30_000, 30_000, 30_000]);
    }

    #[test]
    fn chance_takes_up_to_a_half_away() {
        let pauses = [-1.0, 0.0, 0.5, 1.0, 2.0].map(|chance| RECONNECT.pause(1, chance).as_millis());
        assert_eq!(pauses, [200, 200, 150, 100, 100]);
    }
}
