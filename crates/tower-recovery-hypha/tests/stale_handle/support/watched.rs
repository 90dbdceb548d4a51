//! What a stack has done, by its events and its log.

use std::{
    io,
    sync::{Arc, Mutex},
};

use tower_recovery::{Delivery, Observer, RecoveryEvent};
use tracing::{Dispatch, level_filters::LevelFilter};

/// Sees the events, and the log lines of the calls that were started for it.
#[derive(Clone, Default)]
pub(crate) struct Watched(Arc<Seen>);

#[derive(Default)]
struct Seen {
    events: Mutex<Vec<RecoveryEvent>>,
    log: Mutex<Vec<u8>>,
}

impl Watched {
    pub(crate) fn subscriber(&self) -> Dispatch {
        let log = self.clone();
        let subscriber = tracing_subscriber::fmt().with_max_level(LevelFilter::INFO).with_ansi(false);
        Dispatch::new(subscriber.with_writer(move || log.clone()).finish())
    }

    /// How many lines of the log have this text.
    pub(crate) fn lines_with(&self, text: &str) -> usize {
        let log = String::from_utf8(self.0.log.lock().unwrap().clone()).unwrap();
        log.lines().filter(|line| line.contains(text)).count()
    }

    /// Whom the resolves found, in order.
    pub(crate) fn resolved(&self) -> Vec<String> {
        self.pick(|event| match event {
            RecoveryEvent::HandleResolved { identity, .. } => Some(identity.to_string()),
            _ => None,
        })
    }

    /// Who was evicted, in order.
    pub(crate) fn evicted(&self) -> Vec<String> {
        self.pick(|event| match event {
            RecoveryEvent::HandleEvicted { identity, .. } => Some(identity.to_string()),
            _ => None,
        })
    }

    /// Why resolves failed.
    pub(crate) fn failed_resolves(&self) -> Vec<String> {
        self.pick(|event| match event {
            RecoveryEvent::ResolveFailed { cause, .. } => Some(cause.clone()),
            _ => None,
        })
    }

    /// How often the registry was asked because reads waited long.
    pub(crate) fn suspected(&self) -> usize {
        self.pick(|event| matches!(event, RecoveryEvent::HandleSuspected { .. }).then_some(())).len()
    }

    /// What the failed attempts of this method prove.
    pub(crate) fn failed_attempts(&self, of: &str) -> Vec<Delivery> {
        self.pick(|event| match event {
            RecoveryEvent::AttemptFailed { method, delivery, .. } if method == of => *delivery,
            _ => None,
        })
    }

    /// Whether each repeat of this method was silenced.
    pub(crate) fn repeats(&self, of: &str) -> Vec<bool> {
        self.pick(|event| match event {
            RecoveryEvent::CallRepeated { method, silenced, .. } if method == of => Some(*silenced),
            _ => None,
        })
    }

    fn pick<Picked>(&self, of: impl Fn(&RecoveryEvent) -> Option<Picked>) -> Vec<Picked> {
        self.0.events.lock().unwrap().iter().filter_map(of).collect()
    }
}

impl Observer for Watched {
    fn observe(&self, event: &RecoveryEvent) {
        self.0.events.lock().unwrap().push(event.clone());
    }
}

impl io::Write for Watched {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.0.log.lock().unwrap().extend_from_slice(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
