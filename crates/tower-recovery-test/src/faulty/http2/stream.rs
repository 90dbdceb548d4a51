//! One request of an HTTP/2 connection, and its act.

use std::{future::poll_fn, pin::pin, sync::Arc};

use bytes::{Bytes, BytesMut};
use h2::{Reason, RecvStream, SendStream, server::SendResponse};
use http::{Method, Request, Response, StatusCode};
use tokio::select;

use super::{
    super::{
        Act, AfterGoAway, ErrorCode, GoAway, LastStream, RequestContext, StreamScript, Until,
        connection::Ending,
        execution::{Executed, Received, Waiting, begin},
        shared::Shared,
        until::Wait,
    },
    answer::answer,
    pipe::Pipe,
};

/// A request whose head was read.
pub(super) struct Stream {
    pub(super) shared: Arc<Shared>,
    pub(super) pipe: Pipe,
    pub(super) respond: SendResponse<Bytes>,
    /// Whether the client has not given it up yet.
    pub(super) wanted: bool,
}

/// What is left to do for a stream that was served, by who writes for all of them.
pub(super) enum Outcome {
    Done,
    /// Nothing more is said on it.
    Silent(Handles),
    /// It is reset after what it has said.
    Reset(SendStream<Bytes>, ErrorCode),
    /// The connection ends after what was said, so with it.
    End(Handles, LastWords),
}

/// How a stream ends its connection.
#[derive(Clone, Copy, Debug)]
pub(super) enum LastWords {
    Said(Ending),
    /// The stream's head is cut in the middle, then comes a close.
    HalfAHead,
    /// A close that counts as a goodbye.
    Goodbye,
}

/// What resets the stream when it is dropped.
pub(super) struct Handles {
    pub(super) respond: SendResponse<Bytes>,
    _sending: Option<SendStream<Bytes>>,
}

/// The stream is gone: reset by the client, or with its connection.
struct Gone;

impl Stream {
    pub(super) async fn serve(
        mut self,
        request: Request<RecvStream>,
        context: RequestContext,
        act: Act,
        script: Option<StreamScript>,
    ) -> Outcome {
        let shared = Arc::clone(&self.shared);
        let (parts, body) = request.into_parts();
        match act {
            Act::RefuseStream => {
                begin(&shared, &mut self, || {}).await;
                self.respond.send_reset(Reason::REFUSED_STREAM);
                return Outcome::Done;
            }
            Act::RejectAtHead { status, unread } => {
                return self.reject(body, status, unread).await.unwrap_or(Outcome::Done);
            }
            _ => {}
        }
        let body = match self.read(body).await {
            Ok(Some(body)) => body,
            Ok(None) => return self.end(Ending::Close),
            Err(Gone) => return Outcome::Done,
        };
        let received = Received::new(Request::from_parts(parts, body), context, &shared);
        match received.execute(act, &shared, &mut self).await {
            Some(executed) => match script {
                Some(script) => self.stream(&script, executed.response, &received).await,
                None => self.answer(act, executed, received.request.method()).await.unwrap_or(Outcome::Done),
            },
            None => self.refuse_to_run(act),
        }
    }

    /// The body; `None` if it is too long.
    async fn read(&mut self, mut body: RecvStream) -> Result<Option<Bytes>, Gone> {
        let mut received = BytesMut::new();
        while let Some(data) = body.data().await {
            let data = data.inspect_err(|error| self.note(error))?;
            if data.len() > self.shared.body_limit - received.len() {
                return Ok(None);
            }
            received.extend_from_slice(&data);
            body.flow_control().release_capacity(data.len())?;
        }
        Ok(Some(received.freeze()))
    }

    /// Answers a request whose body is not read.
    async fn reject(mut self, body: RecvStream, status: StatusCode, unread: Until) -> Result<Outcome, Gone> {
        let shared = Arc::clone(&self.shared);
        begin(&shared, &mut self, || {}).await;
        let since = shared.freeze.now();
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = status;
        let (head, _) = answer(response, &Method::GET, 0);
        let sending = self.respond.send_response(head, true)?;
        unread.begin(since).over(&shared.freeze).await;
        drop(body);
        Ok(Outcome::Reset(sending, ErrorCode::NO_ERROR))
    }

    fn refuse_to_run(mut self, act: Act) -> Outcome {
        match act {
            Act::ReadThenResetStream { code } => {
                self.respond.send_reset(code.0.into());
                Outcome::Done
            }
            Act::ReadThenGoAway(go_away) => {
                self.go_away(go_away);
                match go_away.then {
                    AfterGoAway::Close => self.end(Ending::Close),
                    AfterGoAway::StayOpen => Outcome::Silent(self.into_handles(None)),
                }
            }
            Act::ReadThenReset => self.end(Ending::Reset),
            _ => self.end(Ending::Close),
        }
    }

