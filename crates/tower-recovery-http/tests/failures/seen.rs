//! An error in a few words.

use std::{error::Error, io};

use hyper_util::client::legacy;
use rustls::CertificateError;
use tower_recovery::{AttemptTimedOut, Failure, NotReady, sources};
use tower_recovery_http::{ConnectTimedOut, EndedEarly, IncompleteBody};

/// What the request's own body fails with.
#[derive(Debug, thiserror::Error)]
#[error("the source of the body failed")]
pub(crate) struct OwnError;

/// The chain of the errors that have a name, from outside in.
pub(crate) fn seen(failure: &Failure) -> String {
    let Some(cause) = failure.cause() else { return "nothing".to_owned() };
    let mut links: Vec<String> = sources(cause).filter_map(name).collect();
    links.dedup();
    if links.is_empty() { format!("{cause:?}") } else { links.join(" › ") }
}

fn name(link: &(dyn Error + 'static)) -> Option<String> {
    let name = if link.is::<NotReady>() {
        "not ready".to_owned()
    } else if link.is::<AttemptTimedOut>() {
        "attempt timed out".to_owned()
    } else if link.is::<ConnectTimedOut>() {
        "connect timed out".to_owned()
    } else if link.is::<IncompleteBody>() {
        "incomplete body".to_owned()
    } else if link.is::<EndedEarly>() {
        "ended early".to_owned()
    } else if link.is::<OwnError>() {
        "body's own error".to_owned()
    } else if let Some(error) = link.downcast_ref::<legacy::Error>() {
        // Its text is its kind: "client error (Connect)".
        let text = error.to_string();
        let kind = text.trim_start_matches("client error (").trim_end_matches(')');
        format!("hyper-util {kind}")
    } else if let Some(error) = link.downcast_ref::<reqwest::Error>() {
        of_reqwest(error.is_body(), error.is_decode())
    } else if let Some(error) = link.downcast_ref::<reqwest_0_12::Error>() {
        of_reqwest(error.is_body(), error.is_decode())
    } else if let Some(error) = link.downcast_ref::<hyper::Error>() {
        format!("hyper {}", of_hyper(error))
    } else if let Some(error) = link.downcast_ref::<h2::Error>() {
        format!("h2 {}", of_h2(error))
    } else if let Some(error) = link.downcast_ref::<rustls::Error>() {
        format!("rustls {}", of_rustls(error))
    } else {
        let error = link.downcast_ref::<io::Error>()?;
        format!("io {:?}", error.kind())
    };
    Some(name)
}

fn of_reqwest(is_body: bool, is_decode: bool) -> String {
    match (is_body, is_decode) {
        (true, _) => "reqwest body".to_owned(),
        (_, true) => "reqwest decode".to_owned(),
        _ => "reqwest".to_owned(),
    }
}

fn of_hyper(error: &hyper::Error) -> String {
    let kinds = [
        (error.is_canceled(), "canceled"),
        (error.is_closed(), "closed"),
        (error.is_incomplete_message(), "incomplete message"),
        (error.is_parse(), "parse"),
        (error.is_timeout(), "timeout"),
        (error.is_user(), "user"),
    ];
    let known = kinds.iter().find(|(is, _)| *is).map(|(_, name)| (*name).to_owned());
    known.unwrap_or_else(|| error.to_string())
}

fn of_h2(error: &h2::Error) -> String {
    let by = if error.is_remote() { "remote" } else { "local" };
    let reason = error.reason().map_or_else(String::new, |reason| format!("{reason:?}, "));
    if error.is_reset() {
        format!("reset ({reason}{by})")
    } else if error.is_go_away() {
        format!("GOAWAY ({reason}{by})")
    } else if let Some(error) = error.get_io() {
        format!("io {:?}", error.kind())
    } else {
        error.to_string()
    }
}

fn of_rustls(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(error) => match error {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => "certificate expired".to_owned(),
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "certificate of another name".to_owned()
            }
            CertificateError::UnknownIssuer => "certificate of an unknown issuer".to_owned(),
            other => format!("certificate {other:?}"),
        },
        other => format!("{other:?}"),
    }
}
