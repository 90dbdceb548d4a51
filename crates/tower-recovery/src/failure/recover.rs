//! Finding a [`Failure`] again after foreign layers have boxed or wrapped it.

use std::error::Error;

use tower::BoxError;

use super::{Details, Failure, known};
use crate::{Verdict, sources};

impl Failure {
    /// What broke an answer that had begun. Who gave the answer out says by a failure at the top what that proves; anything deeper may be another call's, and
    /// nothing of it is taken: the classifier is asked.
    pub(crate) fn of_broken_answer(error: BoxError, classify: impl FnOnce(&(dyn Error + 'static)) -> Verdict) -> Self {
        let mut failure = if Self::is_at_the_top(error.as_ref()) {
            Self::recover(error)
        } else {
            let verdict = classify(error.as_ref());
            Self::new(verdict, error)
        };
        failure.of_a_broken_answer();
        failure
    }

    /// Whether the error itself, and not one behind it, is a failure or an error that the core knows.
    pub(crate) fn is_at_the_top(error: &(dyn Error + 'static)) -> bool {
        error.is::<Self>() || known::recognise(error).is_some()
    }

    /// What the outermost failure in this error proves.
    pub(crate) fn verdict_within(error: &(dyn Error + 'static)) -> Option<Verdict> {
        sources(error).find_map(details).map(|details| details.verdict)
    }

    /// Finds the failure in an error that passed through foreign layers.
    ///
    /// At the top it is unboxed as it is. Deeper in the chain of sources its knowledge is carried over, its request and
    /// response are taken, and the outer error stays as the source. tower's own errors (`Elapsed`, `Overloaded`, buffer's `ServiceError`
    /// and `Closed`) are known wherever they stand. Any other error is kept as the source of a failure without a delivery.
    ///
    /// What it finds it takes for this call's. A service that makes calls of its own through another stack must not give their failures out inside its
    /// errors above [`ClassifyLayer`](crate::ClassifyLayer): what is proven of a call of its own is not proven of the call that it serves.
    ///
    /// # Examples
    ///
    /// ```
    /// use tower::timeout::error::Elapsed;
    /// use tower_recovery::{Delivery, Failure};
    ///
    /// let timed_out = Failure::recover(Box::new(Elapsed::new()));
    /// assert_eq!(timed_out.delivery(), Some(Delivery::MaybeSent));
    ///
    /// let foreign = Failure::recover("somebody else's".into());
    /// assert_eq!(foreign.delivery(), None);
    /// ```
    #[must_use]
    pub fn recover(error: BoxError) -> Self {
        let error = match error.downcast::<Self>() {
            Ok(failure) => return *failure,
            Err(error) => error,
        };
        let mut details = along_sources(error.as_ref()).unwrap_or_else(|| Details::of(Verdict::unrecognised()));
        details.source = Some(error);
        Self(Box::new(details))
    }
}

/// The outermost link that says something decides: what lies below it was already weighed by whoever made that link.
fn along_sources(error: &(dyn Error + 'static)) -> Option<Details> {
    sources(error).find_map(|link| match details(link) {
        Some(wrapped) => Some(Details::emptying(wrapped)),
        None => known::recognise(link).map(Details::of),
    })
}

/// What a failure knows that is this link, or whose first source it is: a transparent wrapper shows only the latter.
fn details<'link>(link: &'link (dyn Error + 'static)) -> Option<&'link Details> {
    link.downcast_ref::<Failure>().map(|failure| &*failure.0).or_else(|| link.downcast_ref())
}

impl Details {
    fn emptying(wrapped: &Self) -> Self {
        Self {
            attempts: wrapped.attempts,
            gave_up: wrapped.gave_up,
            unsent: wrapped.unsent.empty_out(),
            response: wrapped.response.empty_out(),
            lease: wrapped.lease.clone(),
            ..Self::of(wrapped.verdict)
        }
    }
}
