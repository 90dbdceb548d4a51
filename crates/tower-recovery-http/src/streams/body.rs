//! Streams that were admitted, as bodies.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
    vec,
};

use bytes::{Buf, Bytes};
use futures_util::{Stream, stream};
use http::{Response, header, response::Parts};
use http_body::{Body, Frame};
use pin_project_lite::pin_project;
use sync_wrapper::SyncWrapper;
use tower_recovery::{
    Failure,
    stream_replacement::{Admitted, WholeStream},
};

use crate::sse::SseItem;

/// What an item is in a body.
pub trait IntoFrame {
    /// The bytes of its data.
    type Data: Buf;

    /// Whether the body is as long as the one that the items were made of.
    const KEEPS_LENGTH: bool;

    /// The frame that stands for it; `None` where it stands for nothing.
    fn into_frame(self) -> Option<Frame<Self::Data>>;
}

impl<Data: Buf> IntoFrame for Frame<Data> {
    type Data = Data;

    const KEEPS_LENGTH: bool = true;

    fn into_frame(self) -> Option<Self> {
        Some(self)
    }
}

/// A whole event with its blank line, in one frame.
impl IntoFrame for SseItem {
    type Data = Bytes;

    const KEEPS_LENGTH: bool = false;

    fn into_frame(self) -> Option<Frame<Bytes>> {
        self.into_bytes().map(Frame::data)
    }
}

pin_project! {
    /// The items of a stream as the frames of a body, for clients that read bodies.
    ///
    /// That of a stream that is still watched is not `Unpin`: `pin!` it, or `Box::pin` it, where a reader asks for that. A [`WholeBody`] is.
    ///
    /// # Cancel safety
    ///
    /// Dropping it drops the stream: what is under way is closed, and nothing more is started.
    ///
    /// # Errors
    ///
    /// Those of the stream, as they are.
    pub struct AdmittedBody<Items> {
        // Polled by one owner alone, whatever its probe and its attempts are: clients ask for bodies that can be shared.
        #[pin]
        items: SyncWrapper<Items>,
    }
}

/// A stream that came whole, as a body.
pub type WholeBody<Item> = AdmittedBody<stream::Iter<Wholly<Item>>>;

type Wholly<Item> = std::iter::Map<vec::IntoIter<Item>, fn(Item) -> Result<Item, Failure>>;

impl<Items> AdmittedBody<Items> {
    /// The response with its items for a body. Its extensions hold the [report](tower_recovery::stream_replacement::StreamReport) of the attempts
    /// until then.
    pub fn of<Item>(admitted: Admitted<Parts, Items>) -> Response<Self>
    where
        Items: Stream<Item = Result<Item, Failure>>,
        Item: IntoFrame,
    {
        let Admitted { head, items, report, .. } = admitted;
        Self::with(head, items, report)
    }

    fn with<Item>(
        mut head: Parts,
        items: Items,
        report: tower_recovery::stream_replacement::StreamReport,
    ) -> Response<Self>
    where
        Items: Stream<Item = Result<Item, Failure>>,
        Item: IntoFrame,
    {
        if !Item::KEEPS_LENGTH {
            head.headers.remove(header::CONTENT_LENGTH);
        }
        head.extensions.insert(report);
        Response::from_parts(head, Self { items: SyncWrapper::new(items) })
    }
}

impl<Item: IntoFrame> WholeBody<Item> {
    /// The response with its items for a body. Its extensions hold the [report](tower_recovery::stream_replacement::StreamReport) of the attempts.
    pub fn of_whole(whole: WholeStream<Parts, Item>) -> Response<Self> {
        let WholeStream { head, items, report, .. } = whole;
        let items: Wholly<Item> = items.into_iter().map(Ok);
        Self::with(head, stream::iter(items), report)
    }
}

impl<Items, Item> Body for AdmittedBody<Items>
where
    Items: Stream<Item = Result<Item, Failure>>,
    Item: IntoFrame,
{
    type Data = Item::Data;
    type Error = Failure;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Item::Data>, Failure>>> {
        let mut items = self.project().items.get_pin_mut();
        loop {
            match ready!(items.as_mut().poll_next(context)) {
                Some(Ok(item)) => {
                    if let Some(frame) = item.into_frame() {
                        return Poll::Ready(Some(Ok(frame)));
                    }
                }
                Some(Err(failure)) => return Poll::Ready(Some(Err(failure))),
                None => return Poll::Ready(None),
            }
        }
    }
}

impl<Items> fmt::Debug for AdmittedBody<Items> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AdmittedBody").finish_non_exhaustive()
    }
}
