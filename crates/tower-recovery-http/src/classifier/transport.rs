//! What hyper, h2 and rustls say.

use std::error::Error;

use tower_recovery::{Verdict, sources};

use super::Intermediary;

/// There is no connection, so nothing was sent. An error that the same input will meet again ends the call.
pub(crate) fn unconnected(error: &(dyn Error + 'static)) -> Verdict {
    let verdict = Verdict::never_sent().stale();
    if sources(error).any(is_permanent) { verdict.permanent() } else { verdict }
}

pub(super) fn hyper_verdict(error: &hyper::Error, peer: Intermediary) -> Verdict {
    if error.is_canceled() || error.is_closed() {
        // Every place that cancels a request still has it, and a closed connection takes none. (An upgrade that is cancelled is awaited after
        // the answer, which no handle of this crate does.)
        Verdict::never_sent().stale()
    } else if error.is_user() {
        // The request's own body failed, after an unknown part of it was sent. The handle did nothing wrong.
        Verdict::maybe_sent()
    } else {
        sources(error).find_map(|link| http2_verdict(link, peer)).unwrap_or(Verdict::maybe_sent().stale())
    }
}

#[cfg(feature = "http2")]
fn http2_verdict(link: &(dyn Error + 'static), peer: Intermediary) -> Option<Verdict> {
    let error = link.downcast_ref::<h2::Error>()?;
    let reason = error.reason();
    Some(if error.is_reset() && error.is_remote() {
        // The connection lives on, so its handle stays.
        if reason == Some(h2::Reason::REFUSED_STREAM) { peer.refusal() } else { Verdict::maybe_sent() }
    } else if error.is_reset() && !error.is_library() {
        // hyper itself gave the stream up, because the request's own body failed: it says no more of that over HTTP/2. As with any such failure,
        // the handle did nothing wrong.
        Verdict::maybe_sent()
    } else if error.is_go_away() && reason == Some(h2::Reason::ENHANCE_YOUR_CALM) {
        // Not stale: the first repeat on a new handle goes at once, which is not what calms anybody.
        Verdict::maybe_sent()
    } else {
        Verdict::maybe_sent().stale()
    })
}

#[cfg(not(feature = "http2"))]
fn http2_verdict(_: &(dyn Error + 'static), _: Intermediary) -> Option<Verdict> {
    None
}

/// Whether a handshake failed for what the two sides are, and not for what happened to it.
#[cfg(feature = "rustls")]
fn is_permanent(link: &(dyn Error + 'static)) -> bool {
    use rustls::{AlertDescription as Alert, Error};

    match link.downcast_ref::<Error>() {
        Some(
            Error::InvalidCertificate(_)
            | Error::InvalidCertRevocationList(_)
            | Error::NoCertificatesPresented
            | Error::UnsupportedNameType
            | Error::PeerIncompatible(_)
            | Error::NoApplicationProtocol,
        ) => true,
        Some(Error::AlertReceived(alert)) => matches!(
            alert,
            Alert::HandshakeFailure
                | Alert::BadCertificate
                | Alert::UnsupportedCertificate
                | Alert::CertificateRevoked
                | Alert::CertificateExpired
                | Alert::CertificateUnknown
                | Alert::UnknownCA
                | Alert::AccessDenied
                | Alert::ProtocolVersion
                | Alert::InsufficientSecurity
                | Alert::UnrecognisedName
                | Alert::CertificateRequired
                | Alert::NoApplicationProtocol
        ),
        _ => false,
    }
}

#[cfg(not(feature = "rustls"))]
fn is_permanent(_: &(dyn Error + 'static)) -> bool {
    false
}
