//! Any stream, as one of `Bytes` and boxed errors.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::{Buf, Bytes};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tower::BoxError;

pin_project! {
    // Not `BodyExt::map_frame`, which forgets the size, since it cannot know that it stays the same.
    pub(super) struct InBytes<Stream> {
        #[pin]
        stream: Stream,
    }
}

impl<Stream> InBytes<Stream> {
    pub(super) fn new(stream: Stream) -> Self {
        Self { stream }
    }
}

impl<Stream> Body for InBytes<Stream>
where
    Stream: Body,
    Stream::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let polled = self.project().stream.poll_frame(context);
        polled.map(|item| {
            let frame = item?.map(|frame| frame.map_data(|mut data| data.copy_to_bytes(data.remaining())));
            Some(frame.map_err(Into::into))
        })
    }

    fn is_end_stream(&self) -> bool {
        self.stream.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.stream.size_hint()
    }
}
