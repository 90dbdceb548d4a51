//! What HTTP/1 over hyper-util can show, and what it proves.

use std::{error::Error, io};

use http::{Response, StatusCode};
use hyper_util::client::legacy;
use tower_recovery::{Classify, Verdict, sources};

use crate::{BodyTooLong, IncompleteBody};

/// Says what an error or a response of HTTP/1 over hyper-util proves.
///
/// | what is seen | what it proves |
/// |---|---|
/// | no connection: refused, timed out, name unknown | never sent; indicts the handle |
/// | hyper gave the request back: cancelled, connection closed before | never sent; indicts the handle |
/// | any other transport error, an `io::Error` anywhere in the chain included: closed, reset, half a head, garbage | maybe sent; indicts the handle |
/// | hyper-util itself refuses the request, without a source | maybe sent |
/// | a 2xx head whose body is short | maybe sent; indicts the handle |
/// | status 421 (RFC 9110 §15.5.20) | refused; indicts the handle, since another connection is asked for |
/// | status 425 (RFC 8470 §5.2) | refused |
/// | any other status, 502, 503, 504, 408 and 429 included | answered |
/// | any error that is not the transport's | not recognised |
///
/// A failed request body, which is the caller's, is maybe sent and indicts nobody.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct HttpClassifier;

impl HttpClassifier {
    /// The classifier for a peer that is reached directly, with no intermediary.
    #[must_use]
    pub fn new() -> Self {
        Self
    }
}

impl<ResponseBody> Classify<Response<ResponseBody>> for HttpClassifier {
    fn response(&self, response: &Response<ResponseBody>) -> Option<Verdict> {
        match response.status() {
            StatusCode::MISDIRECTED_REQUEST => Some(Verdict::refused().stale()),
            StatusCode::TOO_EARLY => Some(Verdict::refused()),
            _ => None,
        }
    }

    fn error(&self, error: &(dyn Error + 'static)) -> Verdict {
        sources(error).find_map(proof).or_else(|| transport(error)).unwrap_or(Verdict::unrecognised())
    }
}

/// What one link of the chain proves by itself. hyper-util's error stands outside hyper's, and a failed connect says more than what is below it.
fn proof(link: &(dyn Error + 'static)) -> Option<Verdict> {
    if let Some(incomplete) = link.downcast_ref::<IncompleteBody>() {
        let verdict = if incomplete.status.is_success() { Verdict::maybe_sent() } else { Verdict::answered() };
        Some(verdict.stale())
    } else if link.is::<BodyTooLong>() {
        Some(Verdict::answered().permanent())
    } else if let Some(error) = link.downcast_ref::<legacy::Error>() {
        error.is_connect().then(|| Verdict::never_sent().stale())
    } else if let Some(error) = link.downcast_ref::<hyper::Error>() {
        hyper_proof(error)
    } else {
        None
    }
}

fn hyper_proof(error: &hyper::Error) -> Option<Verdict> {
    if error.is_canceled() || error.is_closed() {
        // Every place that cancels a request still has it, and a closed connection takes none. (An upgrade that is cancelled is awaited after
        // the answer, which no handle of this crate does.)
        Some(Verdict::never_sent().stale())
    } else if error.is_user() {
        // The request's own body failed, after an unknown part of it was sent. The handle did nothing wrong.
        Some(Verdict::maybe_sent())
    } else {
        Some(Verdict::maybe_sent().stale())
    }
}

/// An error of the transport's that says nothing of its place: it may have executed.
fn transport(error: &(dyn Error + 'static)) -> Option<Verdict> {
    let is_transport = |link: &(dyn Error + 'static)| link.is::<legacy::Error>() || link.is::<io::Error>();
    let link = sources(error).find(|link| is_transport(*link))?;
    // hyper-util's own refusals of a request (its version, its URI) have no source, and say nothing against the handle.
    let refused_here = link.is::<legacy::Error>() && link.source().is_none();
    Some(if refused_here { Verdict::maybe_sent() } else { Verdict::maybe_sent().stale() })
}
