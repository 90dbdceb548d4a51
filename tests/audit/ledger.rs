//! What the servers did for each call, beside their own log: which executions were refusals, and with which query.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard},
};

use bytes::Bytes;
use http::{Request, Response};
use tokio::sync::Notify;
use tower_recovery_test::{Act, faulty::RequestContext};

use crate::audit::{
    call::Call,
    script::{self, Script},
};

/// Shared by all instances: a call may arrive at several.
#[derive(Debug)]
pub(crate) struct Ledger {
    script: Script,
    entries: Mutex<HashMap<usize, Entry>>,
}

/// What the servers did for one call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    arrival: Arc<Notify>,
    /// How many heads of it were read.
    pub(crate) arrived: usize,
    /// How many executions there were, the refusing ones too.
    pub(crate) run: usize,
    /// The query of each execution that had an effect, in their order.
    pub(crate) effects: Vec<Option<String>>,
    /// Executions with a body that was not the whole one.
    pub(crate) mutilated: usize,
    /// Whether any arrival met a fault or was delayed.
    pub(crate) disturbed: bool,
}

impl Ledger {
    pub(crate) fn new(script: Script) -> Self {
        Self { script, entries: Mutex::default() }
    }

    pub(crate) fn act(&self, request: &RequestContext) -> Act {
        let call = number(&request.request_id);
        let mut entries = self.entries();
        let entry = entries.entry(call).or_default();
        entry.arrived += 1;
        entry.arrival.notify_one();
        let act = self.script.act(call, entry.arrived);
        entry.disturbed |= act != Act::Answer;
        act
    }

    /// The application of every instance.
    pub(crate) fn run(&self, request: &Request<Bytes>) -> Response<Bytes> {
        let id = request.headers().get("x-request-id").and_then(|id| id.to_str().ok());
        let call = number(id.expect("every call has an id"));
        let mut entries = self.entries();
        let entry = entries.entry(call).or_default();
        entry.run += 1;
        if request.body().len() != Call::planned(self.script.seed, call).body_length {
            entry.mutilated += 1;
        }
        if let Some(refusal) = script::refusal(self.script.seed, call, entry.run) {
            entry.disturbed = true;
            return refusal;
        }
        entry.effects.push(request.uri().query().map(str::to_owned));
        script::answer(self.script.seed, call)
    }

    /// Waits until this call has arrived at an instance for the first time.
    pub(crate) async fn arrival(&self, call: usize) {
        let arrival = Arc::clone(&self.entries().entry(call).or_default().arrival);
        arrival.notified().await;
    }

    pub(crate) fn entry(&self, call: usize) -> Entry {
        self.entries().get(&call).cloned().unwrap_or_default()
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<usize, Entry>> {
        self.entries.lock().expect("nobody panics with it")
    }
}

fn number(id: &str) -> usize {
    id.parse().expect("ids are numbers")
}
