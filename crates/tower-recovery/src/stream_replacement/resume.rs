//! Asking for the rest.

use std::borrow::Cow;

/// How the rest of a stream is asked for, and how what comes is told from something else.
///
/// The layer clones it for each call, tells it of each item before that is handed out, and asks it when the stream broke. It is not trusted that the other side
/// resumes: what it answers is checked against what was handed out, and what does not fit is never handed out.
pub trait Resume<Request, Head, Item>: Clone {
    /// The first attempt's head, before anything is handed out.
    fn begin(&mut self, head: &Head);

    /// Turns a copy of the call's request into one for what has not been handed out yet. Something was handed out, or the request is sent as it is.
    ///
    /// # Errors
    ///
    /// The rest cannot be asked for: the stream ends with what broke it.
    fn ask(&self, request: &mut Request) -> Result<(), ResumeRefused>;

    /// The head of an answer to such a request.
    ///
    /// # Errors
    ///
    /// It is no answer to that: nothing of it is handed out, and the stream ends.
    fn accept(&mut self, head: &Head) -> Result<(), ResumeRefused>;

    /// An item that is handed out after this, of the first attempt or of a later one.
    ///
    /// # Errors
    ///
    /// It does not continue what was handed out: it is not handed out, and the stream ends.
    fn hand_out(&mut self, item: &Item) -> Result<(), ResumeRefused>;
}

/// The rest of a stream cannot be asked for, or what came is not the rest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stream cannot be resumed: {reason}")]
#[non_exhaustive]
pub struct ResumeRefused {
    /// Why, in words without anything of the payload.
    pub reason: Cow<'static, str>,
}

impl ResumeRefused {
    /// For this reason.
    #[must_use]
    pub fn new(reason: impl Into<Cow<'static, str>>) -> Self {
        Self { reason: reason.into() }
    }
}
