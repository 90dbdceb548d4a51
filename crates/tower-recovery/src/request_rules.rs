//! What the layers must know of a request, as a value beside it.

use std::fmt;

use crate::{Access, ReadMethods, StreamMode, StreamPolicy};

/// What the layers must know of a request: its method, whether it reads, how it is copied, how it is silenced.
///
/// It is a value that the layers are given and not a trait of the request, since nobody can implement a foreign trait for
/// `reqwest::Request`. [`NamedRules`] serves requests that know their method's name; adapters bring their own.
pub trait RequestRules<Request> {
    /// The method as logs and events print it. Cheap to clone: it is taken from each request before it is sent.
    type Method: fmt::Display + Clone + Send + Sync + 'static;

    /// The method that this request calls.
    fn method(&self, request: &Request) -> Self::Method;

    /// Whether it reads or writes, `method` being what [`method`](Self::method) gave for it. Decided by the request before it is
    /// sent, never by an answer or an error.
    fn access(&self, request: &Request, method: &Self::Method) -> Access;

    /// A copy to be sent if this one fails, or `None` if it cannot be copied: then it is repeated only where a transport hands it back.
    fn copy(&self, request: &Request) -> Option<Request>;

    /// Whether this request, which is about to be repeated, still gives the whole of it. A copy whose body shares a bounded buffer with the request
    /// that was sent may have lost its beginning since it was made.
    fn is_whole(&self, request: &Request) -> bool {
        let _ = request;
        true
    }

    /// Asks a [`SilentRead`](Access::SilentRead) not to count. A value that the caller set explicitly stays as it is.
    fn silence(&self, request: &mut Request);
}

/// Rules for requests that carry their method's name: an enum of calls, a struct with a name.
///
/// # Examples
///
/// ```
/// use tower_recovery::{Access, NamedRules, ReadMethods, RequestRules};
///
/// #[derive(Clone)]
/// struct Call { method: &'static str, silent: Option<bool> }
///
/// let rules = NamedRules::new(|call: &Call| call.method, ReadMethods::new().silent("read"))
///     .copied_by(|call| Some(call.clone()))
///     .silenced_by(|call| { call.silent.get_or_insert(true); });
///
/// let mut read = Call { method: "read", silent: None };
/// assert_eq!(rules.access(&read, &"read"), Access::SilentRead);
/// rules.silence(&mut read);
/// assert_eq!(read.silent, Some(true));
/// ```
pub struct NamedRules<Request, Name = &'static str> {
    name: fn(&Request) -> Name,
    reads: ReadMethods,
    copy: fn(&Request) -> Option<Request>,
    silence: fn(&mut Request),
}

impl<Request, Name> NamedRules<Request, Name> {
    /// Rules that find the method's name in this way and allow these reads. Until told otherwise, nothing can be copied or silenced.
    pub fn new(name: fn(&Request) -> Name, reads: ReadMethods) -> Self {
        Self { name, reads, copy: |_| None, silence: |_| {} }
    }

    /// How a request is copied.
    #[must_use]
    pub fn copied_by(mut self, copy: fn(&Request) -> Option<Request>) -> Self {
        self.copy = copy;
        self
    }

    /// How a request is asked to be silent. It must leave a value alone that the caller set.
    #[must_use]
    pub fn silenced_by(mut self, silence: fn(&mut Request)) -> Self {
        self.silence = silence;
        self
    }
}

impl<Request, Name> RequestRules<Request> for NamedRules<Request, Name>
where
    Name: AsRef<str> + fmt::Display + Clone + Send + Sync + 'static,
{
    type Method = Name;

    fn method(&self, request: &Request) -> Name {
        (self.name)(request)
    }

    fn access(&self, _: &Request, method: &Name) -> Access {
        self.reads.access(method.as_ref())
    }

    fn copy(&self, request: &Request) -> Option<Request> {
        (self.copy)(request)
    }

    fn silence(&self, request: &mut Request) {
        (self.silence)(request);
    }
}

/// The same rules for a layer that is to repeat on proof alone: to it every request is a write, also one that reads or is idempotent.
///
/// For the [`ReadOnlyRetryLayer`](crate::ReadOnlyRetryLayer) of a stream route. What may have executed belongs there to the
/// [`StreamReplacementLayer`](crate::StreamReplacementLayer) above it, and its budget.
#[derive(Clone, Debug)]
pub struct SendSideOnly<Rules> {
    rules: Rules,
    applies: bool,
}

impl<Rules> SendSideOnly<Rules> {
    /// These rules, but nothing reads.
    #[must_use]
    pub fn new(rules: Rules) -> Self {
        Self { rules, applies: true }
    }

    /// These rules, but nothing reads where this policy replaces streams. Where it does not, nobody above repeats what reads.
    #[must_use]
    pub fn under(policy: StreamPolicy, rules: Rules) -> Self {
        Self { rules, applies: policy.mode() == StreamMode::RetryOnHealthyProbe }
    }
}

impl<Request, Rules: RequestRules<Request>> RequestRules<Request> for SendSideOnly<Rules> {
    type Method = Rules::Method;

    fn method(&self, request: &Request) -> Self::Method {
        self.rules.method(request)
    }

    fn access(&self, request: &Request, method: &Self::Method) -> Access {
        if self.applies { Access::Write } else { self.rules.access(request, method) }
    }

    fn copy(&self, request: &Request) -> Option<Request> {
        self.rules.copy(request)
    }

    fn is_whole(&self, request: &Request) -> bool {
        self.rules.is_whole(request)
    }

    fn silence(&self, request: &mut Request) {
        self.rules.silence(request);
    }
}

impl<Request, Name> Clone for NamedRules<Request, Name> {
    fn clone(&self) -> Self {
        Self { reads: self.reads.clone(), ..*self }
    }
}

impl<Request, Name> fmt::Debug for NamedRules<Request, Name> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("NamedRules").field("reads", &self.reads).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_reads_where_streams_are_replaced_and_the_rest_is_as_it_was() {
        let rules = NamedRules::new(|method: &&'static str| *method, ReadMethods::new().silent("read"))
            .copied_by(|method| Some(*method))
            .silenced_by(|method| *method = "read silently");
        let policy = |mode| StreamPolicy::builder(mode).build().unwrap();
        for (rules, access) in [
            (SendSideOnly::new(rules.clone()), Access::Write),
            (SendSideOnly::under(policy(StreamMode::RetryOnHealthyProbe), rules.clone()), Access::Write),
            (SendSideOnly::under(policy(StreamMode::Preserve), rules.clone()), Access::SilentRead),
            (SendSideOnly::under(policy(StreamMode::Disabled), rules), Access::SilentRead),
        ] {
            let mut request = "read";
            assert_eq!((rules.method(&request), rules.access(&request, &"read")), ("read", access));
            assert_eq!((rules.copy(&request), rules.is_whole(&request)), (Some("read"), true));
            rules.silence(&mut request);
            assert_eq!(request, "read silently");
        }
    }
}
