//! Bounds and name of a [`HandleCache`].

use std::{fmt, sync::Arc, time::Duration};

use crate::{InvalidSetting, Observer, event::Reporter, suspicion::tick::Tick};

use super::{HandleCache, floor::Floor, resolver::Resolve, shared::Shared, state::Telling};

/// Sets the bounds and the name of a [`HandleCache`].
#[must_use = "a builder does nothing before `build`"]
pub struct HandleCacheBuilder<Handle> {
    resolve: Arc<Resolve<Handle>>,
    settings: Settings,
}

pub(super) struct Settings {
    pub(super) name: Arc<str>,
    pub(super) telling: Telling,
    pub(super) resolve_timeout: Duration,
    pub(super) floor: Floor,
    pub(super) reporter: Reporter,
    pub(super) refresh_every: Option<Duration>,
    pub(super) suspicion: Option<Arc<Tick>>,
}

impl<Handle: Clone + Send + 'static> HandleCacheBuilder<Handle> {
    pub(super) fn new(resolve: Arc<Resolve<Handle>>, telling: Telling) -> Self {
        Self {
            resolve,
            settings: Settings {
                name: Arc::from("handle"),
                telling,
                resolve_timeout: Duration::from_secs(10),
                floor: Floor { step: Duration::from_millis(100), ceiling: Duration::from_secs(5), spread: true },
                reporter: Reporter::default(),
                refresh_every: None,
                suspicion: None,
            },
        }
    }

    /// What the log calls the handle: `Re-resolved the <name>.` Default: `handle`.
    pub fn named(mut self, name: impl Into<Arc<str>>) -> Self {
        self.settings.name = name.into();
        self
    }

    /// How long one resolve may take. Default: 10 s.
    pub fn resolve_timeout(mut self, limit: Duration) -> Self {
        self.settings.resolve_timeout = limit;
        self
    }

    /// The least time between an answer of the resolver and the next resolve, which grows by one `step` with each resolve
    /// in a row that fails, is left by everybody, or finds the instance just evicted, up to `ceiling`; chance adds up to a quarter. Default: 100 ms, up to 5 s.
    pub fn resolve_floor(mut self, step: Duration, ceiling: Duration) -> Self {
        self.settings.floor = Floor { step, ceiling, ..self.settings.floor };
        self
    }

    /// Asks the registry once in this period, of which chance takes up to a quarter away, and replaces the handle where the name points to somebody else by then. From 1 ms to 7 days;
    /// default: never.
    ///
    /// Without it a handle serves for as long as nothing indicts it, however many instances there are by now. With it a task on the runtime of the first resolve asks, for as long as the
    /// cache lives (where that runtime was shut down, the next new handle starts another one); calls under way on the old handle go on to their end, and where there is no live handle nothing is asked.
    /// That runtime must be driven for as long as the cache is used: a look-up that stands still with it would hold up whoever waits for a handle.
    ///
    /// # Errors
    ///
    /// [`InvalidSetting`] where the period is out of its bounds.
    pub fn refresh_every(mut self, period: Duration) -> Result<Self, InvalidSetting> {
        self.settings.refresh_every = Some(within_bounds("refresh_every", period)?);
        Ok(self)
    }

    /// Has the registry asked when a read has waited this long for its answer. If it names somebody else, the attempt is given up as `MaybeSent`, by
    /// [`HandleSuperseded`](crate::HandleSuperseded), and repeated on the new handle; if it does not, or does not answer, the read waits on and is not suspected again. From 1 ms to 7 days;
    /// default: never.
    ///
    /// It is for the first call after an instance froze, which would have to wait for its [timeout](crate::AttemptTimeoutLayer): take more than a healthy read needs, and less than that. Only reads are given
    /// up, and only by a [`ReadOnlyRetryLayer`](crate::ReadOnlyRetryLayer) above, which knows them by its [`RequestRules`](crate::RequestRules), can repeat them, and is on their
    /// first attempt. Writes wait on: the old instance may still be about to answer. A layer in between that calls or polls what is below it elsewhere, such as `tower::buffer`, leaves nothing suspected.
    /// What a layer in between makes of a read is taken for that read: one that calls something else in its place, a write of its own, must not stand there.
    ///
    /// One coarse tick serves all reads, so that they wait up to 100 ms more (a sixty-fourth of the time, if that is more). All reads that are due at one tick, or while the
    /// registry is asked, share one look-up; two look-ups that suspicion asks for begin at least this time apart while the handle stays, and the floor between resolves holds for them too.
    /// The tick belongs to the runtime of the read that started it; while that is not driven, nothing is suspected.
    ///
    /// # Errors
    ///
    /// [`InvalidSetting`] where the time is out of its bounds.
    pub fn suspect_after(mut self, wait: Duration) -> Result<Self, InvalidSetting> {
        self.settings.suspicion = Some(Arc::new(Tick::new(within_bounds("suspect_after", wait)?)));
        Ok(self)
    }

    /// Who sees the events of this cache: resolves, failed ones, suspicions, evictions.
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.settings.reporter = Reporter::to(observer);
        self
    }

    /// Leaves the floor as it is, without what chance adds. For tests that count the moments of a paused clock.
    pub fn exact_floor(mut self) -> Self {
        self.settings.floor.spread = false;
        self
    }

    /// The cache. Nothing is resolved before the first call.
    pub fn build(self) -> HandleCache<Handle> {
        HandleCache { shared: Arc::new(Shared::new(self.resolve, self.settings)) }
    }
}

fn within_bounds(field: &'static str, time: Duration) -> Result<Duration, InvalidSetting> {
    const SHORTEST: Duration = Duration::from_millis(1);
    const LONGEST: Duration = Duration::from_secs(7 * 24 * 60 * 60);
    if (SHORTEST..=LONGEST).contains(&time) {
        return Ok(time);
    }
    Err(InvalidSetting::new(field, format_args!("{time:?}"), "from 1ms to 604800s"))
}

impl<Handle> fmt::Debug for HandleCacheBuilder<Handle> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HandleCacheBuilder").field("name", &self.settings.name).finish_non_exhaustive()
    }
}
