//! [`Failure`], the one error that leaves every layer.

mod known;
mod recover;
mod slot;
#[cfg(test)]
mod tests;

use std::{error::Error, fmt};

use tower::BoxError;

pub(crate) use self::slot::Slot;
use crate::{Delivery, GiveUp, Lease, NotReady, Verdict, sources};

/// The one error that leaves every layer: what happened, and what it proves about the request.
///
/// The original error is [`cause`](Self::cause); [`find`](Self::find) downcasts along its chain. A `Failure` is `Send + Sync` whatever
/// request or response it carries, so it passes through `tower::buffer` and any other layer that boxes errors.
///
/// Its [`source`](Error::source) is a link of its own that carries what the failure knows, and has the original error as *its* source:
/// a foreign error that is transparent (`#[error(transparent)]`, an `Arc` around an error) gives the failure's source as its own, and so skips
/// the failure itself. What was proven must not be lost with it.
///
/// # Examples
///
/// ```
/// use std::io;
/// use tower_recovery::{Delivery, Failure, Verdict};
///
/// let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
/// let failure = Failure::new(Verdict::never_sent().stale(), refused);
///
/// assert_eq!(failure.delivery(), Some(Delivery::NeverSent));
/// assert_eq!(failure.find::<io::Error>().unwrap().kind(), io::ErrorKind::ConnectionRefused);
/// ```
pub struct Failure(Box<Details>);

/// What a failure knows: the first link of its sources. Boxed, so that a `Result` with a `Failure` stays one pointer wide on the happy path.
struct Details {
    verdict: Verdict,
    attempts: u32,
    gave_up: Option<GiveUp>,
    unsent: Slot,
    response: Slot,
    lease: Option<Lease>,
    source: Option<BoxError>,
}

impl Details {
    fn of(verdict: Verdict) -> Self {
        Self {
            verdict,
            attempts: 1,
            gave_up: None,
            unsent: Slot::empty(),
            response: Slot::empty(),
            lease: None,
            source: None,
        }
    }
}

impl Failure {
    /// A failure with the error that caused it.
    pub fn new(verdict: Verdict, source: impl Into<BoxError>) -> Self {
        Self(Box::new(Details { source: Some(source.into()), ..Details::of(verdict) }))
    }

