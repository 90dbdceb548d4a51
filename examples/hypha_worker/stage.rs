//! Stage: the server, the worker, the artifact manager of the moment, and a Python client that looks at it all from outside.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use http::{Request, header};
use http_body_util::Full;
use tower::{BoxError, ServiceExt};
use tower_recovery::{Delivery, RecoveryEvent};
use tower_recovery_hypha::Call;
use tower_recovery_test::hypha::{HyphaServer, PythonPeer};

use super::{
    model::Model,
    over_http::{self, ArtifactsOverHttp},
    readers::Readers,
    worker::Worker,
};

pub(crate) const ARTIFACT: &str = "weights";

pub(crate) struct Stage {
    pub(crate) server: HyphaServer,
    pub(crate) worker: Worker,
    /// The artifact manager that the registry names.
    pub(crate) manager: PythonPeer,
    /// A client that is neither.
    pub(crate) outsider: PythonPeer,
    pub(crate) model: Model,
    over_http: ArtifactsOverHttp,
    resolves: Arc<AtomicUsize>,
    managers: usize,
}

impl Stage {
    /// `None` where no Hypha server is installed.
    pub(crate) async fn set() -> Result<Option<Self>, BoxError> {
        let Some(server) = HyphaServer::start().await else { return Ok(None) };
        let model = Model::start().await?;
        let (manager, outsider) = tokio::join!(server.artifact_manager("manager-1"), server.peer("outsider"));
        let (manager, outsider) = (manager?, outsider?);

        let resolves = Arc::<AtomicUsize>::default();
        let counted = Arc::clone(&resolves);
        let watch = move |event: &RecoveryEvent| {
            if matches!(event, RecoveryEvent::HandleResolved { .. }) {
                counted.fetch_add(1, Ordering::Relaxed);
            }
        };
        let (url, token) = (server.url(), server.token());
        let worker = Worker::start(&url, token, model.origin().parse()?, watch.clone()).await?;
        let over_http = over_http::artifacts(&worker.client, url.parse()?, token, watch)?;
        println!("worker-7 is registered with the Hypha server at {url}");

        let stage = Self { server, worker, manager, outsider, model, over_http, resolves, managers: 1 };
        let create = Call::new("create").keyword("alias", ARTIFACT);
        stage.worker.artifacts.clone().oneshot(create).await?;
        Ok(Some(stage))
    }

    /// Connected, and not registered yet.
    pub(crate) async fn next_manager(&mut self) -> Result<PythonPeer, BoxError> {
        self.managers += 1;
        Ok(self.server.peer(&format!("manager-{}", self.managers)).await?)
    }

    /// How often a handle was resolved so far.
    pub(crate) fn resolves(&self) -> usize {
        self.resolves.load(Ordering::Relaxed)
    }

    pub(crate) fn commits(&self) -> usize {
        self.server.ledger().iter().filter(|execution| execution.method == "commit").count()
    }

    /// How often this request was executed, by all artifact managers together.
    pub(crate) fn executed(&self, request_id: &str) -> usize {
        let ledger = self.server.ledger();
        ledger.iter().filter(|execution| execution.request_id.as_deref() == Some(request_id)).count()
    }

    pub(crate) fn readers(&self, over: Over) -> Readers {
        let (artifacts, over_http) = (self.worker.artifacts.clone(), self.over_http.clone());
        Readers::start(move |id| {
            let (artifacts, over_http) = (artifacts.clone(), over_http.clone());
            async move {
                match over {
                    Over::Websocket => {
                        let read = Call::new("read").arg(ARTIFACT).keyword("request_id", id);
                        artifacts.oneshot(read).await.map(drop).map_err(|failure| format!("{failure:?}"))
                    }
                    Over::Http => {
                        let path = format!("/read?artifact_id={ARTIFACT}&request_id={id}");
                        let read = Request::get(path).body(Full::default()).expect("the request is well formed");
                        let answer = over_http.oneshot(read).await.map_err(|failure| format!("{failure:?}"))?;
                        if answer.status().is_success() { Ok(()) } else { Err(format!("{answer:?}")) }
                    }
                }
            }
        })
    }

    pub(crate) async fn commit(&self, over: Over, id: &str) -> Commit {
        let outcome = match over {
            Over::Websocket => {
                let commit = Call::new("commit").arg(ARTIFACT).keyword("request_id", id);
                self.worker.artifacts.clone().oneshot(commit).await.map(drop)
            }
            Over::Http => {
                let arguments = serde_json::json!({ "artifact_id": ARTIFACT, "request_id": id });
                let commit = Request::post("/commit")
                    .header(header::CONTENT_TYPE, "application/json")
                    .body(Full::from(arguments.to_string()))
                    .expect("the request is well formed");
                match self.over_http.clone().oneshot(commit).await {
                    Ok(answer) if !answer.status().is_success() => return Commit::Failed(format!("{answer:?}")),
                    outcome => outcome.map(drop),
                }
            }
        };
        match outcome {
            Ok(()) => Commit::Done,
            Err(failure) if failure.delivery() == Some(Delivery::MaybeSent) => Commit::MaybeExecuted,
            Err(failure) => Commit::Failed(format!("{failure:?}")),
        }
    }
}

/// Which way the artifact manager is called.
#[derive(Clone, Copy)]
pub(crate) enum Over {
    Websocket,
    Http,
}

/// What the caller of a commit knows of it.
pub(crate) enum Commit {
    Done,
    MaybeExecuted,
    Failed(String),
}
