//! Our stack round the same client.

use std::{convert::Infallible, pin::pin, time::Duration};

use bytes::Bytes;
use futures::TryStreamExt;
use http::Request;
use http_body_util::Full;
use tower::{ServiceExt, service_fn};
use tower_recovery::{Failure, Recovery, Resolved, StreamMode, StreamPolicy, stream_replacement::MarkedItem};
use tower_recovery_http::{
    HttpFrontDoor, HttpStreamsOverPools, Origin,
    sse::{SseEvent, SseEvents, SseMarkedEvents, SseRules, SseVerdict},
};

use super::{
    GRACE, IDLE, KEEP_ALIVE_IDLE, MAX_REPLACEMENTS, by_hand,
    case::Case,
    contender::Told,
    model::{HEALTH, question},
};

/// The most of an answer that is held back, in bytes.
const HELD_BACK: usize = 1 << 20;

/// Hands the answer out when it is complete.
pub(crate) async fn ask(case: Case, origin: &str) -> Told {
    let answer = match model(case, origin).sse(SseRules::openai_chat()).whole(HELD_BACK).oneshot(question()).await {
        Ok(answer) => answer,
        Err(failure) => return failed(&failure),
    };
    let mut told = Told { replacements: answer.report.discarded.len(), ..Told::default() };
    let mut events = SseEvents::of_whole(answer);
    loop {
        match events.try_next().await {
            Ok(Some(event)) => told.text.push_str(&word(&event)),
            Ok(None) => return told,
            Err(failure) => {
                told.verdict = failure.find::<SseVerdict>().cloned();
                return told;
            }
        }
    }
}

/// Takes words as they come, and throws them away where they begin anew.
pub(crate) async fn ask_marked(case: Case, origin: &str) -> Told {
    let answer = match model(case, origin).sse(SseRules::openai_chat()).marked().oneshot(question()).await {
        Ok(answer) => answer,
        Err(failure) => return failed(&failure),
    };
    let mut told = Told { replacements: answer.report.discarded.len(), ..Told::default() };
    let mut events = pin!(SseMarkedEvents::of(answer));
    loop {
        match events.try_next().await {
            Ok(Some(MarkedItem::Item(event))) => told.text.push_str(&word(&event)),
            Ok(Some(MarkedItem::Restarted(restarted))) => {
                told = Told { replacements: restarted.report.discarded.len(), ..Told::default() };
            }
            Ok(None) => return told,
            Err(failure) => {
                told.verdict = failure.find::<SseVerdict>().cloned();
                return told;
            }
        }
    }
}

/// The one place where the stack is put round the client.
fn model(case: Case, origin: &str) -> HttpStreamsOverPools<Full<Bytes>> {
    let origin: Origin = origin.parse().expect("the server's own origin");
    let resolver = service_fn(move |_: &'static str| {
        let found = Resolved::from(origin.clone());
        async move { Ok::<_, Infallible>(found) }
    });
    let policy = StreamPolicy::builder(StreamMode::RetryOnHealthyProbe)
        .idle(IDLE)
        .keep_alive_idle(KEEP_ALIVE_IDLE)
        .probe_timeout(Duration::from_secs(2))
        .probe_interval(Duration::from_secs(1))
        .recovery_grace(GRACE)
        .max_replacements(MAX_REPLACEMENTS)
        .build()
        .expect("the policy is within its bounds");
    Recovery::http(resolver, "model")
        .named(case.name())
        .transport(case.transport())
        .streams(policy)
        .expect("the settings are within their bounds")
        .probe(|| Request::get(HEALTH).body(Full::default()).expect("the request is well formed"))
}

fn failed(failure: &Failure) -> Told {
    Told { replacements: failure.attempts().saturating_sub(1) as usize, ..Told::default() }
}

fn word(event: &SseEvent) -> String {
    // `[DONE]` is no chunk.
    let chunk = serde_json::from_str(event.data()).unwrap_or_default();
    by_hand::word(&chunk).to_owned()
}
