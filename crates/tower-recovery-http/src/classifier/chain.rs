//! The one walk along the chain of an error, for every client.

use std::{error::Error, io};

use hyper_util::client::legacy;
use tower_recovery::{Verdict, sources};

use super::{
    Intermediary, reqwest,
    transport::{hyper_verdict, unconnected},
};
use crate::{BodyTooLong, IncompleteBody};

/// What an error proves: by its outermost link that proves something. What lies below was already weighed by whoever made that link: a
/// failed body of the request is hyper's user error, whatever went wrong inside of it.
pub(super) fn verdict(error: &(dyn Error + 'static), peer: Intermediary) -> Verdict {
    sources(error)
        .find_map(|link| proof(link, peer))
        .or_else(|| sources(error).find_map(of_a_transport))
        .unwrap_or(Verdict::unrecognised())
}

/// What one link proves by itself. A client's own error stands outside hyper's, and a failed connect says more than what is below it.
fn proof(link: &(dyn Error + 'static), peer: Intermediary) -> Option<Verdict> {
    if let Some(incomplete) = link.downcast_ref::<IncompleteBody>() {
        Some(of_incomplete_body(incomplete, peer))
    } else if link.is::<BodyTooLong>() {
        Some(Verdict::answered().permanent())
    } else if let Some(error) = link.downcast_ref::<legacy::Error>() {
        error.is_connect().then(|| unconnected(error))
    } else if let Some(error) = link.downcast_ref::<hyper::Error>() {
        Some(hyper_verdict(error, peer))
    } else {
        reqwest::proof(link)
    }
}

/// A head came. What ended its body says whether the handle is to blame, and nothing else: the peer had the request.
fn of_incomplete_body(incomplete: &IncompleteBody, peer: Intermediary) -> Verdict {
    let cause = verdict(incomplete.source.as_ref(), peer);
    let is_alive = cause.delivery().is_some() && !cause.is_stale();
    let of_the_head = if incomplete.status.is_success() {
        Verdict::maybe_sent()
    } else {
        peer.verdict_of_status(incomplete.status).unwrap_or(Verdict::answered())
    };
    if is_alive { of_the_head } else { of_the_head.stale() }
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
