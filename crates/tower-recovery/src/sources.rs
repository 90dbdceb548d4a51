//! Walking the chain of an error's sources.

use std::{error::Error, sync::Arc};

/// The error itself and all that stands behind it through [`source`](Error::source), outermost first. For classifiers.
///
/// A shared error is seen through: an `Arc<dyn Error + Send + Sync>` is an error of its own to the standard library, and whoever gives one as a
/// source (with `thiserror`, say) hides the error inside from a downcast.
pub fn sources<'error>(error: &'error (dyn Error + 'static)) -> impl Iterator<Item = &'error (dyn Error + 'static)> {
    std::iter::successors(Some(see_through(error)), |&error| error.source().map(see_through))
}

fn see_through<'error>(error: &'error (dyn Error + 'static)) -> &'error (dyn Error + 'static) {
    match error.downcast_ref::<Arc<dyn Error + Send + Sync>>() {
        Some(shared) => see_through(shared.as_ref()),
        None => error,
    }
}
