//! A streamed answer on HTTP/1.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use http::Response;

use super::super::{
    answer::{Answer, Length, carries_body, put_headers},
    connection::Ending,
    execution::Received,
    http1::Exchange,
    wire::{Broken, Wire},
};
use super::{
    Sending, StreamEnding, StreamScript,
    play::{Left, Sink, Watch},
    script::StreamFraming,
};

impl Exchange<'_> {
    /// Streams the answer; `None` if another request may follow.
    pub(in super::super) async fn stream(
        &mut self,
        script: &StreamScript,
        response: Response<Bytes>,
        received: &Received,
    ) -> Option<Ending> {
        let sending = Sending::begin(&received.context, &Arc::clone(&self.connection.shared));
        match self.stream_to_the_end(script, response, &sending).await {
            Ok(ending) => {
                sending.played();
                ending
            }
            Err(Left) => {
                self.connection.open.end();
                sending.left();
                Some(Ending::Close)
            }
        }
    }

    async fn stream_to_the_end(
        &mut self,
        script: &StreamScript,
        response: Response<Bytes>,
        sending: &Sending,
    ) -> Result<Option<Ending>, Left> {
        let has_body = carries_body(response.status(), self.method);
        let length = match script.framing {
            StreamFraming::Open => Length::Chunked,
            StreamFraming::Length(bytes) => Length::Known(bytes),
            StreamFraming::UntilClose => Length::UntilClose,
        };
        let answer = Answer::with_length(response, self.terms(0), length);
        let wire = &mut self.connection.wire;

        script.lead(wire).await?;
        wire.write_watched(&answer.head).await?;
        sending.head_sent();
        let mut complete = !has_body;
        if has_body {
            let mut body = Body { wire, chunked: length == Length::Chunked };
            script.play(answer.body, &mut body, sending).await?;
            match script.ending {
                StreamEnding::Close => return Ok(Some(Ending::Close)),
                StreamEnding::Reset | StreamEnding::ResetStream { .. } => return Ok(Some(Ending::Reset)),
                StreamEnding::End | StreamEnding::Silence => {}
            }
            complete = match length {
                Length::Chunked => true,
                Length::Known(bytes) => u64::try_from(sending.bytes_sent()) == Ok(bytes),
                Length::UntilClose => false,
            };
            if body.chunked {
                body.wire.write_watched(&last_chunk(script)).await?;
            }
        }
        Ok((!complete || !answer.keep_alive).then_some(Ending::Close))
    }
}

fn last_chunk(script: &StreamScript) -> BytesMut {
    let mut last = BytesMut::from("0\r\n");
    if let Some(trailers) = &script.trailers {
        put_headers(&mut last, trailers);
    }
    last.put_slice(b"\r\n");
    last
}

struct Body<'wire> {
    wire: &'wire mut Wire,
    chunked: bool,
}

impl Sink for Body<'_> {
    fn piece(&self, bytes: Bytes) -> Bytes {
        if !self.chunked {
            return bytes;
        }
        let mut chunk = BytesMut::from(format!("{:x}\r\n", bytes.len()).as_bytes());
        chunk.put_slice(&bytes);
        chunk.put_slice(b"\r\n");
        chunk.freeze()
    }

    async fn send(&mut self, piece: Bytes) -> Result<(), Left> {
        Ok(self.wire.write_watched(&piece).await?)
    }
}

impl Watch for Body<'_> {
    async fn wait(&mut self, event: impl Future<Output = ()> + Send) -> Result<(), Left> {
        self.wire.wait(event).await
    }
}

impl Watch for Wire {
    async fn wait(&mut self, event: impl Future<Output = ()> + Send) -> Result<(), Left> {
        Ok(self.wait_watched(event).await?)
    }
}

impl From<Broken> for Left {
    fn from(_: Broken) -> Self {
        Self
    }
}
