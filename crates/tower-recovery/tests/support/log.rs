//! What was logged, as data.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex},
};

use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span,
    subscriber::DefaultGuard,
};

/// Collects what this thread logs as long as it lives.
pub(crate) struct Log {
    lines: Arc<Mutex<Vec<Line>>>,
    _collecting: DefaultGuard,
}

#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) level: Level,
    pub(crate) message: String,
    fields: BTreeMap<&'static str, String>,
}

impl Log {
    pub(crate) fn collect() -> Self {
        let lines = Arc::<Mutex<Vec<Line>>>::default();
        let collector = Collector { lines: Arc::clone(&lines) };
        Self { lines, _collecting: tracing::subscriber::set_default(collector) }
    }

    /// The lines with this message, in the order of their events.
    pub(crate) fn lines(&self, message: &str) -> Vec<Line> {
        self.lines.lock().unwrap().iter().filter(|line| line.message == message).cloned().collect()
    }
}

impl Line {
    #[track_caller]
    pub(crate) fn field(&self, name: &str) -> &str {
        self.fields.get(name).unwrap_or_else(|| panic!("no field {name} in {self:?}"))
    }
}

struct Collector {
    lines: Arc<Mutex<Vec<Line>>>,
}

impl Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("tower_recovery")
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line { level: *event.metadata().level(), message: String::new(), fields: BTreeMap::new() };
        event.record(&mut line);
        self.lines.lock().unwrap().push(line);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            name => {
                self.fields.insert(name, format!("{value:?}"));
            }
        }
    }
}
