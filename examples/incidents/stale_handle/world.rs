//! The servers: a registry, the old and the new artifact manager, and the books that they keep.

use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use bytes::Bytes;
use http::{Method, Request, Response};
use tokio::sync::watch;
use tower_recovery::{Observer, RecoveryEvent};
use tower_recovery_test::{Act, FaultyServer, faulty::RequestContext};

use super::contender::RegistryClient;

pub(crate) const OLD_CLIENT_ID: &str = "public/marvelous-chameleon-04319715";
pub(crate) const NEW_CLIENT_ID: &str = "public/incredible-athlete-20303535";

/// How long a write takes before it is executed: it is in flight for that long.
const WRITE_TIME: Duration = Duration::from_millis(150);

/// How long the callers may take to bring their writes on their way: a machine that is too slow for this ends the run, and does not hang it.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) struct World {
    registry: FaultyServer,
    registered: Arc<Mutex<Registration>>,
    old: FaultyServer,
    new: FaultyServer,
    books: Arc<Books>,
}

/// What the registry answers.
#[derive(Clone, serde::Serialize)]
struct Registration {
    client_id: &'static str,
    origin: String,
}

/// What both artifact managers executed.
#[derive(Default)]
pub(crate) struct Books {
    executed: Mutex<Executed>,
    writes_in_flight: watch::Sender<usize>,
}

#[derive(Default)]
pub(crate) struct Executed {
    /// How often each write was executed, by request id.
    pub(crate) writes: HashMap<String, usize>,
    /// How often each read was counted as a view, by request id.
    pub(crate) views: HashMap<String, usize>,
    /// How often the registry was asked since the manager registered anew.
    pub(crate) look_ups: usize,
    /// What the stack told of its handle since then.
    pub(crate) told: Told,
}

/// What a stack tells of its handle.
#[derive(Clone, Copy, Default)]
pub(crate) struct Told {
    pub(crate) evictions: usize,
    /// Handles that took the place of another one.
    pub(crate) replacements: usize,
    /// Look-ups that reads asked for which had waited for long.
    pub(crate) suspicions: usize,
    /// Reads that were given up because of it, by their first attempt or by a later one.
    pub(crate) given_up: usize,
    pub(crate) given_up_again: usize,
}

impl Told {
    fn hear(&mut self, event: &RecoveryEvent) {
        match event {
            RecoveryEvent::HandleEvicted { .. } => self.evictions += 1,
            RecoveryEvent::HandleResolved { previous: Some(_), .. } => self.replacements += 1,
            RecoveryEvent::HandleSuspected { .. } => self.suspicions += 1,
            RecoveryEvent::AttemptFailed { attempt, cause, .. }
                if cause.contains("in whose place the registry names") =>
            {
                self.given_up += 1;
                self.given_up_again += usize::from(*attempt > 1);
            }
            _ => {}
        }
    }
}

impl World {
    pub(crate) async fn start() -> io::Result<Self> {
        let books = Arc::new(Books::default());
        let old = artifact_manager(&books).await?;
        let new = artifact_manager(&books).await?;
        let registered = Arc::new(Mutex::new(Registration { client_id: OLD_CLIENT_ID, origin: old.origin() }));
        let registry = registry(&registered, &books).await?;
        Ok(Self { registry, registered, old, new, books })
    }

    pub(crate) fn old(&self) -> &FaultyServer {
        &self.old
    }

    pub(crate) fn registry_client(&self) -> RegistryClient {
        RegistryClient::new(self.registry.origin().parse().expect("the server's own origin"))
    }

    /// Where the status calls go, which stay green through all of it.
    pub(crate) fn status_uri(&self) -> String {
        format!("{}/status", self.registry.origin())
    }

    pub(crate) async fn wait_until_writes_in_flight(&self, at_least: usize) {
        let mut writes_in_flight = self.books.writes_in_flight.subscribe();
        let enough = writes_in_flight.wait_for(|writes| *writes >= at_least);
        let in_time = tokio::time::timeout(PATIENCE, enough).await;
        in_time
            .expect("a machine of two cores brings that many writes on their way")
            .expect("the books are kept as long as the world");
    }

    /// The manager registers under another id, at another address. Returns how many writes were under way at that moment.
    pub(crate) fn register_anew(&self) -> usize {
        let writes_in_flight = *self.books.writes_in_flight.borrow();
        *self.registered.lock().expect("no holder panics") =
            Registration { client_id: NEW_CLIENT_ID, origin: self.new.origin() };
        let mut executed = self.executed();
        (executed.look_ups, executed.told) = (0, Told::default());
        drop(executed);
        writes_in_flight
    }

    /// Counts what a stack tells of its handle.
    pub(crate) fn observer(&self) -> impl Observer + 'static {
        let books = Arc::clone(&self.books);
        move |event: &RecoveryEvent| books.executed.lock().expect("no holder panics").told.hear(event)
    }

    pub(crate) fn executed(&self) -> MutexGuard<'_, Executed> {
        self.books.executed.lock().expect("no holder panics")
    }
}

async fn registry(registered: &Arc<Mutex<Registration>>, books: &Arc<Books>) -> io::Result<FaultyServer> {
    let (registered, books) = (Arc::clone(registered), Arc::clone(books));
    FaultyServer::builder()
        .application(move |request| {
            if request.uri().path() == "/status" {
                return Response::new(Bytes::from_static(b"green"));
            }
            books.executed.lock().expect("no holder panics").look_ups += 1;
            let registration = registered.lock().expect("no holder panics").clone();
            Response::new(serde_json::to_vec(&registration).expect("two strings").into())
        })
        .start()
        .await
}

async fn artifact_manager(books: &Arc<Books>) -> io::Result<FaultyServer> {
    let (booked, started) = (Arc::clone(books), Arc::clone(books));
    FaultyServer::builder()
        .script(move |request: &RequestContext| match request.method {
            Method::POST => {
                started.writes_in_flight.send_modify(|writes| *writes += 1);
                Act::SlowThenRun { delay: WRITE_TIME }
            }
            _ => Act::Answer,
        })
        .application(move |request| booked.execute(request))
        .start()
        .await
}

impl Books {
    fn execute(&self, request: &Request<Bytes>) -> Response<Bytes> {
        let id = request.headers()["x-request-id"].to_str().expect("the callers' ids are ASCII").to_owned();
        let mut executed = self.executed.lock().expect("no holder panics");
        if request.method() == Method::POST {
            *executed.writes.entry(id).or_default() += 1;
            self.writes_in_flight.send_modify(|writes| *writes -= 1);
        } else if request.uri().query() != Some("silent=true") {
            *executed.views.entry(id).or_default() += 1;
        }
        Response::new(Bytes::from_static(b"an artifact"))
    }
}