    /// A failure that is a response: one that refuses, or one that says that the handle is stale.
    ///
    /// The response comes out again through [`take_response`](Self::take_response).
    pub fn from_response<Response: Send + 'static>(verdict: Verdict, response: Response) -> Self {
        Self(Box::new(Details { response: Slot::holding(response), ..Details::of(verdict) }))
    }

    /// An error of somebody's `poll_ready`: nothing was sent, and the instance is to be replaced.
    pub(crate) fn not_ready(error: impl Into<BoxError>) -> Self {
        match error.into().downcast::<Self>() {
            Ok(failure) => *failure,
            Err(error) => Self::new(NotReady::VERDICT, NotReady::new(error)),
        }
    }

    /// Hands the unsent request back to whoever may send it again.
    ///
    /// It must be the request as the layers above gave it, not as a handle rewrote it for its own address.
    #[must_use]
    pub fn with_unsent<Request: Send + 'static>(mut self, request: Request) -> Self {
        self.0.unsent = Slot::holding(request);
        self
    }

    /// The same, for a request whose type was erased already.
    #[must_use]
    pub fn with_unsent_erased(mut self, request: Box<dyn std::any::Any + Send>) -> Self {
        self.0.unsent = Slot::holding_erased(request);
        self
    }

    /// The attempt ran on the handle of this lease. A [`Reresolve`](crate::reresolve::Reresolve) says so by itself; what breaks after its call has ended
    /// is said by whoever kept the lease.
    #[must_use]
    pub fn with_lease(mut self, lease: Lease) -> Self {
        self.set_lease(lease);
        self
    }

    /// What is proven about the request. Over several attempts of one call it speaks of them all: `MaybeSent` if one of them may have executed.
    ///
    /// `None` is an error that nothing recognised.
    #[must_use]
    pub fn delivery(&self) -> Option<Delivery> {
        self.0.verdict.delivery()
    }

    /// Delivery, permanence and staleness in one value.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        self.0.verdict
    }

    /// Whether the same input will fail the same way.
    #[must_use]
    pub fn is_permanent(&self) -> bool {
        self.0.verdict.is_permanent()
    }

    /// Whether the failure indicts the handle.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        self.0.verdict.is_stale()
    }

    /// How many attempts this call has spent, one at the least.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.0.attempts
    }

    /// Whether a retry layer below has spent what it had: an outer retry must stop.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        self.0.gave_up.is_some_and(GiveUp::is_exhaustion)
    }

    /// Why a retry layer did not send the call again although what is proven would have allowed it; `None` where nothing but the proof forbade it.
    #[must_use]
    pub fn gave_up(&self) -> Option<GiveUp> {
        self.0.gave_up
    }

    /// Takes the request that was not sent, if the failure holds one of this type. The second call gets `None`.
    #[must_use]
    pub fn take_unsent<Request: 'static>(&self) -> Option<Request> {
        self.0.unsent.take()
    }

    /// Takes the response that this failure is, if it holds one of this type. The second call gets `None`.
    #[must_use]
    pub fn take_response<Response: 'static>(&self) -> Option<Response> {
        self.0.response.take()
    }

    /// The lease of the handle on which the attempt ran, once it is known: see [`with_lease`](Self::with_lease).
    #[must_use]
    pub fn lease(&self) -> Option<&Lease> {
        self.0.lease.as_ref()
    }

    /// The original error; `None` where the failure is a response.
    #[must_use]
    pub fn cause(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }

    /// The first error of this type along the chain of the original error and its sources.
    #[must_use]
    pub fn find<Wanted: Error + 'static>(&self) -> Option<&Wanted> {
        sources(self.cause()?).find_map(|error| error.downcast_ref())
    }

    /// The original error, taken out.
    #[must_use]
    pub fn into_cause(self) -> Option<BoxError> {
        self.0.source
    }

    pub(crate) fn set_verdict(&mut self, verdict: Verdict) {
        self.0.verdict = verdict;
    }

    /// Replaces the verdict, and lets go of a request that was handed back if it is not proven any more that it was not sent.
    pub(crate) fn overrule(&mut self, verdict: Verdict) {
        self.set_verdict(verdict);
        if !verdict.delivery().is_some_and(Delivery::is_send_side) {
            self.0.unsent = Slot::empty();
        }
    }

    /// It broke an answer that had begun: that the request was not sent is not proven by it, and what it holds is another call's.
    pub(crate) fn of_a_broken_answer(&mut self) {
        if self.delivery().is_some_and(Delivery::is_send_side) {
            self.set_verdict(self.0.verdict.with_delivery(Delivery::MaybeSent));
        }
        (self.0.unsent, self.0.response) = (Slot::empty(), Slot::empty());
    }

    pub(crate) fn set_attempts(&mut self, attempts: u32) {
        self.0.attempts = attempts;
    }

    pub(crate) fn set_gave_up(&mut self, reason: GiveUp) {
        self.0.gave_up = Some(reason);
    }

    pub(crate) fn set_lease(&mut self, lease: Lease) {
        self.0.lease = Some(lease);
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.delivery() {
            Some(Delivery::NeverSent) => "the request was never sent",
            Some(Delivery::Refused) => "the peer refused the request unprocessed",
            Some(Delivery::MaybeSent) => "the request may have been executed",
            Some(Delivery::Answered) => "the request was answered",
            None => "the call failed",
        })
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt_fields(formatter.debug_struct("Failure"))
    }
}

impl Error for Details {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|error| error as &(dyn Error + 'static))
    }
}

impl fmt::Display for Details {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.attempts {
            1 => formatter.write_str("after 1 attempt"),
            attempts => write!(formatter, "after {attempts} attempts"),
        }
    }
}

impl fmt::Debug for Details {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_fields(formatter.debug_struct("Details"))
    }
}

impl Details {
    /// Without request and response: payloads are never logged.
    fn fmt_fields(&self, mut fields: fmt::DebugStruct<'_, '_>) -> fmt::Result {
        fields
            .field("delivery", &self.verdict.delivery())
            .field("permanent", &self.verdict.is_permanent())
            .field("stale", &self.verdict.is_stale())
            .field("attempts", &self.attempts)
            .field("gave_up", &self.gave_up)
            .field("cause", &self.source)
            .finish_non_exhaustive()
    }
}
