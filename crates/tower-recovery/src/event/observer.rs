//! Whoever watches.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use tracing::level_filters::LevelFilter;

use super::RecoveryEvent;

/// Sees what the layers do, as it happens, on the task of the call that it happens to.
///
/// A closure `Fn(&RecoveryEvent)` is one.
///
/// # Panics
///
/// An observer that panics is caught: the call goes on.
pub trait Observer: Send + Sync {
    /// Something happened. Do not block: a call waits.
    fn observe(&self, event: &RecoveryEvent);
}

impl<Watch: Fn(&RecoveryEvent) + Send + Sync> Observer for Watch {
    fn observe(&self, event: &RecoveryEvent) {
        self(event);
    }
}

/// Where the layers report to: `tracing`, and the observer if there is one.
#[derive(Clone, Default)]
pub(crate) struct Reporter {
    observer: Option<Arc<dyn Observer>>,
}

impl Reporter {
    pub(crate) fn to(observer: impl Observer + 'static) -> Self {
        Self { observer: Some(Arc::new(observer)) }
    }

    /// Whether anybody sees events of the least importance.
    pub(crate) fn hears_debug(&self) -> bool {
        self.observer.is_some() || LevelFilter::current() >= LevelFilter::DEBUG
    }

    pub(crate) fn report(&self, event: &RecoveryEvent) {
        event.trace();
        if let Some(observer) = &self.observer
            && catch_unwind(AssertUnwindSafe(|| observer.observe(event))).is_err()
        {
            tracing::error!("An observer of recovery events panicked.");
        }
    }
}

impl fmt::Debug for Reporter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Reporter").field("observed", &self.observer.is_some()).finish()
    }
}
