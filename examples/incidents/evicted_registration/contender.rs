//! Who is compared: two ways in which a process keeps its registration.

use std::{
    convert::Infallible,
    sync::{Arc, Weak},
};

use tokio::{
    sync::watch,
    time::{Instant, Interval, MissedTickBehavior, interval_at},
};
use tower_recovery::registration::RegistrationProbe;

use super::{
    CLOSE_TIMEOUT, INTERVAL, LOOK_UP_TIMEOUT, SPREAD, STEP_TIMEOUT, membership::Membership, registrar::Lane,
    wire::Connection,
};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contender {
    /// Asks for an echo over its socket, and connects anew when that fails: the origin of the incident.
    Echo,
    /// Our probe. Its process asks for echoes, too, and does nothing about them.
    Recovery,
}

impl Contender {
    pub(crate) const ALL: [Self; 2] = [Self::Echo, Self::Recovery];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::Recovery => "recovery",
        }
    }

    pub(crate) async fn keep_registered(self, membership: Membership, connection: Connection) -> Infallible {
        match self {
            Self::Echo => by_echo(membership, connection).await,
            Self::Recovery => by_probe(membership, connection).await,
        }
    }
}

async fn by_echo(membership: Membership, mut connection: Connection) -> Infallible {
    let mut echoes = echoes();
    loop {
        echoes.tick().await;
        if !membership.echo(&connection).await {
            connection.close().await;
            if let Ok(anew) = membership.connect().await
                && membership.register(&anew).await.is_ok()
            {
                connection = anew;
            }
        }
    }
}

async fn by_probe(membership: Membership, connection: Connection) -> Infallible {
    let connection = Arc::new(connection);
    let present = watch::Sender::new(Arc::downgrade(&connection));
    let status = ask_for_echoes(membership.clone(), present.subscribe());
    let probe = RegistrationProbe::builder(Lane::new(membership.clone(), present))
        .connection(connection)
        .named(format!("registration of {}", membership.id))
        .interval(INTERVAL)
        .look_up_timeout(LOOK_UP_TIMEOUT)
        .rebuild_spread(SPREAD)
        .close_timeout(CLOSE_TIMEOUT)
        .step_timeout(STEP_TIMEOUT)
        .build()
        .expect("the times are within their bounds");
    tokio::select! {
        never = probe.run() => never,
        never = status => never,
    }
}

async fn ask_for_echoes(membership: Membership, present: watch::Receiver<Weak<Connection>>) -> Infallible {
    let mut echoes = echoes();
    loop {
        echoes.tick().await;
        let connection = present.borrow().upgrade();
        if let Some(connection) = connection {
            membership.echo(&connection).await;
        }
    }
}

/// Once an interval, from some moment of the first one on.
fn echoes() -> Interval {
    let mut echoes = interval_at(Instant::now() + INTERVAL.mul_f64(fastrand::f64()), INTERVAL);
    echoes.set_missed_tick_behavior(MissedTickBehavior::Delay);
    echoes
}
