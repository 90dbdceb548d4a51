//! Suspicion: a read that has waited for long asks whether its handle is still the one that the registry names.
//!
//! A handle whose instance has frozen costs its first caller a whole timeout: nothing fails until then. A *read* can do better. Once it has waited longer than
//! [`suspect_after`](crate::HandleCacheBuilder::suspect_after) the registry is asked, beside the live handle; if it names somebody else, the attempt is given up, and repeated on the new handle. If
//! not, the read waits on and is not suspected again.
//!
//! - Which attempts may be given up the retry layer says, since it alone knows whether it would repeat them: [`attempt_scope`](crate::attempt_scope).
//! - [`tick`]: when a read has waited for long. One coarse tick for all, not a timer a call.
//! - [`watch`]: what one attempt does about it.

pub(crate) mod tick;
pub(crate) mod watch;

use crate::Identity;

/// An attempt was given up although it had not failed: the registry names another instance than the one that does not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no answer from {old}, in whose place the registry names {new}")]
#[non_exhaustive]
pub struct HandleSuperseded {
    /// Who did not answer.
    pub old: Identity,
    /// Whom the registry names now.
    pub new: Identity,
}
