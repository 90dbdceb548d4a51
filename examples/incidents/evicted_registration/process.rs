//! A process: it works for whoever calls it, and keeps its registration meanwhile.

use std::{
    convert::Infallible,
    io,
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use tokio::{
    net::TcpListener,
    task::{JoinHandle, JoinSet},
};

use super::{contender::Contender, membership::Membership, wire::Wire};

/// What may be asked of a process.
#[derive(Serialize, Deserialize)]
pub(crate) enum Call {
    /// Is done at once.
    Work,
    /// Says that it has begun, and is done after so long.
    SlowWork(Duration),
    Liveness,
}

#[derive(PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Answer {
    Begun,
    Done,
    Alive,
}

pub(crate) struct Process {
    pub(crate) membership: Membership,
    life: JoinHandle<Infallible>,
}

impl Process {
    /// Returns when it is registered.
    pub(crate) async fn start(contender: Contender, number: usize, registry: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let id = format!("public/worker-{number}:worker");
        let membership = Membership::new(id, listener.local_addr()?, registry);
        let connection = membership.connect().await?;
        membership.register(&connection).await?;
        let keeping = contender.keep_registered(membership.clone(), connection);
        // One life: whatever ends the one ends the other.
        let life = tokio::spawn(async move {
            tokio::select! {
                never = serve(listener) => never,
                never = keeping => never,
            }
        });
        Ok(Self { membership, life })
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.life.is_finished()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.life.abort();
    }
}

async fn serve(listener: TcpListener) -> Infallible {
    let mut callers = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.expect("there are sockets left");
        callers.spawn(answer(Wire::new(stream)));
        while callers.try_join_next().is_some() {}
    }
}

/// Answers until the caller leaves.
async fn answer(mut wire: Wire) -> io::Result<Infallible> {
    loop {
        let answer = match wire.read().await? {
            Call::Work => Answer::Done,
            Call::SlowWork(time) => {
                wire.write(&Answer::Begun).await?;
                tokio::time::sleep(time).await;
                Answer::Done
            }
            Call::Liveness => Answer::Alive,
        };
        wire.write(&answer).await?;
    }
}
