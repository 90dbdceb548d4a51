//! What a registry gives for a service name.

use std::{fmt, sync::Arc};

/// A handle and who it points to: the answer of a resolver.
///
/// A resolver is any `tower::Service<Target, Response = Resolved<Handle>>`.
#[derive(Clone, Debug)]
pub struct Resolved<Handle> {
    /// Who the handle points to. Two answers with equal identities point to the same instance.
    pub identity: Identity,
    /// The service to call.
    pub handle: Handle,
}

impl<Handle> Resolved<Handle> {
    /// Pairs a handle with the identity it points to.
    pub fn new(identity: impl Into<Identity>, handle: Handle) -> Self {
        Self { identity: identity.into(), handle }
    }

    /// Keeps the identity and makes another handle of this one, as a resolver does that turns addresses into clients.
    pub fn map<Other>(self, make: impl FnOnce(Handle) -> Other) -> Resolved<Other> {
        Resolved { identity: self.identity, handle: make(self.handle) }
    }
}

/// The name by which one instance is told from another: an address, a client id, a set of addresses in order.
///
/// It is compared to learn whether a re-resolve found somebody else, and it is logged: put no credential into it.
#[derive(Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(transparent))]
pub struct Identity(Arc<str>);

impl Identity {
    /// The identity as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<Text: Into<Arc<str>>> From<Text> for Identity {
    fn from(text: Text) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, formatter)
    }
}
