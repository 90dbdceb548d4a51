//! The trait, and bodies that are whole in memory.

use bytes::Buf;
use http_body::Body;
use http_body_util::{Empty, Full};

/// How a request body is sent again.
///
/// A copy is made before the body is sent, and kept. If the attempt fails, the copy is asked whether it still
/// [is repeatable](Self::is_repeatable), and sent; before that, a copy of the copy is made for the attempt after it.
///
/// # Examples
///
/// A body of one's own, which reads a file's mapped memory and can always be sent again:
///
/// ```
/// use std::{convert::Infallible, pin::Pin, task::{Context, Poll}};
/// use bytes::Bytes;
/// use http_body::{Body, Frame};
/// use tower_recovery_http::RepeatableBody;
///
/// struct Mapped { file: Bytes, sent: bool }
///
/// impl Body for Mapped {
///     type Data = Bytes;
///     type Error = Infallible;
///
///     fn poll_frame(
///         mut self: Pin<&mut Self>,
///         _: &mut Context<'_>,
///     ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
///         let unsent = !std::mem::replace(&mut self.sent, true);
///         Poll::Ready(unsent.then(|| Ok(Frame::data(self.file.clone()))))
///     }
/// }
///
/// impl RepeatableBody for Mapped {
///     fn try_copy(&self) -> Option<Self> {
///         Some(Self { file: self.file.clone(), sent: false })
///     }
/// }
/// ```
///
/// # Limits
///
/// The bodies of `http-body-util` and `String` do not know whether something was read of them: they must be copied before they are
/// polled, or their copies lack what was read.
pub trait RepeatableBody: Body + Sized {
    /// A body to be sent, from its start, if the attempt with this one fails; `None` if there can be none.
    fn try_copy(&self) -> Option<Self>;

    /// Asked of a kept copy right before it is sent: whether it still holds, or can still get, the whole body.
    fn is_repeatable(&self) -> bool {
        true
    }
}

/// As cheap as a clone of the data, which for `Bytes` is a reference.
impl<Data: Buf + Clone> RepeatableBody for Full<Data> {
    fn try_copy(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<Data: Buf> RepeatableBody for Empty<Data> {
    fn try_copy(&self) -> Option<Self> {
        Some(*self)
    }
}

/// Copies the text: [`ReplayableBody`](crate::ReplayableBody) and `Full<Bytes>` made from it share theirs.
impl RepeatableBody for String {
    fn try_copy(&self) -> Option<Self> {
        Some(self.clone())
    }
}
