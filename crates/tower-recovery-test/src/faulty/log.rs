//! What was executed.

use std::{
    collections::{HashMap, HashSet},
    sync::Mutex,
};

use http::Method;

use crate::lock::lock;

/// One execution of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Execution {
    /// The id of the request.
    pub request_id: String,
    /// Its method.
    pub method: Method,
    /// Its path, without the query.
    pub path: String,
    /// The query, without the `?`.
    pub query: Option<String>,
}

/// All executions in their order, and their number by request id, so that asking for one id does not search through all of them.
#[derive(Debug, Default)]
pub(super) struct ExecutionLog(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    executions: Vec<Execution>,
    by_request_id: HashMap<String, usize>,
}

impl ExecutionLog {
    pub(super) fn enter(&self, execution: Execution) {
        let mut entries = lock(&self.0);
        let id = execution.request_id.clone();
        *entries.by_request_id.entry(id).or_default() += 1;
        entries.executions.push(execution);
    }

    pub(super) fn len(&self) -> usize {
        lock(&self.0).executions.len()
    }

    pub(super) fn snapshot(&self) -> Vec<Execution> {
        lock(&self.0).executions.clone()
    }

    pub(super) fn count(&self, request_id: &str) -> usize {
        let entries = lock(&self.0);
        entries.by_request_id.get(request_id).copied().unwrap_or(0)
    }

    /// The ids that were executed more than once, each named once, in the order of their first execution.
    pub(super) fn repeated(&self) -> Vec<String> {
        let entries = lock(&self.0);
        let mut named = HashSet::new();
        let ids = entries.executions.iter().map(|entry| &entry.request_id);
        ids.filter(|id| entries.by_request_id[*id] > 1 && named.insert(*id)).cloned().collect()
    }
}
