//! The registration of a client's services, for a probe.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;
use tower_recovery::{
    Failure, RegistrationMonitor, Verdict,
    registration::{Presence, Registrar},
};

use crate::{CallError, ConnectError, ConnectionStatus, HyphaClient, ServiceInfo, StartError, manager};

/// Keeps a client registered with its server: for a [`RegistrationProbe`](tower_recovery::RegistrationProbe).
///
/// The client repairs its connection by itself, and registers its services again when it does. What it cannot see is a registry that forgets it while the socket stays open. That is what the probe asks for, once an interval,
/// and repairs by closing, connecting and registering anew under the same id.
///
/// The probe is over all services that the client [offers](HyphaClient::offer), and the one that every client has. A registration carries a mark of the connection over which it was made, so
/// that neither what is left of an earlier connection nor another process of the same id is taken for it.
///
/// The handles of the client stay good through a rebuild: calls wait for the connection that follows, as [long](crate::HyphaClientBuilder::connection_wait) as where one was lost.
///
/// # Examples
///
/// ```no_run
/// use std::time::Duration;
/// use tower_recovery::RegistrationProbe;
/// use tower_recovery_hypha::{HyphaClient, HyphaRegistrar, LocalService, Value};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// let client = HyphaClient::builder("https://hypha.example").token("a token").client_id("worker-7").connect().await?;
/// let worker = LocalService::new("worker")?.method("status", |_| async { Ok(Value::from("busy")) });
/// client.offer(worker).await?;
///
/// let (registrar, connection) = HyphaRegistrar::new(client.clone());
/// let probe = RegistrationProbe::builder(registrar).connection(connection).interval(Duration::from_secs(60)).build()?;
/// tokio::spawn(client.report_to(probe.monitor()));
/// tokio::spawn(probe.run());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct HyphaRegistrar {
    client: HyphaClient,
}

/// That a client is open, in the hands of its probe: dropping it closes the client.
#[derive(Debug)]
#[must_use = "dropping it closes the client"]
pub struct OpenClient {
    /// `None` once it was closed in order.
    client: Option<HyphaClient>,
    /// Whether calls wait on after this is dropped: in the middle of a rebuild, of which this step is tried again.
    calls_wait: bool,
}

impl HyphaRegistrar {
    /// A registrar of this client's services, with what stands for its connection. Give both to the probe.
    pub fn new(client: HyphaClient) -> (Self, OpenClient) {
        let open = OpenClient { client: Some(client.clone()), calls_wait: false };
        (Self { client }, open)
    }

    /// Calls that wait for the next connection need not wait any more.
    fn no_connection_follows(&self) {
        let shared = self.client.shared();
        if !shared.wanted.borrow().is_open {
            drop(shared.close(false));
        }
    }

    fn check_connected(&self) -> Result<(), Failure> {
        let last = match &*self.client.shared().status.borrow() {
            ConnectionStatus::Connected => return Ok(()),
            ConnectionStatus::Refused(error) => return Err(connect_failure(Arc::clone(error))),
            ConnectionStatus::Connecting { last, .. } => last.clone(),
            ConnectionStatus::Closing | ConnectionStatus::Closed => return Err(call_failure(CallError::Closed)),
        };
        Err(call_failure(CallError::NotConnected { waited: Duration::ZERO, last }))
    }
}

/// Whoever has it opens the client again, or nobody does.
impl Drop for HyphaRegistrar {
    fn drop(&mut self) {
        self.no_connection_follows();
    }
}

impl Registrar for HyphaRegistrar {
    type Connection = OpenClient;
    type Error = Failure;

    /// Asks over the client's own connection, since Hypha's registry has no other lane; and over one under another id while the client is closed, since the server takes the registration of whoever
    /// has the id away when it refuses a second one. What it finds of this process then is what is left of it. A token that is bound to the client's id opens no other one: then there is no answer.
    async fn look_up(&mut self, connection: Option<&OpenClient>) -> Result<Presence, Failure> {
        let shared = self.client.shared();
        let is_closed = matches!(*shared.status.borrow(), ConnectionStatus::Closing | ConnectionStatus::Closed);
        if connection.is_none() || is_closed {
            return Ok(match presence(&self.client, &look_from_outside(&self.client).await?) {
                Presence::Ours => Presence::Missing,
                // Nothing is rebuilt while somebody else lives under the id.
                Presence::Another(identity) => {
                    self.no_connection_follows();
                    Presence::Another(identity)
                }
                other => other,
            });
        }
        // While the client repairs its connection itself, what the registry says is no answer to the question, which is about the connection that is there: it is waited for, as long as the look-up may take.
        let mut status = shared.status.subscribe();
        let _ = status.wait_for(|status| !matches!(status, ConnectionStatus::Connecting { .. })).await;
        self.check_connected()?;
        let mark = shared.services.nonce();
        let registered = manager::list_services_of(shared, &shared.settings.client_id).await.map_err(call_failure)?;
        if shared.services.nonce() != mark {
            return Err(call_failure(CallError::ConnectionLost { reason: "it was made anew meanwhile".into() }));
        }
        Ok(presence(&self.client, &registered))
    }

