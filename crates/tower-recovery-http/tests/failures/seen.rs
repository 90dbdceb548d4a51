//! An error in a few words.

use std::{error::Error, io};

use hyper_util::client::legacy;
use rustls::CertificateError;
use tower_recovery::{AttemptTimedOut, Failure, NotReady, ResolveError, sources};
use tower_recovery_http::{ConnectTimedOut, EndedEarly, IncompleteBody, Unterminated};

/// What the request's own body fails with.
#[derive(Debug, thiserror::Error)]
#[error("the source of the body failed")]
pub(crate) struct OwnError;

/// The errors of the chain that say something, from outside in. What merely wraps another one is left out.
pub(crate) fn seen(failure: &Failure) -> String {
    let Some(cause) = failure.cause() else { return "nothing".to_owned() };
    let mut links: Vec<_> = sources(cause).filter_map(said).collect();
    // An error of the socket's that wraps another one says only that.
    let last = links.len().saturating_sub(1);
    links = links
        .into_iter()
        .enumerate()
        .filter(|(at, link)| *at == last || !link.starts_with("io "))
        .map(|(_, link)| link)
        .collect();
    links.dedup();
    if links.is_empty() { format!("{cause:?}") } else { links.join(" › ") }
}

fn said(link: &(dyn Error + 'static)) -> Option<String> {
    let known = [
        (link.is::<NotReady>(), "not ready"),
        (link.is::<AttemptTimedOut>(), "attempt timed out"),
        // reqwest's own has no name, and hyper-util's, which may be faster, is one of the socket's.
        (link.is::<ConnectTimedOut>() || link.to_string() == "operation timed out" || is_timed_out(link), "timed out"),
        (matches!(link.downcast_ref(), Some(ResolveError::TimedOut(_))), "resolve timed out"),
        (link.is::<IncompleteBody>(), "incomplete body"),
        (link.is::<EndedEarly>(), "ended early"),
        (link.is::<Unterminated>(), "unterminated"),
        (link.is::<OwnError>(), "the body's own error"),
        (link.downcast_ref::<legacy::Error>().is_some_and(legacy::Error::is_connect), "hyper-util connect"),
    ];
    if let Some((_, name)) = known.iter().find(|(is, _)| *is) {
        return Some((*name).to_owned());
    }
    if let Some(error) = link.downcast_ref::<hyper::Error>() {
        of_hyper(error).map(|kind| format!("hyper {kind}"))
    } else if let Some(error) = link.downcast_ref::<h2::Error>() {
        Some(of_h2(error))
    } else if let Some(error) = link.downcast_ref::<rustls::Error>() {
        Some(of_rustls(error))
    } else {
        link.downcast_ref::<io::Error>().map(|error| format!("io {:?}", error.kind()))
    }
}

fn is_timed_out(link: &(dyn Error + 'static)) -> bool {
    link.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::TimedOut)
}

/// What is more than a name for where it happened.
fn of_hyper(error: &hyper::Error) -> Option<&'static str> {
    let kinds = [
        (error.is_canceled(), "canceled"),
        (error.is_closed(), "closed"),
        (error.is_incomplete_message(), "incomplete message"),
        (error.is_parse(), "parse"),
        (error.is_timeout(), "timeout"),
        (error.is_user(), "user"),
    ];
    kinds.into_iter().find(|(is, _)| *is).map(|(_, name)| name)
}

fn of_h2(error: &h2::Error) -> String {
    let by = if error.is_remote() { "remote" } else { "local" };
    let reason = error.reason().map_or_else(String::new, |reason| format!(" {reason:?}"));
    if error.is_reset() {
        format!("h2 reset{reason} ({by})")
    } else if error.is_go_away() {
        format!("h2 GOAWAY{reason} ({by})")
    } else if let Some(error) = error.get_io() {
        format!("io {:?}", error.kind())
    } else {
        format!("h2 {error}")
    }
}

fn of_rustls(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(error) => match error {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "rustls: certificate expired".to_owned()
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "rustls: certificate of another name".to_owned()
            }
            CertificateError::UnknownIssuer => "rustls: certificate of an unknown issuer".to_owned(),
            other => format!("rustls: certificate {other:?}"),
        },
        other => format!("rustls: {other:?}"),
    }
}
