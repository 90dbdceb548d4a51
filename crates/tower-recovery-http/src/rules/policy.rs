//! What may be repeated, whatever a request is made of.

use http::{HeaderMap, HeaderName, Method};
use tower_recovery::Access;

use super::{ReadRoutes, Silence};

/// draft-ietf-httpapi-idempotency-key-header
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Which requests read, and whether a key makes a write repeatable.
#[derive(Clone, Debug)]
pub(crate) struct RepeatPolicy {
    reads: ReadRoutes,
    trusts_keys: bool,
}

impl RepeatPolicy {
    pub(crate) fn new(reads: ReadRoutes) -> Self {
        Self { reads, trusts_keys: false }
    }

    pub(crate) fn trust_idempotency_keys(&mut self) {
        self.trusts_keys = true;
    }

    pub(crate) fn access(&self, method: &Method, path: &str, headers: &HeaderMap) -> Access {
        match self.reads.access(method, path) {
            Access::Write if self.trusts_keys && has_key(headers) => Access::IdempotentWrite,
            access => access,
        }
    }

    /// How this request is asked not to count, if it can be.
    pub(crate) fn silence(&self, method: &Method, path: &str) -> Option<&Silence> {
        self.reads.silence(method, path)
    }
}

/// Exactly one key that says something: of two nobody knows which one counts.
fn has_key(headers: &HeaderMap) -> bool {
    let mut keys = headers.get_all(IDEMPOTENCY_KEY).iter();
    let key = keys.next().map(|key| key.as_bytes().trim_ascii());
    keys.next().is_none() && key.is_some_and(|key| !key.is_empty() && key != b"\"\"")
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn access(trusts_keys: bool, method: Method, keys: &[&'static str]) -> Access {
        let mut policy = RepeatPolicy::new(ReadRoutes::safe());
        if trusts_keys {
            policy.trust_idempotency_keys();
        }
        let mut headers = HeaderMap::new();
        for key in keys {
            headers.append(IDEMPOTENCY_KEY, HeaderValue::from_static(key));
        }
        policy.access(&method, "/orders", &headers)
    }

    #[test]
    fn a_key_makes_a_write_repeatable_by_policy_alone() {
        assert_eq!(access(false, Method::POST, &["7"]), Access::Write);
        assert_eq!(access(true, Method::POST, &["7"]), Access::IdempotentWrite);
        assert_eq!(access(true, Method::GET, &["7"]), Access::Read);
    }

    #[test]
    fn no_key_an_empty_one_and_two_of_them_are_none() {
        for keys in [[].as_slice(), &[""], &["  "], &["\"\""], &["7", "8"], &["7", "7"]] {
            assert_eq!(access(true, Method::POST, keys), Access::Write, "{keys:?}");
        }
    }
}
