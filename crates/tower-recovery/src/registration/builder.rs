//! Bounds, times and name of a probe.

use std::{fmt, sync::Arc, time::Duration};

use tokio::{sync::watch, time::Instant};

use super::{
    Registrar, RegistrationProbe, RegistrationStatus, derived::Derived, monitor::Signals, schedule::Schedule,
    schedule::Times,
};
use crate::{HandleCache, InvalidSetting, LinearBackoff, Observer, event::Reporter};

/// Sets the bounds, the times and the name of a [`RegistrationProbe`]. Times that are not set follow the interval.
#[must_use = "a builder does nothing before `build`"]
pub struct RegistrationProbeBuilder<R: Registrar> {
    registrar: R,
    connection: Option<R::Connection>,
    derived: Vec<Arc<dyn Derived>>,
    name: Arc<str>,
    reporter: Reporter,
    interval: Duration,
    look_up_timeout: Option<Duration>,
    rebuild_spread: Option<Duration>,
    disconnect_grace: Option<Duration>,
    close_timeout: Option<Duration>,
    step_timeout: Option<Duration>,
    backoff: Option<LinearBackoff>,
    unanswered_look_ups: u32,
    busy_look_ups: u32,
}

impl<R: Registrar> RegistrationProbeBuilder<R> {
    const LONGEST_INTERVAL: Duration = Duration::from_secs(7 * 24 * 60 * 60);
    const SHORTEST_INTERVAL: Duration = Duration::from_millis(10);

    pub(super) fn new(registrar: R) -> Self {
        Self {
            registrar,
            connection: None,
            derived: Vec::new(),
            name: Arc::from("registration"),
            reporter: Reporter::default(),
            interval: Duration::from_secs(60),
            look_up_timeout: None,
            rebuild_spread: None,
            disconnect_grace: None,
            close_timeout: None,
            step_timeout: None,
            backoff: None,
            unanswered_look_ups: 1,
            busy_look_ups: 3,
        }
    }

    /// The connection over which the process is registered already. Without one the probe asks, connects and registers at once.
    pub fn connection(mut self, connection: R::Connection) -> Self {
        self.connection = Some(connection);
        self
    }

