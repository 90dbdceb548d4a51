//! What a failure proves about its request.

use std::fmt;

/// What a failure proves about its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[expect(
    clippy::exhaustive_enums,
    reason = "these four are the whole of what can be proven, and a match on them should be complete"
)]
pub enum Delivery {
    /// It never left this process: no connection was made, or the request was handed back untouched.
    NeverSent,
    /// It left, and the direct peer proves that it was not processed: HTTP/2 `REFUSED_STREAM`, HTTP 421, a typed "not here".
    Refused,
    /// Anything else without a complete verdict: it may have executed.
    MaybeSent,
    /// A complete verdict of the other side.
    Answered,
}

impl Delivery {
    /// Whether the request provably did not execute, so that it may be sent again whatever its method.
    #[must_use]
    pub fn is_send_side(self) -> bool {
        matches!(self, Self::NeverSent | Self::Refused)
    }
}

impl fmt::Display for Delivery {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::NeverSent => "never sent",
            Self::Refused => "refused unprocessed",
            Self::MaybeSent => "maybe sent",
            Self::Answered => "answered",
        })
    }
}

/// What a classifier says of one error or one response.
///
/// # Examples
///
/// ```
/// use tower_recovery::{Delivery, Verdict};
///
/// let connection_refused = Verdict::never_sent().stale();
/// assert_eq!(connection_refused.delivery(), Some(Delivery::NeverSent));
/// assert!(connection_refused.is_stale() && !connection_refused.is_permanent());
///
/// let expired_certificate = Verdict::never_sent().permanent().stale();
/// assert!(expired_certificate.is_permanent());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Verdict {
    delivery: Option<Delivery>,
    permanent: bool,
    stale: bool,
}

impl Verdict {
    /// The request never left this process.
    #[must_use]
    pub const fn never_sent() -> Self {
        Self::of(Some(Delivery::NeverSent))
    }

    /// The direct peer proves that it did not process the request.
    #[must_use]
    pub const fn refused() -> Self {
        Self::of(Some(Delivery::Refused))
    }

    /// The request may have executed.
    #[must_use]
    pub const fn maybe_sent() -> Self {
        Self::of(Some(Delivery::MaybeSent))
    }

    /// The other side gave a complete verdict.
    #[must_use]
    pub const fn answered() -> Self {
        Self::of(Some(Delivery::Answered))
    }

    /// Not an error that this classifier knows: it passes untouched and nothing is repeated.
    #[must_use]
    pub const fn unrecognised() -> Self {
        Self::of(None)
    }

    const fn of(delivery: Option<Delivery>) -> Self {
        Self { delivery, permanent: false, stale: false }
    }

    /// The same input will fail the same way, so no attempt is spent on it: an expired certificate, a malformed address.
    #[must_use]
    pub const fn permanent(mut self) -> Self {
        self.permanent = true;
        self
    }

    /// The failure indicts the handle: it is evicted, and the next attempt resolves the name again.
    #[must_use]
    pub const fn stale(mut self) -> Self {
        self.stale = true;
        self
    }

    /// What is proven about the request, or `None` for an error that nothing recognised.
    #[must_use]
    pub const fn delivery(self) -> Option<Delivery> {
        self.delivery
    }

    /// Whether the same input will fail the same way.
    #[must_use]
    pub const fn is_permanent(self) -> bool {
        self.permanent
    }

    /// Whether the handle is to be evicted.
    #[must_use]
    pub const fn is_stale(self) -> bool {
        self.stale
    }

    /// The same verdict about another delivery.
    pub(crate) const fn with_delivery(mut self, delivery: Delivery) -> Self {
        self.delivery = Some(delivery);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_provably_did_not_execute_is_send_side() {
        let all = [Delivery::NeverSent, Delivery::Refused, Delivery::MaybeSent, Delivery::Answered];
        assert_eq!(all.map(Delivery::is_send_side), [true, true, false, false]);
        assert_eq!(
            all.map(|delivery| delivery.to_string()),
            ["never sent", "refused unprocessed", "maybe sent", "answered"]
        );
    }

    #[test]
    fn a_verdict_says_what_it_was_given_and_no_more() {
        let verdicts = [
            (Verdict::never_sent(), Some(Delivery::NeverSent)),
            (Verdict::refused(), Some(Delivery::Refused)),
            (Verdict::maybe_sent(), Some(Delivery::MaybeSent)),
            (Verdict::answered(), Some(Delivery::Answered)),
            (Verdict::unrecognised(), None),
        ];
        let said = |verdict: Verdict| (verdict.delivery(), verdict.is_permanent(), verdict.is_stale());
        for (verdict, delivery) in verdicts {
            assert_eq!(said(verdict), (delivery, false, false));
            assert_eq!(said(verdict.permanent()), (delivery, true, false));
            assert_eq!(said(verdict.stale()), (delivery, false, true));
            let replaced = verdict.permanent().stale().with_delivery(Delivery::Refused);
            assert_eq!(said(replaced), (Some(Delivery::Refused), true, true));
        }
    }
}
