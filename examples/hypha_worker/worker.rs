//! The worker: what to copy into your own.

use std::{convert::Infallible, error::Error, time::Duration};

use bytes::Bytes;
use futures_util::TryStreamExt;
use http::{Request, header};
use http_body_util::Full;
use tower::{BoxError, ServiceExt, service_fn};
use tower_recovery::{
    LinearBackoff, Observer, Recovery, RegistrationMonitor, RegistrationProbe, Resolved, StreamMode, StreamPolicy,
    sources,
    stream_replacement::{StreamReplacement, Whole},
};
use tower_recovery_http::{
    HttpFrontDoor, HttpRules, Origin, SendSideHttpStack,
    sse::{SseEvents, SseRules},
};
use tower_recovery_hypha::{
    HyphaClient, HyphaFrontDoor, HyphaRegistrar, HyphaStack, LocalService, RemoteError, ServiceId, Value,
};

/// How often the registry is asked for the worker's own id. In earnest: the 60 s that are the default.
pub(crate) const INTERVAL: Duration = Duration::from_secs(4);
/// How long a write waits for its answer. In earnest as long as the longest write.
pub(crate) const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a read waits before the registry is asked whether its artifact manager is still the one.
pub(crate) const SUSPECT_AFTER: Duration = Duration::from_millis(500);
/// The most of a model's answer that is held back until it is whole, in bytes.
const HELD_BACK: usize = 1 << 20;

pub(crate) struct Worker {
    pub(crate) client: HyphaClient,
    /// Says how the registration is.
    pub(crate) registration: RegistrationMonitor,
    /// A tower service of `Call`. Clone it for every task.
    pub(crate) artifacts: HyphaStack,
}

impl Worker {
    /// Connects, offers the service `worker`, and keeps it registered.
    pub(crate) async fn start(
        server_url: &str,
        token: &str,
        model: Origin,
        watch: impl Observer + 'static,
    ) -> Result<Self, BoxError> {
        let client = HyphaClient::builder(server_url).token(token).client_id("worker-7").connect().await?;
        client.offer(service(model)?).await?;

        let (registrar, connection) = HyphaRegistrar::new(client.clone());
        let probe = RegistrationProbe::builder(registrar)
            .connection(connection)
            .named("registration of worker-7")
            .interval(INTERVAL)
            .look_up_timeout(INTERVAL / 4)
            // One worker is no fleet.
            .rebuild_spread(Duration::from_millis(100))
            .build()?;
        let registration = probe.monitor();
        tokio::spawn(client.report_to(registration.clone()));
        tokio::spawn(probe.run());

        let id: ServiceId = "artifact-manager".parse()?;
        let artifacts = Recovery::hypha(&client, id)
            .artifact_manager()
            .suspect_after(SUSPECT_AFTER)
            .attempt_timeout(ATTEMPT_TIMEOUT)
            .attempts(8)
            .backoff(LinearBackoff::new(Duration::from_millis(100), Duration::from_secs(1)))
            .reporting_to(registration.clone())
            .observer(watch)
            .build()?;
        Ok(Self { client, registration, artifacts })
    }
}

/// What others call: `status`, and `ask`, which asks a model.
fn service(model: Origin) -> Result<LocalService, BoxError> {
    let model = streams(model)?;
    let service = LocalService::new("worker")?.method("status", |_| async { Ok(Value::from("busy")) }).method(
        "ask",
        move |call| {
            let model = model.clone();
            async move {
                let question = call.argument(0, "question").and_then(Value::as_str);
                let question = question.ok_or_else(|| RemoteError::new("TypeError", "question must be a str"))?;
                let answer = ask(model, question).await;
                answer.map(Value::from).map_err(|error| RemoteError::new("ModelError", with_sources(&*error)))
            }
        },
    );
    Ok(service)
}

/// The model's answers, each whole.
type Model = StreamReplacement<SendSideHttpStack<Full<Bytes>>, HttpRules<Full<Bytes>>, SseRules, Whole>;

/// The model's streams. One that breaks off is replaced, once.
fn streams(model: Origin) -> Result<Model, BoxError> {
    let resolver = service_fn(move |_: &'static str| {
        let found = Resolved::from(model.clone());
        async move { Ok::<_, Infallible>(found) }
    });
    let policy = StreamPolicy::builder(StreamMode::RetryOnHealthyProbe)
        // The longest pause before a replacement, too. In earnest: a minute.
        .recovery_grace(Duration::from_millis(150))
        .build()?;
    Ok(Recovery::http(resolver, "model")
        .named("model")
        .streams(policy)?
        .probe(|| Request::get("/health").body(Full::default()).expect("the request is well formed"))
        .sse(SseRules::openai_chat())
        .whole(HELD_BACK))
}

/// One whole answer, of one attempt.
async fn ask(model: Model, question: &str) -> Result<String, BoxError> {
    let body = serde_json::json!({ "stream": true, "messages": [{ "role": "user", "content": question }] });
    let request = Request::post("/v1/chat/completions")
        .header(header::CONTENT_TYPE, "application/json")
        .body(Full::from(body.to_string()))?;
    let whole = model.oneshot(request).await?;
    let mut events = SseEvents::of_whole(whole);
    let mut answer = String::new();
    while let Some(event) = events.try_next().await? {
        // `[DONE]` is no chunk.
        let chunk: serde_json::Value = serde_json::from_str(event.data()).unwrap_or_default();
        answer.push_str(chunk["choices"][0]["delta"]["content"].as_str().unwrap_or_default());
    }
    Ok(answer)
}

fn with_sources(error: &(dyn Error + 'static)) -> String {
    sources(error).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