    /// A cache whose handles come from the connection: a rebuild makes its next caller resolve anew. As many as there are.
    pub fn derives<Handle: Clone + Send + 'static>(mut self, cache: HandleCache<Handle>) -> Self {
        self.derived.push(Arc::new(cache));
        self
    }

    /// What events and logs call the registration: `Lost the <name>.` Default: `registration`.
    pub fn named(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = name.into();
        self
    }

    /// Who sees the events of the probe.
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.reporter = Reporter::to(observer);
        self
    }

    /// How often the registry is asked, and how often the registration is rebuilt at the most. From 10 ms to 7 days; default: 60 s.
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// How long a look-up may take. Above zero; default: a sixth of the interval (10 s).
    pub fn look_up_timeout(mut self, limit: Duration) -> Self {
        self.look_up_timeout = Some(limit);
        self
    }

    /// The longest time that chance puts between a look-up that fails and the rebuild, so that a fleet does not come back at one moment. Two look-ups and the spread
    /// must be shorter than the interval. Default: a third of the interval (20 s).
    pub fn rebuild_spread(mut self, spread: Duration) -> Self {
        self.rebuild_spread = Some(spread);
        self
    }

    /// How long the transport has to repair itself after a [disconnect](super::RegistrationMonitor::disconnected) before the registry is asked. Above zero and not longer than the interval;
    /// default: half of it (30 s).
    pub fn disconnect_grace(mut self, grace: Duration) -> Self {
        self.disconnect_grace = Some(grace);
        self
    }

    /// How long closing the old connection may take before it is dropped. Above zero, and at most the interval, or 60 s if that is longer; default: a twelfth of the interval (5 s).
    pub fn close_timeout(mut self, limit: Duration) -> Self {
        self.close_timeout = Some(limit);
        self
    }

    /// How long connecting may take, and registering. Above zero, and at most the interval, or 60 s if that is longer; default: a sixth of the interval (10 s).
    pub fn step_timeout(mut self, limit: Duration) -> Self {
        self.step_timeout = Some(limit);
        self
    }

    /// How long the next try waits within an interval, where connecting or registering failed. Step and ceiling are at least a thousandth of the interval. Default: a sixtieth of the interval (1 s)
    /// a try, up to a quarter of it (15 s).
    pub fn backoff(mut self, backoff: LinearBackoff) -> Self {
        self.backoff = Some(backoff);
        self
    }

    /// How many look-ups in a row must have had no answer before the registration counts as failing. At least 1, which is the default: no answer may be the registry's
    /// outage, but also the end of our own connection, and a rebuild in vain costs one reconnect. Take more where a reconnect is dear.
    /// Once the registry has said no, the first one without an answer is enough.
    pub fn unanswered_look_ups(mut self, number: u32) -> Self {
        self.unanswered_look_ups = number;
        self
    }

    /// How many look-ups may run out of time on a [busy](super#busy-is-not-gone) connection before they count as unanswered. Since the last one that found the process
    /// registered; default: 3.
    pub fn busy_look_ups(mut self, number: u32) -> Self {
        self.busy_look_ups = number;
        self
    }

    /// The probe. It does nothing before it [runs](RegistrationProbe::run).
    ///
    /// # Errors
    ///
    /// [`InvalidSetting`] names the field, its value and the bound that it breaks.
    pub fn build(self) -> Result<RegistrationProbe<R>, InvalidSetting> {
        let times = self.times()?;
        let now = Instant::now();
        let (schedule, status) = match &self.connection {
            Some(_) => (Schedule::registered(times, now, fastrand::f64()), RegistrationStatus::unseen()),
            None => (Schedule::starting(times, now), RegistrationStatus::starting(now)),
        };
        Ok(RegistrationProbe {
            registrar: self.registrar,
            connection: self.connection,
            derived: self.derived,
            name: self.name,
            reporter: self.reporter,
            times,
            schedule,
            status: watch::Sender::new(status),
            signals: Arc::<Signals>::default(),
        })
    }

    fn times(&self) -> Result<Times, InvalidSetting> {
        let interval = self.interval;
        if interval < Self::SHORTEST_INTERVAL || interval > Self::LONGEST_INTERVAL {
            return Err(refused("interval", interval, "from 10ms to 604800s"));
        }
        let above_zero = |field, set: Option<Duration>, default| match set {
            Some(Duration::ZERO) => Err(refused(field, Duration::ZERO, "above zero")),
            set => Ok(set.unwrap_or(default)),
        };
        // Whatever hangs, the registry is asked again.
        let longest_step = interval.max(Duration::from_secs(60));
        let bounded = |field, limit| match limit {
            limit if limit > longest_step => Err(refused(field, limit, &format!("at most {longest_step:?}"))),
            limit => Ok(limit),
        };
        let look_up_timeout = above_zero("look_up_timeout", self.look_up_timeout, interval / 6)?;
        let disconnect_grace = above_zero("disconnect_grace", self.disconnect_grace, interval / 2)?;
        let close_timeout = bounded("close_timeout", above_zero("close_timeout", self.close_timeout, interval / 12)?)?;
        let step_timeout = bounded("step_timeout", above_zero("step_timeout", self.step_timeout, interval / 6)?)?;
        let backoff = self.backoff.unwrap_or_else(|| LinearBackoff::new(interval / 60, interval / 4));
        // Tries that follow each other as fast as a registry refuses them are no tries.
        let shortest = interval / 1000;
        for (field, pause) in [("backoff.step", backoff.step()), ("backoff.ceiling", backoff.ceiling())] {
            if pause < shortest {
                return Err(refused(field, pause, &format!("at least a thousandth of the interval, {shortest:?}")));
            }
        }
        if disconnect_grace > interval {
            let bound = format!("at most the interval of {interval:?}");
            return Err(refused("disconnect_grace", disconnect_grace, &bound));
        }
        let rebuild_spread = self.rebuild_spread.unwrap_or(interval / 3);
        // Asked, spread and asked again, within the interval: so that no look-up that is due finds the one before it undecided.
        if look_up_timeout.saturating_mul(2).saturating_add(rebuild_spread) >= interval {
            let bound = format!(
                "shorter than the interval of {interval:?} by more than two look-up timeouts of {look_up_timeout:?}"
            );
            return Err(refused("rebuild_spread", rebuild_spread, &bound));
        }
        if self.unanswered_look_ups == 0 {
            return Err(InvalidSetting::new("unanswered_look_ups", 0, "at least 1"));
        }
        let (unanswered_look_ups, busy_look_ups) = (self.unanswered_look_ups, self.busy_look_ups);
        Ok(Times {
            interval,
            look_up_timeout,
            rebuild_spread,
            disconnect_grace,
            close_timeout,
            step_timeout,
            backoff,
            unanswered_look_ups,
            busy_look_ups,
        })
    }
}

fn refused(field: &'static str, value: Duration, bound: &str) -> InvalidSetting {
    InvalidSetting::new(field, format_args!("{value:?}"), bound)
}

impl<R: Registrar> fmt::Debug for RegistrationProbeBuilder<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RegistrationProbeBuilder")
            .field("name", &self.name)
            .field("interval", &self.interval)
            .finish_non_exhaustive()
    }
}