    async fn answer(mut self, act: Act, executed: Executed, method: &Method) -> Result<Outcome, Gone> {
        let Executed { response, before_run } = executed;
        let sent = match act {
            Act::RunThenClose => return Ok(self.end(Ending::Close)),
            Act::RunThenReset => return Ok(self.end(Ending::Reset)),
            Act::RunThenResetStream { code } => {
                self.respond.send_reset(code.0.into());
                return Ok(Outcome::Done);
            }
            Act::RunThenGoAway(go_away) => {
                self.go_away(go_away);
                if go_away.then == AfterGoAway::Close {
                    return Ok(self.end(Ending::Close));
                }
                None
            }
            Act::PartialBody { sent }
            | Act::PartialBodyThenReset { sent }
            | Act::PartialBodyThenResetStream { sent, .. } => Some(sent),
            Act::PartialHead => Some(0),
            _ => None,
        };
        let (head, body) = answer(response, method, sent.map_or(0, |sent| sent.saturating_add(1)));
        let is_whole = sent.is_none();
        let carries_none = body.is_empty() && (is_whole || *method == Method::HEAD || head_says_none(&head));
        let mut sending = self.respond.send_response(head, carries_none)?;
        if !carries_none {
            let part = body.slice(..body.len().min(sent.unwrap_or(usize::MAX)));
            send(&mut sending, part, is_whole).await?;
        }
        Ok(match act {
            Act::PartialBodyThenResetStream { code, .. } => Outcome::Reset(sending, code),
            Act::PartialHead => self.end_sending(sending, LastWords::HalfAHead),
            Act::PartialBody { .. } | Act::AnswerThenClose => self.end_sending(sending, LastWords::Said(Ending::Close)),
            Act::PartialBodyThenReset { .. } => self.end_sending(sending, LastWords::Said(Ending::Reset)),
            Act::AnswerThenAbandon => self.end_sending(sending, LastWords::Said(Ending::Abandon)),
            Act::AnswerThenTimeOut { idle } => {
                idle.begin(before_run).over(&self.shared.freeze).await;
                self.pipe.go_away_after_all();
                self.end_sending(sending, LastWords::Goodbye)
            }
            _ => Outcome::Done,
        })
    }

    fn go_away(&self, go_away: GoAway) {
        let this = self.respond.stream_id().as_u32();
        let last = match go_away.last_stream {
            LastStream::BelowThis => this.saturating_sub(2),
            LastStream::This => this,
            LastStream::Id(id) => id & (u32::MAX >> 1),
        };
        self.pipe.go_away(last, go_away.code);
    }

    fn end(self, ending: Ending) -> Outcome {
        Outcome::End(self.into_handles(None), LastWords::Said(ending))
    }

    pub(super) fn end_sending(self, sending: SendStream<Bytes>, words: LastWords) -> Outcome {
        Outcome::End(self.into_handles(Some(sending)), words)
    }

    fn into_handles(self, sending: Option<SendStream<Bytes>>) -> Handles {
        Handles { respond: self.respond, _sending: sending }
    }

    /// Counts a request that the client has given up.
    fn note(&mut self, error: &h2::Error) {
        if self.wanted && error.is_reset() && error.is_remote() {
            self.wanted = false;
            self.shared.counts.cancelled.increment();
        }
    }
}

impl Waiting for Stream {
    async fn wait(&mut self, event: impl Future<Output = ()> + Send) {
        let mut event = pin!(event);
        loop {
            select! {
                biased;
                () = &mut event => return,
                reset = poll_fn(|context| self.respond.poll_reset(context)), if self.wanted => {
                    self.wanted = false;
                    if reset.is_ok() {
                        self.shared.counts.cancelled.increment();
                    }
                }
            }
        }
    }

    fn freeze_connection(&mut self, wait: Wait) {
        self.pipe.freeze(wait);
    }
}

/// Sends as the client's window allows it.
async fn send(sending: &mut SendStream<Bytes>, mut body: Bytes, and_end: bool) -> Result<(), Gone> {
    while !body.is_empty() {
        sending.reserve_capacity(body.len());
        let capacity = poll_fn(|context| sending.poll_capacity(context)).await.ok_or(Gone)??;
        let part = body.split_to(body.len().min(capacity));
        sending.send_data(part, and_end && body.is_empty())?;
    }
    Ok(())
}

/// Whether an answer with this head is complete without a body: it says nothing of a length.
fn head_says_none(head: &Response<()>) -> bool {
    !head.headers().contains_key(http::header::CONTENT_LENGTH)
}

impl From<h2::Error> for Gone {
    fn from(_: h2::Error) -> Self {
        Self
    }
}
