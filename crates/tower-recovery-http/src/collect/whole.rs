//! A body that is whole, or an error.

use std::{
    fmt, mem,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Buf;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tower::BoxError;

use crate::body_end::Awaited;

pin_project! {
    /// Ends with an error where the body ends cleanly and this proves no end: see [`body_end`](crate::body_end).
    pub struct Whole<Inner> {
        #[pin]
        body: Inner,
        // Nothing after the end.
        awaited: Awaited,
        received: u64,
    }
}

impl<Inner> Whole<Inner> {
    pub(crate) fn new(body: Inner, awaited: Awaited) -> Self {
        Self { body, awaited, received: 0 }
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
        let mut this = self.project();
        Poll::Ready(match ready!(this.body.as_mut().poll_frame(context)) {
            Some(Ok(frame)) => {
                *this.received += frame.data_ref().map_or(0, |data| data.remaining() as u64);
                Some(Ok(frame))
            }
            Some(Err(error)) => Some(Err(error.into())),
            None => {
                let awaited = mem::replace(this.awaited, Awaited::Nothing);
                awaited.missing(*this.received, this.body.is_end_stream()).map(Err)
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.awaited.may_end(self.received) && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<Inner> fmt::Debug for Whole<Inner> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Whole")
            .field("awaited", &self.awaited)
            .field("received", &self.received)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures_util::{FutureExt, stream};
    use http::Version;
    use http_body_util::{BodyExt, Empty, Full, StreamBody};

    use super::*;
    use crate::{EndedEarly, UnprovenEnd, Unterminated};

    const MARK: Awaited = Awaited::Mark(UnprovenEnd::Reset);

    fn length(promised: u64) -> Awaited {
        Awaited::Length(promised, Version::HTTP_2)
    }

    /// A body in two parts that never knows that it is at its end.
    fn in_parts(awaited: Awaited) -> Whole<impl Body<Data = Bytes, Error = BoxError> + Unpin> {
        let parts = ["ab", "cde"].map(|part| Ok(Frame::data(Bytes::from_static(part.as_bytes()))));
        Whole::new(StreamBody::new(stream::iter(parts)), awaited)
    }

    fn collected(body: Whole<impl Body<Data = Bytes, Error = impl Into<BoxError>>>) -> Result<Bytes, BoxError> {
        let collected = body.collect().now_or_never().unwrap();
        collected.map(|whole| whole.to_bytes())
    }

    #[test]
    fn a_body_ends_early_only_below_its_promised_length() {
        for awaited in [Awaited::Nothing, length(0), length(4), length(5)] {
            assert_eq!(collected(in_parts(awaited)).unwrap(), "abcde", "{awaited:?}");
        }
        let error = collected(in_parts(length(6))).unwrap_err();
        let early = EndedEarly { received: 5, promised: 6, version: Version::HTTP_2 };
        assert_eq!(error.downcast_ref(), Some(&early));
    }

    #[test]
    fn an_end_that_is_to_be_marked_is_one_only_with_its_mark() {
        assert_eq!(collected(Whole::new(Full::<Bytes>::from("abc"), MARK)).unwrap(), "abc");
        let error = collected(in_parts(MARK)).unwrap_err();
        assert_eq!(error.downcast_ref(), Some(&Unterminated { received: 5, end: UnprovenEnd::Reset }));
    }

    #[test]
    fn after_its_error_a_body_has_ended() {
        for awaited in [length(6), MARK] {
            let mut body = in_parts(awaited);
            let frames = [(); 4].map(|()| body.frame().now_or_never().unwrap().map(|frame| frame.is_ok()));
            assert_eq!(frames, [Some(true), Some(true), Some(false), None], "{awaited:?}");
        }
    }

    #[test]
    fn a_body_is_at_its_end_once_it_is_whole_and_says_so() {
        let mut whole = Whole::new(Full::<Bytes>::from("abc"), length(3));
        assert_eq!((whole.is_end_stream(), whole.size_hint().exact()), (false, Some(3)));
        assert!(whole.frame().now_or_never().unwrap().unwrap().is_ok());
        assert!(whole.is_end_stream());

        let empty = |awaited| Whole::new(Empty::<Bytes>::new(), awaited);
        assert!(empty(Awaited::Nothing).is_end_stream() && empty(length(0)).is_end_stream());
        assert!(empty(MARK).is_end_stream(), "that is the mark");
        assert!(!empty(length(1)).is_end_stream(), "its end is an error, which is to be polled for");
        assert!(!in_parts(Awaited::Nothing).is_end_stream(), "nobody knows");
    }
}
