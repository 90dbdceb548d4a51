//! What is allocated at a time.

use std::time::Duration;

use tokio::{
    sync::{Mutex, MutexGuard},
    time::timeout,
};

use crate::LIVE;

pub(crate) const MIB: usize = 1 << 20;

/// What is live belongs to all tests.
static ALONE: Mutex<()> = Mutex::const_new(());

/// What was live at the start of a test, which is alone until this is dropped.
pub(crate) struct Live {
    start: usize,
    _alone: MutexGuard<'static, ()>,
}

impl Live {
    pub(crate) async fn start() -> Self {
        let alone = ALONE.lock().await;
        LIVE.reset_peak_usage();
        Self { start: LIVE.current_usage(), _alone: alone }
    }

    /// The most that was live since, beyond what was live at the start.
    pub(crate) fn most(&self) -> usize {
        LIVE.peak_usage().saturating_sub(self.start)
    }

    pub(crate) fn assert_never_over(&self, limit: usize, what: &str) {
        let most = self.most();
        eprintln!("{what}: {} KiB at the most", most >> 10);
        assert!(most <= limit, "{what}: {most} bytes were live at a time");
    }
}

pub(crate) async fn within<Output>(future: impl Future<Output = Output>) -> Output {
    timeout(Duration::from_secs(120), future).await.expect("the test hangs")
}
