//! A body that is as long as its head promised, or an error.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Buf;
use http::{StatusCode, header, response::Parts};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tower::BoxError;

use super::EndedEarly;

pin_project! {
    /// Ends with [`EndedEarly`] where the body ends cleanly before its promised length.
    pub struct Whole<Inner> {
        #[pin]
        body: Inner,
        // `None` where nothing was promised, and after the end.
        promised: Option<u64>,
        received: u64,
    }
}

impl<Inner> Whole<Inner> {
    pub(super) fn new(body: Inner, promised: Option<u64>) -> Self {
        Self { body, promised, received: 0 }
    }
}

impl<Inner> Body for Whole<Inner>
where
    Inner: Body,
    Inner::Error: Into<BoxError>,
{
    type Data = Inner::Data;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Inner::Data>, BoxError>>> {
        let this = self.project();
        Poll::Ready(match ready!(this.body.poll_frame(context)) {
            Some(Ok(frame)) => {
                *this.received += frame.data_ref().map_or(0, |data| data.remaining() as u64);
                Some(Ok(frame))
            }
            Some(Err(error)) => Some(Err(error.into())),
            None => {
                let short = this.promised.take().filter(|promised| *this.received < *promised);
                short.map(|promised| Err(EndedEarly { received: *this.received, promised }.into()))
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.promised.is_none_or(|promised| self.received >= promised) && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<Inner> fmt::Debug for Whole<Inner> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Whole")
            .field("promised", &self.promised)
            .field("received", &self.received)
            .finish_non_exhaustive()
    }
}

/// How long the head says that the body is, where there is to be one (RFC 9110 §6.4.1, §8.6). Several equal values are one.
pub(crate) fn promised_length(parts: &Parts, is_head: bool) -> Option<u64> {
    let has_none = matches!(parts.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    if is_head || has_none || parts.headers.contains_key(header::TRANSFER_ENCODING) {
        return None;
    }
    let text = parts.headers.get(header::CONTENT_LENGTH)?.to_str().ok()?;
    text.split(',').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures_util::{FutureExt, stream};
    use http::Response;
    use http_body_util::{BodyExt, Empty, Full, StreamBody};

    use super::*;

    /// A body in two parts that never knows beforehand that it is at its end.
    fn in_parts(promised: Option<u64>) -> Whole<impl Body<Data = Bytes, Error = BoxError> + Unpin> {
        let parts = ["ab", "cde"].map(|part| Ok(Frame::data(Bytes::from_static(part.as_bytes()))));
        Whole::new(StreamBody::new(stream::iter(parts)), promised)
    }

    fn collected(body: Whole<impl Body<Data = Bytes, Error = BoxError>>) -> Result<Bytes, EndedEarly> {
        let collected = body.collect().now_or_never().unwrap();
        collected.map(|whole| whole.to_bytes()).map_err(|error| *error.downcast::<EndedEarly>().unwrap())
    }

    #[test]
    fn a_body_ends_early_only_below_its_promised_length() {
        for promised in [None, Some(0), Some(4), Some(5)] {
            assert_eq!(collected(in_parts(promised)).unwrap(), "abcde", "{promised:?}");
        }
        assert_eq!(collected(in_parts(Some(6))), Err(EndedEarly { received: 5, promised: 6 }));
    }

    #[test]
    fn a_body_is_at_its_end_once_it_is_whole_and_says_so() {
        let mut whole = Whole::new(Full::<Bytes>::from("abc"), Some(3));
        assert_eq!((whole.is_end_stream(), whole.size_hint().exact()), (false, Some(3)));
        assert!(whole.frame().now_or_never().unwrap().unwrap().is_ok());
        assert!(whole.is_end_stream());

        let empty = |promised| Whole::new(Empty::<Bytes>::new(), promised);
        assert!(empty(None).is_end_stream() && empty(Some(0)).is_end_stream());
        assert!(!empty(Some(1)).is_end_stream(), "its end is an error, which is to be polled for");
        assert!(!in_parts(None).is_end_stream(), "nobody knows");
    }

    fn promised(status: u16, headers: &[(&str, &str)], is_head: bool) -> Option<u64> {
        let mut response = Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        promised_length(&response.body(()).unwrap().into_parts().0, is_head)
    }

    #[test]
    fn a_length_is_promised_where_there_is_to_be_a_body() {
        let length = [("content-length", "1064")];
        assert_eq!(promised(200, &length, false), Some(1064));
        assert_eq!(promised(404, &length, false), Some(1064));
        assert_eq!(promised(200, &[("content-length", "7, 7")], false), Some(7));
        assert_eq!(promised(200, &length, true), None, "a HEAD has none");
        assert_eq!(promised(204, &length, false), None);
        assert_eq!(promised(304, &length, false), None);
        assert_eq!(promised(200, &[("content-length", "7"), ("transfer-encoding", "chunked")], false), None);
        assert_eq!(promised(200, &[("content-length", "seven")], false), None);
        assert_eq!(promised(200, &[], false), None);
    }
}