    async fn close(&mut self, mut connection: OpenClient) {
        // Calls wait: another connection follows.
        let closed = self.client.shared().close(true);
        connection.client = None;
        closed.await;
    }

    /// The server lets the client in by its user's token, and not by that for coming back, so that it notices another one of the same id.
    async fn connect(&mut self) -> Result<OpenClient, Failure> {
        // Closes the client again if this is dropped.
        let calls_wait = self.client.shared().wanted.borrow().calls_wait;
        let mut open = OpenClient { client: Some(self.client.clone()), calls_wait };
        let opened = self.client.open().await;
        open.calls_wait = matches!(&opened, Err(error) if calls_wait && !error.is_permanent());
        opened.map_err(connect_failure)?;
        Ok(open)
    }

    /// A client that is open has registered its services.
    async fn register(&mut self, _connection: &OpenClient) -> Result<(), Failure> {
        self.check_connected()
    }

    fn last_heard(&self, _connection: &OpenClient) -> Option<Instant> {
        Some(self.client.last_heard())
    }
}

/// What is registered under the id of a client that is closed. Nobody but itself can have that of an anonymous one.
async fn look_from_outside(client: &HyphaClient) -> Result<Vec<ServiceInfo>, Failure> {
    let Some(outside) = client.under_another_id() else { return Ok(Vec::new()) };
    outside.open().await.map_err(connect_failure)?;
    let registered = manager::list_services_of(outside.shared(), &client.shared().settings.client_id).await;
    outside.close().await;
    registered.map_err(call_failure)
}

/// Who is registered under the client's id. The service that every client has says whose the id is.
fn presence(client: &HyphaClient, registered: &[ServiceInfo]) -> Presence {
    let services = &client.shared().services;
    let present = services.nonce();
    let mark = |name: &str| registered.iter().find(|info| &*info.name == name).map(|info| info.nonce.as_deref());
    match mark("built-in") {
        Some(Some(nonce)) if services.is_of_this_process(nonce) => {
            let is_present = |name: &str| mark(name).flatten() == Some(&*present);
            let are_present =
                is_present("built-in") && services.offers.registered().iter().all(|service| is_present(service.name()));
            if are_present { Presence::Ours } else { Presence::Missing }
        }
        Some(_) => Presence::Another((*client.id()).into()),
        None => Presence::Missing,
    }
}

fn connect_failure(error: Arc<ConnectError>) -> Failure {
    let verdict = Verdict::never_sent();
    let verdict = if error.is_permanent() { verdict.permanent() } else { verdict };
    Failure::new(verdict, StartError::Connect(error))
}

fn call_failure(error: CallError) -> Failure {
    let verdict = if error.is_send_side() { Verdict::never_sent() } else { Verdict::maybe_sent() };
    Failure::new(verdict, error)
}

impl HyphaClient {
    /// Tells a probe what the client notices: that its connection was lost, and that the server says that a service of its own was taken out of the registry. A registry that forgets says nothing, so this replaces no
    /// look-up. It ends when the client has gone; where it is dropped before, nothing is told any more.
    pub fn report_to(&self, monitor: RegistrationMonitor) -> impl Future<Output = ()> + Send + use<> {
        let (mut status, mut removals) = (self.status(), self.shared().removals.subscribe());
        async move {
            let mut was_connected = status.borrow_and_update().is_connected();
            loop {
                let (changed, is_removed) = tokio::select! {
                    changed = status.changed() => (changed, false),
                    changed = removals.changed() => (changed, true),
                };
                if changed.is_err() {
                    return;
                }
                if is_removed {
                    monitor.own_eviction_seen();
                }
                let is_connected = status.borrow_and_update().is_connected();
                if was_connected && !is_connected {
                    monitor.disconnected();
                }
                was_connected = is_connected;
            }
        }
    }
}

impl Drop for OpenClient {
    fn drop(&mut self) {
        if let Some(client) = &self.client {
            // Nobody waits for it to be closed.
            drop(client.shared().close(self.calls_wait));
        }
    }
}
