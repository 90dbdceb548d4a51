//! What may be repeated of Hypha's calls.

use std::sync::Arc;

use tower_recovery::{Access, ReadMethods, RequestRules};

use crate::Call;

/// Which methods only read, and how one of them is asked to be silent: by the keyword argument `silent=True`. A value that the caller set stays, also one that stands among the positional arguments if the method's [place](Self::silent_at) for it is
/// known.
#[derive(Clone, Debug, Default)]
pub struct HyphaRules {
    reads: ReadMethods,
    silent_at: Arc<Vec<(Box<str>, usize)>>,
}

impl HyphaRules {
    /// These methods read; every other one is a write.
    #[must_use]
    pub fn new(reads: ReadMethods) -> Self {
        Self { reads, silent_at: Arc::default() }
    }

    /// The parameter `silent` of this method stands at this position, from 0 on: a call with so many positional arguments has set it.
    #[must_use]
    pub fn silent_at(mut self, method: impl Into<Box<str>>, position: usize) -> Self {
        Arc::make_mut(&mut self.silent_at).push((method.into(), position));
        self
    }

    fn has_set_silent(&self, call: &Call) -> bool {
        let position =
            self.silent_at.iter().find(|(method, _)| **method == *call.method()).map(|(_, position)| *position);
        call.has_keyword("silent") || position.is_some_and(|position| call.arguments().len() > position)
    }
}

impl RequestRules<Call> for HyphaRules {
    type Method = Arc<str>;

    fn method(&self, call: &Call) -> Arc<str> {
        call.shared_method()
    }

    fn access(&self, _: &Call, method: &Arc<str>) -> Access {
        self.reads.access(method)
    }

    fn copy(&self, call: &Call) -> Option<Call> {
        Some(call.clone())
    }

    fn silence(&self, call: &mut Call) {
        if !self.has_set_silent(call) {
            *call = call.clone().keyword("silent", true);
        }
    }
}
