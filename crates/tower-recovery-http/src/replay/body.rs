//! The body: bytes, or one copy of a stream.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, Full, combinators::UnsyncBoxBody};
use tower::BoxError;

use super::{RepeatableBody, in_bytes::InBytes, shared::Shared};

/// A request body that can be sent again: bytes, or any stream, of which what was sent is kept, up to a limit.
///
/// Copies of a stream share it, and what was kept. The newest copy that is polled reads: it begins with what was kept and goes on with the
/// stream, to its trailers and its end. Copies are sent with the framing of the first, so a size that was known at the start becomes a
/// `content-length` each time.
///
/// A copy is always made from the start of the body, and can be made as long as nothing was lost. **Something is lost** when a frame is
/// sent that does not fit into the limit any more, or that no other copy waits for: the last attempt of an upload keeps nothing, and lets
/// go of what it has replayed. The copy that is being sent goes on unharmed; [`is_repeatable`](RepeatableBody::is_repeatable) of all
/// others is false from then on.
///
/// Data frames become `Bytes`, whatever the stream's data are: `Bytes` themselves as they are, all else by one copy, which keeping them
/// for a second sending would need in any case. Bytes that are no stream cost nothing but a reference a copy.
///
/// A stream that is [`Send`] makes a body that is `Send` and `Sync`.
///
/// # Examples
///
/// ```
/// use http_body::Body;
/// use http_body_util::BodyExt;
/// use tower_recovery_http::{RepeatableBody, ReplayableBody, ReplayError};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// // Eleven bytes, of which ten may be kept.
/// let mut upload = ReplayableBody::new("eleven byte".to_owned(), 10);
/// let mut again = upload.try_copy().expect("nothing was sent of it");
/// assert!(again.is_repeatable(), "before anything is sent, the size does not matter");
///
/// assert_eq!(upload.frame().await.expect("all of it")?.into_data().ok().expect("data"), "eleven byte");
/// assert!(!again.is_repeatable());
/// let error = again.frame().await.expect("an error").expect_err("it is not replayable");
/// assert!(matches!(error.downcast_ref(), Some(ReplayError::NotReplayable { limit: 10 })));
/// # Ok(())
/// # }
/// ```
///
/// # Limits
///
/// The limit counts the bytes of data frames, and of the names and values of trailers. Each kept frame takes a handle of some 40 bytes
/// beside it, and one that is a slice of a larger allocation keeps the whole of that. One frame more is held, uncounted, if an older copy
/// was reading it while a newer one took over. Other kinds of frames than data and trailers are passed on, but not kept.
///
/// # Concurrent copies
///
/// A transport may hold the body of a failed attempt for some time after the retry has begun, in another thread. The older copy is woken,
/// and ends with [`TakenOver`](crate::ReplayError::TakenOver) when it is polled; the stream is never polled by two at once, nor with a lock
/// held.
///
/// # Errors
///
/// The stream's own, boxed, to the copy that is being sent; [`ReplayError`](crate::ReplayError) for a copy that was taken over, that cannot
/// be sent whole, or whose stream has failed. A stream that has ended or failed is not polled again.
///
/// # Panics
///
/// None of its own. If the stream panics, all other copies end with [`SourcePanicked`](crate::ReplayError::SourcePanicked).
#[must_use = "a body does nothing unless it is sent"]
pub struct ReplayableBody<Stream = UnsyncBoxBody<Bytes, BoxError>> {
    form: Form<Stream>,
}

enum Form<Stream> {
    Whole { data: Bytes, is_sent: bool },
    Stream(Shared<Stream>),
}

impl<Stream> ReplayableBody<Stream>
where
    Stream: Body,
    Stream::Error: Into<BoxError>,
{
    /// A stream, of which up to `limit` bytes are kept.
    pub fn new(stream: Stream, limit: usize) -> Self {
        Self { form: Form::Stream(Shared::new(stream, limit)) }
    }
}

impl ReplayableBody {
    /// A stream of any type, of which up to `limit` bytes are kept.
    pub fn boxed<Stream>(stream: Stream, limit: usize) -> Self
    where
        Stream: Body + Send + 'static,
        Stream::Error: Into<BoxError>,
    {
        Self::new(InBytes::new(stream).boxed_unsync(), limit)
    }
}

impl<Stream> Body for ReplayableBody<Stream>
where
    Stream: Body,
    Stream::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut self.form {
            Form::Whole { data, .. } if data.is_empty() => Poll::Ready(None),
            Form::Whole { data, is_sent } => {
                *is_sent = true;
                Poll::Ready(Some(Ok(Frame::data(std::mem::take(data)))))
            }
            Form::Stream(shared) => shared.poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.form {
            Form::Whole { data, .. } => data.is_empty(),
            Form::Stream(shared) => shared.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.form {
            Form::Whole { data, .. } => SizeHint::with_exact(data.len() as u64),
            Form::Stream(shared) => shared.size_hint(),
        }
    }
}

impl<Stream> RepeatableBody for ReplayableBody<Stream>
where
    Stream: Body,
    Stream::Error: Into<BoxError>,
{
    fn try_copy(&self) -> Option<Self> {
        let form = match &self.form {
            Form::Whole { is_sent: true, .. } => return None,
            Form::Whole { data, .. } => Form::Whole { data: data.clone(), is_sent: false },
            Form::Stream(shared) => Form::Stream(shared.try_copy()?),
        };
        Some(Self { form })
    }

    fn is_repeatable(&self) -> bool {
        match &self.form {
            Form::Whole { is_sent, .. } => !is_sent,
            Form::Stream(shared) => shared.is_repeatable(),
        }
    }
}

/// Empty.
impl<Stream> Default for ReplayableBody<Stream> {
    fn default() -> Self {
        Bytes::new().into()
    }
}

/// Can be sent again whatever its size, since it is in memory in any case.
impl<Stream> From<Bytes> for ReplayableBody<Stream> {
    fn from(data: Bytes) -> Self {
        Self { form: Form::Whole { data, is_sent: false } }
    }
}

impl<Stream> From<Vec<u8>> for ReplayableBody<Stream> {
    fn from(data: Vec<u8>) -> Self {
        Bytes::from(data).into()
    }
}

impl<Stream> From<String> for ReplayableBody<Stream> {
    fn from(text: String) -> Self {
        Bytes::from(text).into()
    }
}

impl<Stream> From<&'static [u8]> for ReplayableBody<Stream> {
    fn from(data: &'static [u8]) -> Self {
        Bytes::from_static(data).into()
    }
}

impl<Stream> From<&'static str> for ReplayableBody<Stream> {
    fn from(text: &'static str) -> Self {
        Bytes::from_static(text.as_bytes()).into()
    }
}

impl<Stream> From<Full<Bytes>> for ReplayableBody<Stream> {
    fn from(body: Full<Bytes>) -> Self {
        body.into_inner().unwrap_or_default().into()
    }
}

impl<Stream> fmt::Debug for ReplayableBody<Stream> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.form {
            Form::Whole { data, is_sent } => {
                formatter.debug_struct("ReplayableBody").field("length", &data.len()).field("is_sent", is_sent).finish()
            }
            Form::Stream(_) => formatter.debug_struct("ReplayableBody").finish_non_exhaustive(),
        }
    }
}
