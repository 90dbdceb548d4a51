//! Walking the chain of an error's sources.

use std::{error::Error, io, sync::Arc};

/// The error itself and all that stands behind it through [`source`](Error::source), outermost first. For classifiers.
///
/// A shared error is seen through: an `Arc<dyn Error + Send + Sync>` is an error of its own to the standard library, and whoever gives one as a
/// source (with `thiserror`, say) hides the error inside from a downcast. For the same reason an [`io::Error`] that was made from another error is
/// followed by that error: its own source is only what stands behind it, and a TLS error in an `io::Error` would never be seen.
pub fn sources<'error>(error: &'error (dyn Error + 'static)) -> impl Iterator<Item = &'error (dyn Error + 'static)> {
    std::iter::successors(Some(see_through(error)), |&error| behind(error).map(see_through))
}

fn behind<'error>(error: &'error (dyn Error + 'static)) -> Option<&'error (dyn Error + 'static)> {
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(inside) => Some(inside),
        None => error.source(),
    }
}

fn see_through<'error>(error: &'error (dyn Error + 'static)) -> &'error (dyn Error + 'static) {
    match error.downcast_ref::<Arc<dyn Error + Send + Sync>>() {
        Some(shared) => see_through(shared.as_ref()),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Link(&'static str, #[source] Option<Box<dyn Error + Send + Sync>>);

    fn texts(error: &(dyn Error + 'static)) -> Vec<String> {
        sources(error).map(ToString::to_string).collect()
    }

    #[test]
    fn an_io_error_is_followed_by_the_error_that_it_was_made_of() {
        let inside = Link("inside", Some("behind".into()));
        let error = Link("outer", Some(Box::new(io::Error::other(inside))));
        assert!(sources(&error).any(<dyn Error>::is::<Link>));
        assert_eq!(
            texts(&error),
            ["outer", "inside", "inside", "behind"],
            "the io::Error prints as what it was made of"
        );
        let plain = Link("outer", Some(Box::new(io::Error::from(io::ErrorKind::BrokenPipe))));
        assert_eq!(texts(&plain), ["outer", "broken pipe"]);
    }

    #[test]
    fn a_shared_error_is_seen_through_wherever_it_stands() {
        let shared: Arc<dyn Error + Send + Sync> = Arc::new(Link("shared", None));
        let error = io::Error::other(Arc::new(shared) as Arc<dyn Error + Send + Sync>);
        assert!(sources(&error).any(<dyn Error>::is::<Link>));
    }
}
