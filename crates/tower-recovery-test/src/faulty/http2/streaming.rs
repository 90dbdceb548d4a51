//! A streamed answer on HTTP/2.

use std::{
    future::poll_fn,
    pin::pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use h2::{Reason, SendStream};
use http::Response;

use super::{
    super::{
        StreamEnding, StreamScript,
        answer::carries_body,
        connection::Ending,
        execution::Received,
        shared::Shared,
        streaming::{
            Sending,
            play::{Left, Sink, Watch},
        },
    },
    answer::with_length,
    pipe::Pipe,
    stream::{LastWords, Outcome, Stream},
};

impl Stream {
    /// Streams the answer.
    pub(super) async fn stream(
        mut self,
        script: &StreamScript,
        response: Response<Bytes>,
        received: &Received,
    ) -> Outcome {
        let sending = Sending::begin(&received.context, &self.shared);
        match self.stream_body(script, response, received, &sending).await {
            Ok(body) => {
                sending.played();
                self.end_stream(script, body)
            }
            Err(Left) => {
                sending.left();
                Outcome::Done
            }
        }
    }

    /// Sends all but the end of the answer, for which it gives what is needed; `None` if there is nothing to be ended.
    async fn stream_body(
        &mut self,
        script: &StreamScript,
        response: Response<Bytes>,
        received: &Received,
        sending: &Sending,
    ) -> Result<Option<SendStream<Bytes>>, Left> {
        // It may have given up while the server was frozen.
        if !self.wanted {
            return Err(Left);
        }
        let method = received.request.method();
        let has_body = carries_body(response.status(), method);
        let (head, answer) = with_length(response, method, script.promised_length());
        script.lead(self).await?;
        let stream = self.respond.send_response(head, !has_body)?;
        sending.head_sent();
        if !has_body {
            return Ok(None);
        }
        let mut body = Body { stream, pipe: self.pipe.clone(), shared: Arc::clone(&self.shared) };
        script.play(answer, &mut body, sending).await?;
        Ok(Some(body.stream))
    }

    fn end_stream(self, script: &StreamScript, body: Option<SendStream<Bytes>>) -> Outcome {
        let Some(mut body) = body else {
            return Outcome::Done;
        };
        match script.ending {
            StreamEnding::Close => self.end_sending(body, LastWords::Said(Ending::Close)),
            StreamEnding::Reset => self.end_sending(body, LastWords::Said(Ending::Reset)),
            StreamEnding::ResetStream { code } => Outcome::Reset(body, code),
            StreamEnding::End | StreamEnding::Silence => {
                // Fails if the client is gone, to whom nothing can be said.
                let _ = match &script.trailers {
                    Some(trailers) => body.send_trailers(trailers.clone()),
                    None => body.send_data(Bytes::new(), true),
                };
                Outcome::Done
            }
        }
    }
}

/// Waits for the head, and so watches for the stream's reset.
impl Watch for Stream {
    async fn wait(&mut self, event: impl Future<Output = ()> + Send) -> Result<(), Left> {
        let Self { respond, shared, .. } = self;
        unless_reset(event, shared, |context| respond.poll_reset(context)).await
    }
}

struct Body {
    stream: SendStream<Bytes>,
    pipe: Pipe,
    shared: Arc<Shared>,
}

impl Watch for Body {
    async fn wait(&mut self, event: impl Future<Output = ()> + Send) -> Result<(), Left> {
        let Self { stream, shared, .. } = self;
        unless_reset(event, shared, |context| stream.poll_reset(context)).await
    }
}

impl Sink for Body {
    fn piece(&self, bytes: Bytes) -> Bytes {
        bytes
    }

    async fn send(&mut self, mut piece: Bytes) -> Result<(), Left> {
        let pipe = self.pipe.clone();
        while !piece.is_empty() {
            self.wait(pipe.drained()).await?;
            self.stream.reserve_capacity(piece.len());
            // Says so too if the stream is reset.
            let capacity = poll_fn(|context| self.poll_capacity(context)).await?;
            let part = piece.split_to(piece.len().min(capacity));
            self.stream.send_data(part, false)?;
        }
        Ok(())
    }
}

impl Body {
    /// How much the client's window allows, once that is something.
    fn poll_capacity(&mut self, context: &mut Context<'_>) -> Poll<Result<usize, Left>> {
        if let Poll::Ready(reset) = self.stream.poll_reset(context) {
            return Poll::Ready(Err(note_reset(&reset, &self.shared)));
        }
        self.stream.poll_capacity(context).map(|capacity| Ok(capacity.ok_or(Left)??))
    }
}

async fn unless_reset(
    event: impl Future<Output = ()> + Send,
    shared: &Shared,
    mut poll_reset: impl FnMut(&mut Context<'_>) -> Poll<Result<Reason, h2::Error>> + Send,
) -> Result<(), Left> {
    let mut event = pin!(event);
    poll_fn(|context| match poll_reset(context) {
        Poll::Ready(reset) => Poll::Ready(Err(note_reset(&reset, shared))),
        Poll::Pending => event.as_mut().poll(context).map(Ok),
    })
    .await
}

/// Counts a request that the client has given up; the end of the connection is no such thing.
fn note_reset(reset: &Result<Reason, h2::Error>, shared: &Shared) -> Left {
    if reset.is_ok() {
        shared.counts.cancelled.increment();
    }
    Left
}

impl From<h2::Error> for Left {
    fn from(_: h2::Error) -> Self {
        Self
    }
}
