//! One connection: its requests, and their acts.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use tokio::{net::TcpStream, select, sync::watch, time::sleep};

use super::{
    Act, ConnectionAct, RequestContext,
    answer::{Answer, Terms},
    freeze::BeforeThaw,
    shared::Shared,
    wire::{Broken, Wire},
};

/// A connection that was accepted.
pub(super) struct Connection {
    /// Before `open`, so that the socket is gone when the connection does not count as open any more.
    wire: Wire,
    open: Open,
    shared: Arc<Shared>,
    number: usize,
}

/// How the server ends a connection.
#[derive(Clone, Copy, Debug)]
enum Ending {
    Close,
    Reset,
}

/// A request that was read to its end.
struct Received {
    request: Request<Bytes>,
    context: RequestContext,
    /// Whether the client allows another request on this connection.
    keep_alive: bool,
    before_read: BeforeThaw,
}

impl Connection {
    pub(super) fn new(stream: TcpStream, shared: &Arc<Shared>, number: usize) -> Self {
        Self { wire: Wire::new(stream), open: Open::new(shared), shared: Arc::clone(shared), number }
    }

    /// Lives until the script or the client ends the connection, or until the server refuses and so resets it.
    pub(super) async fn live(mut self, act: ConnectionAct, mut refused: watch::Receiver<bool>) {
        let ending = select! {
            biased;
            _ = refused.wait_for(|refused| *refused) => Ending::Reset,
            ending = self.live_undisturbed(act) => ending,
        };
        if let Ending::Reset = ending {
            self.wire.reset_on_drop();
        }
    }

    async fn live_undisturbed(&mut self, act: ConnectionAct) -> Ending {
        let ending = match act {
            ConnectionAct::Serve => self.serve().await,
            ConnectionAct::CloseAtAccept => Ending::Close,
            ConnectionAct::ResetAtAccept => Ending::Reset,
        };
        if let Ending::Close = ending {
            self.wire.finish().await;
            self.open.end();
            self.wire.drain().await;
        }
        ending
    }

    async fn serve(&mut self) -> Ending {
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
        let context = self.shared.context(&head, self.number, number);
        let act = self.shared.script.on_request(&context);
        if head.expects_continue {
            self.wire.write(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
        }
        let limit = self.shared.body_limit;
        let body = self.wire.read_body(head.framing, limit).await?;
        let received = Received {
            request: Request::from_parts(head.parts, body),
            context,
            keep_alive: head.keep_alive,
            // Taken before the count, so that a thaw by who waited for the count comes after it.
            before_read: self.shared.freeze.now(),
        };
        self.shared.counts.read.increment();
        self.perform(act, &received).await
    }

    async fn perform(&mut self, act: Act, received: &Received) -> Result<Option<Ending>, Broken> {
        let shared = Arc::clone(&self.shared);
        let enter = || shared.enter(&received.context);
        match act {
            Act::ReadThenClose => {
                self.begin(|| {}).await;
                return Ok(Some(Ending::Close));
            }
            Act::ReadThenReset => {
                self.begin(|| {}).await;
                return Ok(Some(Ending::Reset));
            }
            Act::FreezeThenRun => {
                self.hold(received.before_read).await;
                enter();
            }
            Act::SlowThenRun { delay } => {
                self.wait(sleep(delay)).await;
                self.begin(enter).await;
            }
            _ => self.begin(enter).await,
        }
        let before_run = shared.freeze.now();
        let response = shared.run(&received.request);
        match act {
            Act::RunThenClose => return Ok(Some(Ending::Close)),
            Act::RunThenReset => return Ok(Some(Ending::Reset)),
            Act::PartialHead => {
                let head = received.answer(response, 0).head;
                self.wire.write(&head[..head.len() / 2]).await?;
                return Ok(Some(Ending::Close));
            }
            Act::PartialBody { sent } => {
                self.write_part(received.answer(response, sent.saturating_add(1)), sent).await?;
                return Ok(Some(Ending::Close));
            }
            Act::PartialBodyThenReset { sent } => {
                self.write_part(received.answer(response, sent.saturating_add(1)), sent).await?;
                return Ok(Some(Ending::Reset));
            }
            Act::RunThenFreeze => self.wait(shared.freeze.thawed(before_run)).await,
            Act::Slow { delay } => self.wait(sleep(delay)).await,
            _ => {}
        }
        let answer = received.answer(response, 0);
        let keep_alive = answer.keep_alive && act != Act::AnswerThenClose;
        self.write_part(answer, usize::MAX).await?;
        Ok((!keep_alive).then_some(Ending::Close))
    }

    /// Begins the act, held back first if the server is frozen.
    async fn begin(&mut self, begin: impl Fn()) {
        if let Err(before_thaw) = self.shared.freeze.begin(&begin) {
            self.hold(before_thaw).await;
            begin();
        }
    }

    async fn hold(&mut self, since: BeforeThaw) {
        let shared = Arc::clone(&self.shared);
        let _held = shared.counts.held.enter();
        self.wait(shared.freeze.thawed(since)).await;
    }

    async fn wait(&mut self, event: impl Future<Output = ()>) {
        let client_ended = || self.open.end();
        self.wire.watch_until(event, client_ended).await;
    }

    async fn write_part(&mut self, answer: Answer, sent: usize) -> Result<(), Broken> {
        self.wire.write(&answer.head).await?;
        let sent = sent.min(answer.body.len());
        self.wire.write(&answer.body[..sent]).await
    }
}

impl Received {
    fn answer(&self, response: Response<Bytes>, promised: usize) -> Answer {
        let terms = Terms { method: self.request.method(), keep_alive: self.keep_alive, promised };
        Answer::new(response, terms)
    }
}

/// One that counts as open until it is ended or dropped.
struct Open {
    shared: Arc<Shared>,
    ended: bool,
}

impl Open {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.counts.open.increment();
        Self { shared: Arc::clone(shared), ended: false }
    }

    fn end(&mut self) {
        if !self.ended {
            self.ended = true;
            self.shared.counts.open.decrement();
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.end();
    }
}
