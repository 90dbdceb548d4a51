//! The one walk along the chain of an error, for every client.

use std::{error::Error, io};

use http::{HeaderMap, StatusCode, Version};
use hyper_util::client::legacy;
use tower_recovery::{Delivery, Verdict, sources};

use super::{
    HttpClassifier, reqwest,
    transport::{hyper_verdict, is_unsent, unconnected},
};
use crate::{BodyTooLong, EndedEarly, IncompleteBody, Unanswered, Unterminated};

/// What an error proves: by its outermost link that proves something. What lies below was already weighed by whoever made that link: a
/// failed body of the request is hyper's user error, whatever went wrong inside of it.
pub(super) fn verdict(error: &(dyn Error + 'static), classifier: &HttpClassifier) -> Verdict {
    sources(error)
        .find_map(|link| proof(link, classifier))
        .or_else(|| sources(error).find_map(of_a_transport))
        .unwrap_or(Verdict::unrecognised())
}

/// What one link proves by itself. A client's own error stands outside hyper's, and a failed connect says more than what is below it.
fn proof(link: &(dyn Error + 'static), classifier: &HttpClassifier) -> Option<Verdict> {
    if let Some(incomplete) = link.downcast_ref::<IncompleteBody>() {
        Some(of_incomplete_body(incomplete, classifier))
    } else if let Some(too_long) = link.downcast_ref::<BodyTooLong>() {
        let of_the_head = classifier.verdict_of_head(too_long.status, &too_long.headers);
        Some(of_the_head.unwrap_or(Verdict::answered()).permanent())
    } else if link.is::<Unterminated>() {
        // One stream was reset, or a connection ended in order as one of HTTP/1.0 always does: neither speaks against the handle.
        Some(Verdict::maybe_sent())
    } else if let Some(early) = link.downcast_ref::<EndedEarly>() {
        Some(of_an_early_end(early.version))
    } else if let Some(error) = link.downcast_ref::<legacy::Error>() {
        of_the_pool(error, classifier)
    } else if let Some(unanswered) = link.downcast_ref::<Unanswered>() {
        Some(hyper_verdict(&unanswered.0, classifier.intermediary.refusal()))
    } else if let Some(error) = link.downcast_ref::<hyper::Error>() {
        // It may be an error of the body of an answer.
        Some(hyper_verdict(error, Verdict::maybe_sent()))
    } else {
        reqwest::proof(link)
    }
}

/// Over HTTP/2 that is the peer's `NO_ERROR`, for one stream as a rule: h2 itself checks an end that is marked, and a lost connection is an error. (A `GOAWAY` with that
/// code, from a peer that gives up what it has begun, looks the same; the next call meets it.) In any other version the connection went under the body.
fn of_an_early_end(version: Version) -> Verdict {
    if version == Version::HTTP_2 { Verdict::maybe_sent() } else { Verdict::maybe_sent().stale() }
}

/// hyper-util's client fails by itself before the head of an answer alone; what breaks later is hyper's own error. It reports as cancelled what hyper gave
/// back to it, and nothing else.
fn of_the_pool(error: &legacy::Error, classifier: &HttpClassifier) -> Option<Verdict> {
    if error.is_connect() {
        return Some(unconnected(error));
    }
    let source = error.source()?.downcast_ref::<hyper::Error>()?;
    let is_unsent = is_unsent(source);
    Some(if is_unsent {
        Verdict::never_sent().stale()
    } else {
        hyper_verdict(source, classifier.intermediary.refusal())
    })
}

/// A head came: the peer had the request, and what ended its body cannot prove that it was not executed.
pub(super) fn of_a_head(status: StatusCode, headers: &HeaderMap, classifier: &HttpClassifier) -> Verdict {
    match classifier.verdict_of_head(status, headers) {
        Some(refused) if refused.delivery() == Some(Delivery::Refused) => refused,
        Some(stale) if status.is_success() && stale.is_stale() => Verdict::maybe_sent().stale(),
        Some(other) => other,
        None if status.is_success() => Verdict::maybe_sent(),
        None => Verdict::answered(),
    }
}

/// What ended the body says whether the handle is to blame, and nothing else.
pub(super) fn of_a_broken_body(
    of_the_head: Verdict,
    cause: &(dyn Error + 'static),
    classifier: &HttpClassifier,
) -> Verdict {
    let cause = verdict(cause, classifier);
    let is_alive = cause.delivery().is_some() && !cause.is_stale();
    if is_alive { of_the_head } else { of_the_head.stale() }
}

fn of_incomplete_body(incomplete: &IncompleteBody, classifier: &HttpClassifier) -> Verdict {
    let of_the_head = of_a_head(incomplete.status, &incomplete.headers, classifier);
    of_a_broken_body(of_the_head, incomplete.source.as_ref(), classifier)
}

/// An error of a transport's that says nothing of its place: it may have executed.
fn of_a_transport(link: &(dyn Error + 'static)) -> Option<Verdict> {
    if link.is::<io::Error>() {
        Some(Verdict::maybe_sent().stale())
    } else if link.is::<legacy::Error>() {
        // hyper-util's own refusals of a request (its version, its URI) have no source, and say nothing against the handle.
        let refused_here = link.source().is_none();
        Some(if refused_here { Verdict::maybe_sent() } else { Verdict::maybe_sent().stale() })
    } else {
        reqwest::of_a_transport(link)
    }
}
