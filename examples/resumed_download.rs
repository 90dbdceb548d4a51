//! A download that is cut again and again, and comes whole: what to copy into your own.
//!
//! Each time it breaks the rest of it is asked for, by `Range` under an `If-Range`; a file that has changed meanwhile would end it with an error. Everything below the line that says
//! so is the stage: your own registry, server and network take its place.

use std::{convert::Infallible, pin::pin, process::ExitCode, time::Duration};

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use http::{HeaderMap, Request, Response, StatusCode, header};
use http_body_util::Full;
use tower::{BoxError, Service, ServiceExt, service_fn};
use tower_recovery::{
    Recovery, Resolved, StreamMode, StreamPolicy,
    stream_replacement::{Resumed, StreamReplacement},
};
use tower_recovery_http::{BodyRules, HttpFrontDoor, HttpRules, Origin, RangeResume, SendSideHttpStack};
use tower_recovery_test::{
    CuttingProxy, FaultyServer,
    cutting::{Direction, Disturbance, Plan},
};

/// The client. Clone it for every task.
type Files = StreamReplacement<SendSideHttpStack<Full<Bytes>>, HttpRules<Full<Bytes>>, BodyRules, Resumed<RangeResume>>;

fn client(origin: Origin) -> Result<Files, BoxError> {
    let resolver = service_fn(move |_name: &'static str| {
        let found = Resolved::from(origin.clone());
        async move { Ok::<_, Infallible>(found) }
    });
    let policy = StreamPolicy::builder(StreamMode::RetryOnHealthyProbe)
        .max_replacements(5)
        // The longest pause before a replacement, too. In earnest: a minute.
        .recovery_grace(Duration::from_millis(100))
        .build()?;
    Ok(Recovery::http(resolver, "files").streams(policy)?.bodies().resumed())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, BoxError> {
    let file = large_file();
    let server = serving(file.clone()).await?;
    let network = cutting(&server).await?;
    let mut files = client(network.origin().parse()?)?;

    let download = files.ready().await?.call(Request::get("/large").body(Full::default())?).await?;
    let mut items = pin!(download.items);
    let mut received = BytesMut::new();
    while let Some(frame) = items.next().await {
        if let Ok(data) = frame?.into_data() {
            received.extend_from_slice(&data);
        }
    }

    let report = items.report();
    for attempt in &report.discarded {
        println!("attempt {}: {:>7} bytes, then it was cut", attempt.attempt, attempt.bytes);
    }
    println!("attempt {}: the rest, which makes {} of {}", report.attempts, received.len(), file.len());

    let holds = received == file && network.cuts() == 3 && report.attempts == 4;
    Ok(if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

// ---- The stage ----

const ETAG: &str = "\"first-edition\"";

fn large_file() -> Bytes {
    (0..250_000_u32).flat_map(u32::to_be_bytes).collect()
}

/// Serves the file, and the rest of it to who has the beginning.
async fn serving(file: Bytes) -> Result<FaultyServer, BoxError> {
    let server = FaultyServer::builder().application(move |request| {
        let answer = Response::builder().header(header::ETAG, ETAG);
        let answer = match first_byte(request.headers()) {
            None => answer.body(file.clone()),
            Some(first) => answer
                .status(StatusCode::PARTIAL_CONTENT)
                .header(header::CONTENT_RANGE, format!("bytes {first}-{}/{}", file.len() - 1, file.len()))
                .body(file.slice(first..)),
        };
        answer.expect("its headers are valid")
    });
    Ok(server.start().await?)
}

fn first_byte(request: &HeaderMap) -> Option<usize> {
    let range = request.get(header::RANGE).filter(|_| request.get(header::IF_RANGE).is_some_and(|tag| tag == ETAG))?;
    let (first, _last) = range.to_str().ok()?.strip_prefix("bytes=")?.split_once('-')?;
    first.parse().ok()
}

/// A network that loses the first three connections: in the middle of a body, in its first bytes, and in a head.
async fn cutting(server: &FaultyServer) -> Result<CuttingProxy, BoxError> {
    let lost = [(400_000, Disturbance::Reset), (200, Disturbance::Close), (20, Disturbance::Close)];
    let plans = lost.map(|(bytes, how)| Plan::pass().after(Direction::ToClient, bytes, how));
    Ok(CuttingProxy::before(server.address()).script(plans).start().await?)
}
