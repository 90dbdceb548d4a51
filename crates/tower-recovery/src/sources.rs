//! Walking the chain of an error's sources.

use std::error::Error;

/// The error itself and all that stands behind it through [`source`](Error::source), outermost first. For classifiers.
pub fn sources<'error>(error: &'error (dyn Error + 'static)) -> impl Iterator<Item = &'error (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}
