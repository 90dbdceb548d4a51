//! The layer.

use tower_layer::Layer;

use super::Collect;
use crate::body_end::Trust;

/// Collects the body of a unary answer inside its attempt. See the [module documentation](super).
#[derive(Clone, Copy, Debug)]
pub struct CollectLayer {
    limit: usize,
    trust: Trust,
}

impl CollectLayer {
    /// Bodies of up to `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { limit, trust: TRUST }
    }

    /// Any body without a length is whole when it ends without an error. Say it where something below this layer changes bodies, and hides how they end: there
    /// every body of HTTP/2 without a length would be an [`IncompleteBody`](crate::IncompleteBody).
    #[must_use]
    pub fn trust_clean_ends(self) -> Self {
        self.trusting(Trust::CleanEnds)
    }

    /// Takes nothing back.
    pub(crate) fn trusting(mut self, trust: Trust) -> Self {
        self.trust = self.trust.max(trust);
        self
    }
}

/// Servers of HTTP/1.0 and some proxies delimit every answer by the end of its connection: a unary call would have none from them.
pub(super) const TRUST: Trust = Trust::CloseDelimited;

impl<Inner> Layer<Inner> for CollectLayer {
    type Service = Collect<Inner>;

    fn layer(&self, inner: Inner) -> Self::Service {
        Collect::new(inner, self.limit).trusting(self.trust)
    }
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, future::ready};

    use bytes::Bytes;
    use futures_util::{FutureExt, stream};
    use http::{Request, Response, StatusCode, Version};
    use http_body::Frame;
    use http_body_util::StreamBody;
    use tower::{ServiceExt, service_fn};

    use super::*;
    use crate::{EndedEarly, IncompleteBody, Unterminated};

    /// What the layer makes of a body of four bytes that does not know its end.
    fn collected(layer: CollectLayer, version: Version, length: Option<u64>) -> Result<Bytes, tower::BoxError> {
        let client = service_fn(move |_: Request<()>| {
            let part = Ok::<_, Infallible>(Frame::data(Bytes::from_static(b"part")));
            let mut answer = Response::builder().version(version).status(StatusCode::CREATED);
            if let Some(length) = length {
                answer = answer.header("content-length", length);
            }
            ready(answer.body(StreamBody::new(stream::iter([part]))))
        });
        let outcome = layer.layer(client).oneshot(Request::new(())).now_or_never().unwrap();
        outcome.map(|whole| whole.into_body().to_bytes())
    }

    #[test]
    fn a_clean_end_without_a_length_is_believed_over_http1_and_elsewhere_where_it_is_trusted() {
        let strict = CollectLayer::new(4);
        for (layer, version) in [
            (strict, Version::HTTP_10),
            (strict, Version::HTTP_11),
            (strict.trust_clean_ends(), Version::HTTP_11),
            (strict.trust_clean_ends(), Version::HTTP_2),
        ] {
            assert_eq!(collected(layer, version, None).unwrap(), "part", "{layer:?}, {version:?}");
        }
        let incomplete = collected(strict, Version::HTTP_2, None).unwrap_err().downcast::<IncompleteBody>().unwrap();
        assert!(incomplete.status == StatusCode::CREATED && incomplete.source.is::<Unterminated>(), "{incomplete:?}");
    }

    #[test]
    fn a_length_counts_whatever_is_trusted() {
        for version in [Version::HTTP_11, Version::HTTP_2] {
            let layer = CollectLayer::new(5).trust_clean_ends();
            assert_eq!(collected(layer, version, Some(4)).unwrap(), "part");
            let incomplete = collected(layer, version, Some(5)).unwrap_err().downcast::<IncompleteBody>().unwrap();
            let early = incomplete.source.downcast_ref::<EndedEarly>().unwrap();
            assert_eq!((early.received, early.promised, early.version), (4, 5, version));
        }
    }
}
