//! What a response or an error of HTTP proves.

mod answer_rule;
mod chain;
mod intermediary;
mod reqwest;
mod transport;

use std::{error::Error, sync::Arc};

use http::{HeaderMap, Response, StatusCode};
use tower_recovery::{Classify, Verdict};

pub(crate) use self::transport::unconnected;
pub use self::{answer_rule::AnswerRule, intermediary::Intermediary};

/// Says what an error or a response of HTTP proves, over every client of this crate: hyper's connections, hyper-util's legacy client, reqwest.
///
/// | what is seen | what it proves |
/// |---|---|
/// | no connection: refused, timed out, name unknown, TLS handshake cut off | never sent; indicts the handle |
/// | no connection: a certificate, or what the two sides speak, is not accepted | never sent, and permanent; indicts the handle |
/// | hyper-util or reqwest: hyper gave the request back, cancelled or its connection closed before | never sent; indicts the handle |
/// | HTTP/2 `REFUSED_STREAM` before the head, from the peer (RFC 9113 §8.7), as a handle of this crate tells it | refused; maybe sent behind an [`Intermediary`] |
/// | any other reset of an HTTP/2 stream by the peer | maybe sent |
/// | HTTP/2 `GOAWAY`, whatever its last stream and reason | maybe sent; indicts the handle, except `ENHANCE_YOUR_CALM` |
/// | any other transport error, an `io::Error` anywhere in the chain included: closed, reset, half a head, garbage | maybe sent; indicts the handle |
/// | the client itself refuses the request: a builder's error of reqwest | never sent, and permanent |
/// | hyper-util itself refuses the request, without a source | maybe sent |
/// | a 2xx head whose body is short | maybe sent; indicts the handle where the transport did |
/// | any other head whose body is short | what the status proves; indicts the handle where the transport did |
/// | a body whose clean end is not proven, see [`Unterminated`](crate::Unterminated) | what its head proves, as above; indicts nobody |
/// | a body that ends cleanly below its length, see [`EndedEarly`](crate::EndedEarly) | what its head proves, as above; indicts the handle, but not over HTTP/2, where one stream was reset |
/// | status 421 (RFC 9110 §15.5.20) | refused; indicts the handle, since another connection is asked for |
/// | status 425 (RFC 8470 §5.2) | refused |
/// | 421 and 425 behind an [`Intermediary`] | answered; 421 indicts the handle |
/// | an answer that a rule of the user's matches | what the rule says |
/// | any other status, 502, 503, 504, 408 and 429 included | answered |
/// | any error that is not the transport's | not recognised |
///
/// A bare error of hyper's proves nothing of the kind: an upgrade that is cancelled after the answer says "cancelled", too, and a stream can be refused after
/// its answer has begun. A handle of your own that knows better says so by a [`Failure`](tower_recovery::Failure), as
/// [`ConnectionHandle`](crate::ConnectionHandle) does for what it gets back.
///
/// A failed request body, which is the caller's, is maybe sent and indicts nobody. hyper does not say whether a GOAWAY came before or
/// after the request was sent, nor which streams were above its last one: so it is never proof.
///
/// # Examples
///
/// ```
/// use http::StatusCode;
/// use tower_recovery_http::{AnswerRule, HttpClassifier, Intermediary};
///
/// let classifier = HttpClassifier::new()
///     .behind(Intermediary::Present)
///     .refused_if(AnswerRule::finagle_nack())
///     .stale_if(AnswerRule::status(StatusCode::SERVICE_UNAVAILABLE).with_header(http::HeaderName::from_static("x-leaving")));
/// # let _ = classifier;
/// ```
#[derive(Clone, Debug, Default)]
pub struct HttpClassifier {
    intermediary: Intermediary,
    // Shared, because every attempt has its classifier. Most have no rules.
    rules: Option<Arc<Rules>>,
}

#[derive(Clone, Debug, Default)]
struct Rules {
    refused_if: Vec<AnswerRule>,
    stale_if: Vec<AnswerRule>,
}

impl HttpClassifier {
    /// The classifier for a peer that is reached directly, with no rules of the user's.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether somebody stands between this client and the server that executes its requests.
    #[must_use]
    pub fn behind(mut self, intermediary: Intermediary) -> Self {
        self.intermediary = intermediary;
        self
    }

    /// An answer like this one says that the request was not processed: it is repeated, up to the bounds of the call, and goes out as it
    /// is if nothing comes of that. Behind an intermediary too: the user's word counts.
    #[must_use]
    pub fn refused_if(mut self, rule: AnswerRule) -> Self {
        self.rules_mut().refused_if.push(rule);
        self
    }

    /// An answer like this one says that the next request had better go elsewhere: the handle is evicted, and the answer goes out.
    #[must_use]
    pub fn stale_if(mut self, rule: AnswerRule) -> Self {
        self.rules_mut().stale_if.push(rule);
        self
    }

    fn rules_mut(&mut self) -> &mut Rules {
        Arc::make_mut(self.rules.get_or_insert_default())
    }

    /// What an error proves. The same for every type of response.
    pub(crate) fn verdict_of_error(&self, error: &(dyn Error + 'static)) -> Verdict {
        chain::verdict(error, self)
    }

    /// What a broken body proves at the most, by its head.
    pub(crate) fn verdict_of_headed(&self, status: StatusCode, headers: &HeaderMap) -> Verdict {
        chain::of_a_head(status, headers, self)
    }

    /// What a body proves that broke like this.
    pub(crate) fn verdict_of_broken_body(&self, of_the_head: Verdict, cause: &(dyn Error + 'static)) -> Verdict {
        chain::of_a_broken_body(of_the_head, cause, self)
    }

    /// What a head proves, if it is more than an answer.
    pub(crate) fn verdict_of_head(&self, status: StatusCode, headers: &HeaderMap) -> Option<Verdict> {
        let by_status = self.intermediary.verdict_of_status(status);
        let Some(rules) = &self.rules else { return by_status };
        let any = |rules: &[AnswerRule]| rules.iter().any(|rule| rule.matches(status, headers));
        let by_rule = any(&rules.refused_if).then(Verdict::refused);
        let verdict = by_rule.or(by_status);
        if any(&rules.stale_if) { Some(verdict.unwrap_or(Verdict::answered()).stale()) } else { verdict }
    }
}

impl<ResponseBody> Classify<Response<ResponseBody>> for HttpClassifier {
    fn response(&self, response: &Response<ResponseBody>) -> Option<Verdict> {
        self.verdict_of_head(response.status(), response.headers())
    }

    fn error(&self, error: &(dyn Error + 'static)) -> Verdict {
        self.verdict_of_error(error)
    }
}

#[cfg(test)]
mod tests;
