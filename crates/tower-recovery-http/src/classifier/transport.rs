//! What hyper, h2 and rustls say.

use std::error::Error;

use tower_recovery::{Verdict, sources};

/// There is no connection, so nothing was sent. An error that the same input will meet again ends the call.
pub(crate) fn unconnected(error: &(dyn Error + 'static)) -> Verdict {
    let verdict = Verdict::never_sent().stale();
    if sources(error).any(is_permanent) { verdict.permanent() } else { verdict }
}

/// What an error of hyper's proves, with the verdict about a refusal in the protocol's own words: of a request whose head never came that is one thing,
/// of one that nothing is known of another, since a stream can be refused after its answer has begun.
pub(super) fn hyper_verdict(error: &hyper::Error, refusal: Verdict) -> Verdict {
    if error.is_user() {
        // The request's own body failed, after an unknown part of it was sent. The handle did nothing wrong.
        return Verdict::maybe_sent();
    }
    // An error of h2 that stands deeper is about another connection, such as the tunnel that this one goes through.
    error.source().and_then(|source| http2_verdict(source, refusal)).unwrap_or(Verdict::maybe_sent().stale())
}

/// Whether hyper gave up a request that it still had, or found its connection closed before. Only the client that called it can say that this is what it
/// means: an upgrade that is cancelled after the answer has the same word.
pub(super) fn is_unsent(error: &hyper::Error) -> bool {
    error.is_canceled() || error.is_closed()
}

#[cfg(feature = "__errors-of-h2")]
fn http2_verdict(link: &(dyn Error + 'static), refusal: Verdict) -> Option<Verdict> {
    let error = link.downcast_ref::<h2::Error>()?;
    let reason = error.reason();
    Some(if error.is_reset() && error.is_remote() {
        // The connection lives on, so its handle stays.
        if reason == Some(h2::Reason::REFUSED_STREAM) { refusal } else { Verdict::maybe_sent() }
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

#[cfg(not(feature = "__errors-of-h2"))]
fn http2_verdict(_: &(dyn Error + 'static), _: Verdict) -> Option<Verdict> {
    None
}

/// Whether a handshake failed for what the two sides are, and not for what happened to it.
#[cfg(feature = "__errors-of-rustls")]
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

#[cfg(not(feature = "__errors-of-rustls"))]
fn is_permanent(_: &(dyn Error + 'static)) -> bool {
    false
}
