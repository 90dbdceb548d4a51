//! The handle caches whose handles come from the connection.

use crate::HandleCache;

/// Handles that are of no use when the connection that they come from is replaced.
pub(super) trait Derived: Send + Sync {
    fn invalidate(&self);
}

impl<Handle: Clone + Send + 'static> Derived for HandleCache<Handle> {
    fn invalidate(&self) {
        Self::invalidate(self);
    }
}
