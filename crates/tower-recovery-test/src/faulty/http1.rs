//! The requests of an HTTP/1 connection, one after another, and their acts.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Response, StatusCode};

use super::{
    Act, StreamScript, Until,
    answer::{Answer, Terms},
    connection::{Connection, Ending},
    execution::{Executed, Received, Waiting, begin},
    until::Wait,
    wire::Broken,
};

impl Connection {
    pub(super) async fn serve_http1(&mut self) -> Ending {
        let mut number = 1;
        loop {
            match self.serve_request(number).await {
                Ok(None) => number += 1,
                Ok(Some(ending)) => return ending,
                Err(Broken) => return Ending::Close,
            }
        }
    }

    /// Serves one request; `None` if another may follow.
    async fn serve_request(&mut self, number: usize) -> Result<Option<Ending>, Broken> {
        let Some(head) = self.wire.read_head().await? else {
            return Ok(Some(Ending::Close));
        };
        let context = self.shared.context(&head.request, self.number, number);
        let (act, stream) = self.shared.decide(&context);
        let act = act.on_http1();
        if let Act::RejectAtHead { status, unread } = act {
            return self.reject(status, unread).await.map(Some);
        }
        if head.expects_continue {
            self.wire.write(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
        }
        let limit = self.shared.body_limit;
        let body = self.wire.read_body(head.framing, limit).await?;
        let request = head.request.map(|()| body);
        let received = Received::new(request, context, &self.shared);
        let mut exchange = Exchange::new(self, received.request.method(), head.keep_alive);
        exchange.perform(act, stream, &received).await
    }

    /// Answers a request whose body is not read.
    async fn reject(&mut self, status: StatusCode, unread: Until) -> Result<Ending, Broken> {
        let mut exchange = Exchange::new(self, &Method::GET, false);
        let shared = Arc::clone(&exchange.connection.shared);
        begin(&shared, &mut exchange, || {}).await;
        let since = shared.freeze.now();
        exchange.say(status).await?;
        self.wire.finish().await;
        self.open.end();
        unread.begin(since).over(&shared.freeze).await;
        Ok(Ending::Abandon)
    }
}

/// A request in hand, and what its answer depends on.
pub(super) struct Exchange<'connection> {
    pub(super) connection: &'connection mut Connection,
    pub(super) method: &'connection Method,
    /// Whether the client allows another request on this connection.
    keep_alive: bool,
    /// How long the next wait is one that reads nothing.
    frozen: Option<Wait>,
}

impl<'connection> Exchange<'connection> {
    fn new(connection: &'connection mut Connection, method: &'connection Method, keep_alive: bool) -> Self {
        Self { connection, method, keep_alive, frozen: None }
    }

    async fn perform(
        &mut self,
        act: Act,
        stream: Option<StreamScript>,
        received: &Received,
    ) -> Result<Option<Ending>, Broken> {
        let shared = Arc::clone(&self.connection.shared);
        let Some(Executed { response, before_run }) = received.execute(act, &shared, self).await else {
            return Ok(Some(if act == Act::ReadThenReset { Ending::Reset } else { Ending::Close }));
        };
        if let Some(script) = stream {
            return Ok(self.stream(&script, response, received).await);
        }
        match act {
            Act::RunThenClose => return Ok(Some(Ending::Close)),
            Act::RunThenReset => return Ok(Some(Ending::Reset)),
            Act::PartialHead => {
                let head = self.answer(response, 0).head;
                self.connection.wire.write(&head[..head.len() / 2]).await?;
                return Ok(Some(Ending::Close));
            }
            Act::PartialBody { sent } => {
                self.write_part(self.answer(response, sent.saturating_add(1)), sent).await?;
                return Ok(Some(Ending::Close));
            }
            Act::PartialBodyThenReset { sent } => {
                self.write_part(self.answer(response, sent.saturating_add(1)), sent).await?;
                return Ok(Some(Ending::Reset));
            }
            _ => {}
        }
        let answer = self.answer(response, 0);
        let keep_alive = answer.keep_alive;
        self.write_part(answer, usize::MAX).await?;
        match act {
            Act::AnswerThenClose => Ok(Some(Ending::Close)),
            Act::AnswerThenAbandon => Ok(Some(Ending::Abandon)),
            Act::AnswerThenTimeOut { idle } => {
                self.wait(idle.begin(before_run).over(&shared.freeze)).await;
                if !self.connection.wire.client_has_ended() {
                    self.keep_alive = false;
                    self.say(StatusCode::REQUEST_TIMEOUT).await?;
                    shared.counts.timed_out.increment();
                }
                Ok(Some(Ending::Close))
            }
            _ => Ok((!keep_alive).then_some(Ending::Close)),
        }
    }

    fn answer(&self, response: Response<Bytes>, promised: usize) -> Answer {
        Answer::new(response, self.terms(promised))
    }

    pub(super) fn terms(&self, promised: usize) -> Terms<'connection> {
        Terms { method: self.method, keep_alive: self.keep_alive, promised }
    }

    /// Writes an answer that is the server's own.
    async fn say(&mut self, status: StatusCode) -> Result<(), Broken> {
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = status;
        self.write_part(self.answer(response, 0), 0).await
    }

    async fn write_part(&mut self, answer: Answer, sent: usize) -> Result<(), Broken> {
        let wire = &mut self.connection.wire;
        wire.write(&answer.head).await?;
        let sent = sent.min(answer.body.len());
        wire.write(&answer.body[..sent]).await
    }
}

impl Waiting for Exchange<'_> {
    async fn wait(&mut self, event: impl Future<Output = ()> + Send) {
        let Connection { wire, open, shared, .. } = &mut *self.connection;
        if let Some(frozen) = self.frozen.take() {
            frozen.over(&shared.freeze).await;
        }
        wire.watch_until(event, || open.end()).await;
    }

    fn freeze_connection(&mut self, wait: Wait) {
        self.frozen = Some(wait);
    }
}
