//! The accepting task, which owns the listener and all connections.

use std::{sync::Arc, time::Duration};

use tokio::{
    net::TcpListener,
    select,
    sync::{oneshot, watch},
    task::{JoinHandle, JoinSet},
};

use super::Serve;

/// What accepts. Dropped, it aborts its tasks, by which all of its sockets are closed.
#[derive(Debug)]
pub(super) struct Accepting {
    refuse: oneshot::Sender<()>,
    task: AbortOnDrop,
}

#[derive(Debug)]
struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Accepting {
    pub(super) fn spawn(listener: TcpListener, server: Arc<impl Serve>) -> Self {
        let (refuse, refused) = oneshot::channel();
        Self { refuse, task: AbortOnDrop(tokio::spawn(accept(listener, server, refused))) }
    }

    /// Closes the listener, then resets every connection, and waits until they are gone.
    ///
    /// Dropped before its end, it leaves nothing behind either.
    pub(super) async fn refuse(mut self) {
        // Fails if the task has ended, and it only ends when its runtime does.
        let _ = self.refuse.send(());
        let _ = (&mut self.task.0).await;
    }
}

async fn accept(listener: TcpListener, server: Arc<impl Serve>, mut refuse: oneshot::Receiver<()>) {
    let mut connections = JoinSet::new();
    let refused = watch::Sender::new(false);
    loop {
        select! {
            biased;
            _ = &mut refuse => break,
            // Ended tasks are taken out, so that a long test does not collect them.
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let _ = stream.set_nodelay(true);
                    connections.spawn(server.serve(stream, refused.subscribe()));
                }
                // Out of descriptors, as a rule: pause, so that the connections that free some may run.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            },
        }
    }
    drop(listener);
    refused.send_replace(true);
    while connections.join_next().await.is_some() {}
}
