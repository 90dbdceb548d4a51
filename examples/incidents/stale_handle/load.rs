//! A thousand callers: some read, some write, some only look at the status.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use tokio::{
    sync::{Barrier, watch},
    task::JoinSet,
    time::Instant,
};
use tower::{BoxError, Service, ServiceExt};
use tower_recovery::{Delivery, Failure, HandleSuperseded};
use tower_recovery_http::{Origin, OriginHandle, Transport};

use super::{TIMEOUT, contender::Client, world::World};

const READERS: usize = 450;
const WRITERS: usize = 450;
const WATCHERS: usize = 100;
/// How long a caller thinks between two calls.
const PAUSE: Duration = Duration::from_millis(400);

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write,
    Status,
}

/// One call, as its caller saw it.
pub(crate) struct Call {
    pub(crate) kind: Kind,
    pub(crate) id: String,
    pub(crate) started: Instant,
    pub(crate) ended: Instant,
    pub(crate) outcome: Outcome,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Answered,
    /// The caller knows that it was not executed.
    NotExecuted,
    /// It failed, and it may have been executed, or the caller cannot tell.
    Uncertain,
    /// The same, because the stack gave it up before it had failed.
    Abandoned,
}

impl Call {
    pub(crate) fn is_uncertain(&self) -> bool {
        matches!(self.outcome, Outcome::Uncertain | Outcome::Abandoned)
    }
}

pub(crate) struct Load {
    callers: JoinSet<Vec<Call>>,
    again: Arc<Barrier>,
    end: watch::Sender<Option<Instant>>,
}

impl Load {
    /// Starts the callers, and returns when each has made a first call.
    pub(crate) async fn start(client: &Client, world: &World) -> Self {
        let everybody = READERS + WRITERS + WATCHERS;
        let first = Arc::new(Barrier::new(everybody + 1));
        let again = Arc::new(Barrier::new(everybody + 1));
        let end = watch::Sender::new(None);
        let mut callers = JoinSet::new();
        for (kind, name, number) in
            [(Kind::Read, "read", READERS), (Kind::Write, "write", WRITERS), (Kind::Status, "status", WATCHERS)]
        {
            for caller in 0..number {
                let mut caller = Caller {
                    kind,
                    name: format!("{name}-{caller}"),
                    client: client.clone(),
                    status: world.status_uri(),
                    calls: Vec::new(),
                };
                let (first, again, end) = (Arc::clone(&first), Arc::clone(&again), end.subscribe());
                callers.spawn(async move {
                    caller.call().await;
                    first.wait().await;
                    again.wait().await;
                    caller.call_until(end).await;
                    caller.calls
                });
            }
        }
        first.wait().await;
        Self { callers, again, end }
    }

    /// Lets every caller make its second call at this moment, and go on from there.
    pub(crate) fn everybody_calls_again(&self) {
        let again = Arc::clone(&self.again);
        tokio::spawn(async move { again.wait().await });
    }

    /// Starts no call after this moment, and returns all of them when the last one has ended.
    pub(crate) async fn until(self, end: Instant) -> Vec<Call> {
        self.end.send_replace(Some(end));
        self.callers.join_all().await.into_iter().flatten().collect()
    }
}

struct Caller {
    kind: Kind,
    name: String,
    client: Client,
    status: String,
    calls: Vec<Call>,
}

impl Caller {
    async fn call_until(&mut self, end: watch::Receiver<Option<Instant>>) {
        loop {
            self.call().await;
            let next = Instant::now() + PAUSE;
            if end.borrow().is_some_and(|end| next >= end) {
                return;
            }
            tokio::time::sleep_until(next).await;
        }
    }

    async fn call(&mut self) {
        let id = format!("{}-{}", self.name, self.calls.len());
        let started = Instant::now();
        let outcome = match self.kind {
            Kind::Status => look_at_status(&self.status).await,
            Kind::Read => self.send(Method::GET, "/artifacts/7", &id).await,
            Kind::Write => self.send(Method::POST, "/artifacts/7/commit", &id).await,
        };
        let outcome = outcome.map_or_else(judge, |()| Outcome::Answered);
        self.calls.push(Call { kind: self.kind, id, started, ended: Instant::now(), outcome });
    }

    async fn send(&mut self, method: Method, path: &str, id: &str) -> Result<(), BoxError> {
        let request = Request::builder().method(method).uri(path).header("x-request-id", id).body(Full::default())?;
        self.client.ready().await?.call(request).await?;
        Ok(())
    }
}

/// The status has nothing to do with the handle: that is why it stayed green.
async fn look_at_status(uri: &str) -> Result<(), BoxError> {
    let (origin, path) = uri.split_at(uri.rfind('/').expect("the status has a path"));
    let client = OriginHandle::new(origin.parse::<Origin>()?, &Transport::new().connect_timeout(TIMEOUT))?;
    client.oneshot(Request::get(path).body(Full::<Bytes>::default())?).await?;
    Ok(())
}

/// What a failed call says of itself. Only a failure that carries a proof can say that nothing was executed.
fn judge(error: BoxError) -> Outcome {
    let failure = Failure::recover(error);
    match failure.delivery() {
        Some(Delivery::NeverSent | Delivery::Refused) => Outcome::NotExecuted,
        _ if failure.find::<HandleSuperseded>().is_some() => Outcome::Abandoned,
        Some(Delivery::MaybeSent | Delivery::Answered) | None => Outcome::Uncertain,
    }
}
