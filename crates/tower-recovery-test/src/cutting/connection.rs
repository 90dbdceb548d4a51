//! One connection: the two sides of it, and how they end.

use std::{mem, sync::Arc};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    join,
    net::TcpStream,
    select,
    sync::watch,
};

use super::{
    Direction, Plan, Side,
    flow::{Cut, Flow, FlowEnd},
    plan::AtAccept,
    shared::Shared,
};
use crate::{faulty::reset_on_drop, listening::Serve};

/// A connection that was accepted.
struct Connection {
    /// Before `open`, as is `server`, so that the sockets are gone when the connection does not count as open any more.
    client: Option<TcpStream>,
    /// `None` until the proxy has connected to it. Either side is `None` once it was reset.
    server: Option<TcpStream>,
    open: Open,
    shared: Arc<Shared>,
    number: usize,
}

impl Serve for Shared {
    fn serve(
        self: &Arc<Self>,
        client: TcpStream,
        refused: watch::Receiver<bool>,
    ) -> impl Future<Output = ()> + Send + 'static {
        let number = self.counts.connections.increment();
        let (client, open) = (Some(client), Open::new(self));
        Connection { client, server: None, open, shared: Arc::clone(self), number }.live(refused)
    }
}

impl Connection {
    /// Lives until both sides have ended or were cut off, or until the proxy refuses and so resets it.
    async fn live(mut self, mut refused: watch::Receiver<bool>) {
        select! {
            biased;
            _ = refused.wait_for(|refused| *refused) => self.reset(),
            () = self.live_undisturbed() => {}
        }
    }

    async fn live_undisturbed(&mut self) {
        let plan = self.shared.script.plan(self.number);
        match plan.accepts() {
            AtAccept::Serve => self.serve(&plan).await,
            AtAccept::Close => self.cut(Cut { reset: false, only: None }).await,
            AtAccept::Reset => self.cut(Cut { reset: true, only: None }).await,
        }
    }

    async fn serve(&mut self, plan: &Plan) {
        let Ok(server) = TcpStream::connect(self.shared.upstream).await else {
            return self.reset();
        };
        // Fails on a socket that is gone already, and that shows soon enough.
        let _ = server.set_nodelay(true);
        self.server = Some(server);
        match self.forward(plan).await {
            FlowEnd::Finished => {}
            FlowEnd::Broken => self.reset(),
            FlowEnd::Cut(cut) => self.cut(cut).await,
        }
    }

    /// Forwards in both directions, until both are finished or one ends otherwise.
    async fn forward(&mut self, plan: &Plan) -> FlowEnd {
        let (Some(client), Some(server)) = (&mut self.client, &mut self.server) else {
            return FlowEnd::Broken;
        };
        let held = watch::Sender::new(false);
        let (from_client, to_client) = client.split();
        let (from_server, to_server) = server.split();
        let flow = |direction, from, to| {
            let steps = plan.steps(direction);
            Flow { direction, from, to, steps, forwarded: 0, held: &held, shared: &self.shared }.run()
        };
        let mut one = Box::pin(flow(Direction::ToServer, from_client, to_server));
        let mut other = Box::pin(flow(Direction::ToClient, from_server, to_client));
        // What comes before every byte comes before the other direction's bytes, too.
        if plan.disturbs_at_once(Direction::ToClient) {
            mem::swap(&mut one, &mut other);
        }
        let (end, still_running) = select! {
            biased;
            end = &mut one => (end, other),
            end = &mut other => (end, one),
        };
        match end {
            FlowEnd::Finished => still_running.await,
            end => end,
        }
    }

    /// Cuts off the sides that are to be cut off, then throws away what still comes until it ends: to close a socket with unread bytes would
    /// send a reset.
    async fn cut(&mut self, cut: Cut) {
        for (side, end) in [(Side::Client, &mut self.client), (Side::Server, &mut self.server)] {
            if cut.only.is_some_and(|only| only != side) {
                continue;
            }
            match end {
                Some(stream) if cut.reset => {
                    reset_on_drop(stream);
                    *end = None;
                }
                // Fails if that side has reset the connection: then it has ended, too.
                Some(stream) => drop(stream.shutdown().await),
                None => {}
            }
        }
        // First of the two: who waits for nothing to be open finds the cut counted.
        self.shared.counts.cuts.increment();
        if cut.only.is_none() {
            self.open.end();
        }
        join!(drain(self.client.as_mut()), drain(self.server.as_mut()));
    }

    fn reset(&mut self) {
        for end in [self.client.take(), self.server.take()].into_iter().flatten() {
            reset_on_drop(&end);
        }
    }
}

async fn drain(end: Option<&mut TcpStream>) {
    if let Some(end) = end {
        let mut buffer = vec![0; 4 * 1024];
        while let Ok(1..) = end.read(&mut buffer).await {}
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
