//! What our probe must be told of this registry.

use std::{
    io,
    sync::{Arc, Weak},
};

use tokio::sync::watch;
use tower_recovery::{
    Identity,
    registration::{Presence, Registrar},
};

use super::{
    membership::Membership,
    registry::{Question, Reply},
    wire::Connection,
};

/// A membership that asks over a lane of its own.
pub(crate) struct Lane {
    membership: Membership,
    lane: Option<Connection>,
    /// For whoever wants to ask it for an echo.
    present: watch::Sender<Weak<Connection>>,
}

impl Lane {
    pub(crate) fn new(membership: Membership, present: watch::Sender<Weak<Connection>>) -> Self {
        Self { membership, lane: None, present }
    }
}

impl Registrar for Lane {
    type Connection = Arc<Connection>;
    type Error = io::Error;

    async fn look_up(&mut self, connection: Option<&Arc<Connection>>) -> io::Result<Presence> {
        // One that fails, or is dropped, is not put back: the next look-up opens another one.
        let lane = match self.lane.take() {
            Some(lane) => lane,
            None => self.membership.connect().await?,
        };
        let reply = lane.ask(&Question::LookUp { id: self.membership.id.clone() }).await?;
        self.lane = Some(lane);
        let Reply::Found(found) = reply else { return Err(io::ErrorKind::InvalidData.into()) };
        Ok(match found {
            Some(key) if connection.is_some_and(|ours| ours.number == key.connection) => Presence::Ours,
            Some(key) if key.address != self.membership.address => {
                Presence::Another(Identity::from(key.address.to_string()))
            }
            Some(_) | None => Presence::Missing,
        })
    }

    async fn close(&mut self, connection: Arc<Connection>) {
        connection.close().await;
    }

    async fn connect(&mut self) -> io::Result<Arc<Connection>> {
        let connection = Arc::new(self.membership.connect().await?);
        self.present.send_replace(Arc::downgrade(&connection));
        Ok(connection)
    }

    async fn register(&mut self, connection: &Arc<Connection>) -> io::Result<()> {
        self.membership.register(connection).await
    }
}
