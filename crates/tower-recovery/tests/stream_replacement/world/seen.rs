//! The events of a layer, as they were told.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use tower_recovery::{Observer, RecoveryEvent};

#[derive(Clone, Default)]
pub(crate) struct Seen(Arc<Mutex<Vec<RecoveryEvent>>>);

impl Seen {
    pub(crate) fn observer(&self) -> impl Observer + 'static {
        let seen = self.clone();
        move |event: &RecoveryEvent| seen.0.lock().unwrap().push(event.clone())
    }

    /// What was told since the last time.
    pub(crate) fn take(&self) -> Vec<RecoveryEvent> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

/// The pause of the one replacement among these events.
#[track_caller]
pub(crate) fn pause(events: &[RecoveryEvent]) -> Duration {
    let mut pauses = events.iter().filter_map(|event| match event {
        RecoveryEvent::RecoveryReplacementProposed { pause, .. } => Some(*pause),
        _ => None,
    });
    match (pauses.next(), pauses.next()) {
        (Some(pause), None) => pause,
        _ => panic!("not one replacement in {events:?}"),
    }
}

/// The whole milliseconds of a time: who lets just them pass stays in step with the timers, which count nothing less.
pub(crate) fn whole_millis(time: Duration) -> Duration {
    Duration::from_millis(time.as_millis() as u64)
}
