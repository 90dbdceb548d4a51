//! What stream replacement must know of a body.

use std::error::Error;

use bytes::Buf;
use futures_util::{TryStreamExt, stream::ErrInto};
use http::{HeaderMap, Response, response::Parts};
use http_body::{Body, Frame};
use http_body_util::BodyStream;
use tower::BoxError;
use tower_recovery::{
    Delivery, Verdict,
    stream_replacement::{Sight, StreamRules},
};

use crate::HttpClassifier;

/// What stream replacement must know of an HTTP response whose body is the stream: its items are the frames of the body, its data and its trailers.
///
/// A status that is no success is a verdict. A clean end is complete: [`StreamedLayer`](crate::StreamedLayer), which belongs below, has made an error of each
/// that is not proven. Where the data has an end of its own, such as a last event, rules that read it know better.
///
/// # Examples
///
/// ```
/// use tower_recovery_http::{BodyRules, HttpClassifier};
///
/// // The classifier of the stack below.
/// let rules = BodyRules::new(HttpClassifier::new());
/// # let _ = rules;
/// ```
#[derive(Clone, Debug, Default)]
pub struct BodyRules {
    classifier: HttpClassifier,
}

impl BodyRules {
    /// Rules that ask this classifier about the error of a body that is no [`StreamedBody`](crate::StreamedBody), which says itself what its error proves.
    #[must_use]
    pub fn new(classifier: HttpClassifier) -> Self {
        Self { classifier }
    }
}

impl<ResponseBody> StreamRules<Response<ResponseBody>> for BodyRules
where
    ResponseBody: Body + Unpin,
    ResponseBody::Error: Into<BoxError>,
{
    type Head = Parts;
    type Item = Frame<ResponseBody::Data>;
    type Items = ErrInto<BodyStream<ResponseBody>, BoxError>;

    fn is_verdict(&self, response: &Response<ResponseBody>) -> bool {
        !response.status().is_success()
    }

    fn open(&mut self, response: Response<ResponseBody>) -> (Parts, Self::Items) {
        let (head, body) = response.into_parts();
        (head, BodyStream::new(body).err_into())
    }

    /// An empty frame of data, which HTTP/2 can send, is a sign of life and no more.
    fn look(&mut self, frame: &Frame<ResponseBody::Data>) -> Sight {
        if frame.data_ref().is_some_and(|data| !data.has_remaining()) { Sight::KeepAlive } else { Sight::Content }
    }

    fn is_complete(&self) -> bool {
        true
    }

    /// A head has come, so nothing that ends the body can prove that the request was not executed: an error about another connection may stand in its chain.
    fn broken_by(&self, error: &(dyn Error + 'static)) -> Verdict {
        let verdict = self.classifier.verdict_of_error(error);
        match (verdict.delivery().is_some_and(Delivery::is_send_side), verdict.is_stale()) {
            (false, _) => verdict,
            (true, false) => Verdict::maybe_sent(),
            (true, true) => Verdict::maybe_sent().stale(),
        }
    }

    fn bytes(&self, frame: &Frame<ResponseBody::Data>) -> u64 {
        let length = match (frame.data_ref(), frame.trailers_ref()) {
            (Some(data), _) => data.remaining(),
            (None, Some(trailers)) => length(trailers),
            (None, None) => 0,
        };
        length as u64
    }
}

fn length(trailers: &HeaderMap) -> usize {
    trailers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum()
}

#[cfg(test)]
mod tests {
    use std::io;

    use bytes::Bytes;
    use futures_util::{FutureExt, StreamExt};
    use http::{HeaderName, HeaderValue};
    use http_body_util::{BodyExt, Full};
    use tower_recovery::Failure;

    use super::*;
    use crate::{IncompleteBody, UnprovenEnd, Unterminated};

    type Of = Response<Full<Bytes>>;

    fn rules() -> impl StreamRules<Of, Head = Parts, Item = Frame<Bytes>> {
        BodyRules::default()
    }

    fn trailers() -> Frame<Bytes> {
        let trailer = |value| (HeaderName::from_static("x-sum"), HeaderValue::from_static(value));
        let mut trailers = HeaderMap::from_iter([trailer("7")]);
        trailers.extend([trailer("12")]);
        Frame::trailers(trailers)
    }

    #[test]
    fn every_status_but_a_success_is_a_verdict() {
        let of = |status: u16| Response::builder().status(status).body(Full::default()).unwrap();
        for status in [200, 201, 204, 206, 299] {
            assert!(!rules().is_verdict(&of(status)), "{status}");
        }
        for status in [101, 301, 304, 404, 416, 500, 503] {
            assert!(rules().is_verdict(&of(status)), "{status}");
        }
    }

    #[test]
    fn data_and_trailers_are_content_and_are_measured() {
        for (frame, sight, bytes) in [
            (Frame::data(Bytes::from_static(b"part")), Sight::Content, 4),
            (Frame::data(Bytes::new()), Sight::KeepAlive, 0),
            (trailers(), Sight::Content, 13),
            (Frame::trailers(HeaderMap::new()), Sight::Content, 0),
        ] {
            assert_eq!((rules().look(&frame), rules().bytes(&frame)), (sight, bytes), "{frame:?}");
        }
        assert!(rules().is_complete());
    }

    #[test]
    fn a_response_is_taken_apart_into_its_head_and_its_frames() {
        let body = Full::new(Bytes::from_static(b"whole"))
            .with_trailers(async { trailers().into_trailers().ok().map(Ok) })
            .boxed_unsync();
        let (head, frames) = BodyRules::default().open(Response::builder().status(206).body(body).unwrap());
        let frames: Vec<_> = frames.map(Result::unwrap).collect().now_or_never().unwrap();
        assert_eq!((head.status.as_u16(), frames.len()), (206, 2));
        assert_eq!(frames[0].data_ref().unwrap(), "whole");
        assert_eq!(frames[1].trailers_ref().unwrap().len(), 2);
    }

    #[test]
    fn an_error_proves_at_the_most_that_the_request_may_have_been_executed() {
        let verdict = |error: &(dyn Error + 'static)| {
            let verdict = StreamRules::<Of>::broken_by(&BodyRules::default(), error);
            (verdict.delivery(), verdict.is_stale())
        };
        assert_eq!(verdict(&io::Error::from(io::ErrorKind::ConnectionReset)), (Some(Delivery::MaybeSent), true));
        assert_eq!(verdict(&*BoxError::from("foreign")), (None, false));
        let unproven = Unterminated { received: 4, end: UnprovenEnd::Reset };
        assert_eq!(verdict(&unproven), (Some(Delivery::MaybeSent), false));
        let status = http::StatusCode::MISDIRECTED_REQUEST;
        let of_another = IncompleteBody { status, headers: HeaderMap::new(), source: "cut".into() };
        assert_eq!(
            verdict(&of_another),
            (Some(Delivery::MaybeSent), true),
            "a refusal by a head that is not this one's"
        );
        let unanswered = Failure::new(Verdict::never_sent(), "of another call");
        assert_eq!(verdict(&unanswered), (None, false), "a failure is the layer's to find");
    }
}
