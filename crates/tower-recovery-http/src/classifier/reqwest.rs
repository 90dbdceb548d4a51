//! What reqwest's own errors say, in whichever version. Everything else is said by hyper's errors behind them.

use std::error::Error;

use tower_recovery::Verdict;

/// What the kind of the error proves. (Its `is_connect` and `is_timeout` look along the whole chain, into an error of the request's own body too:
/// they are no proof.)
pub(super) fn proof(link: &(dyn Error + 'static)) -> Option<Verdict> {
    #[cfg(feature = "reqwest")]
    if let Some(error) = link.downcast_ref::<::reqwest::Error>() {
        return of_kind(error.is_builder(), error.is_redirect(), error.is_status());
    }
    #[cfg(feature = "reqwest-0-12")]
    if let Some(error) = link.downcast_ref::<::reqwest_0_12::Error>() {
        return of_kind(error.is_builder(), error.is_redirect(), error.is_status());
    }
    let _ = link;
    None
}

#[cfg(any(feature = "reqwest", feature = "reqwest-0-12"))]
fn of_kind(is_builder: bool, is_redirect: bool, is_status: bool) -> Option<Verdict> {
    if is_builder {
        Some(Verdict::never_sent().permanent())
    } else if is_redirect {
        // The server that was asked may have executed the request before it sent the client elsewhere.
        Some(Verdict::maybe_sent())
    } else if is_status {
        Some(Verdict::answered())
    } else {
        None
    }
}

/// An error of reqwest's with nothing of hyper's behind it: its time-out, which may fire at any moment.
pub(super) fn of_a_transport(link: &(dyn Error + 'static)) -> Option<Verdict> {
    let is_any = false;
    #[cfg(feature = "reqwest")]
    let is_any = is_any || link.is::<::reqwest::Error>();
    #[cfg(feature = "reqwest-0-12")]
    let is_any = is_any || link.is::<::reqwest_0_12::Error>();
    let _ = link;
    is_any.then(|| Verdict::maybe_sent().stale())
}
