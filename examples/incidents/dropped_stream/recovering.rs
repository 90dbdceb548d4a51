//! Our stack round the same client.

use std::{convert::Infallible, pin::pin, time::Duration};

use bytes::Bytes;
use futures::TryStreamExt;
use http::{Request, response::Parts};
use http_body_util::Full;
use tower::{ServiceExt, service_fn};
use tower_recovery::{
    Failure, Recovery, Resolved, StreamMode, StreamPolicy,
    stream_replacement::{MarkedItem, StreamReport},
};
use tower_recovery_http::{
    HttpFrontDoor, HttpStreams, Origin, SendSideHttpStack,
    sse::{SseItem, SseRules, SseVerdict},
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
    match model(case, origin).whole(HELD_BACK).oneshot(question()).await {
        Ok(answer) => told(&answer.head, &answer.items, &answer.report),
        Err(failure) => failed(&failure),
    }
}

/// Takes words as they come, and throws them away where they begin anew.
pub(crate) async fn ask_marked(case: Case, origin: &str) -> Told {
    let answer = match model(case, origin).marked().oneshot(question()).await {
        Ok(answer) => answer,
        Err(failure) => return failed(&failure),
    };
    let (mut head, mut items) = (answer.head, Vec::new());
    let mut stream = pin!(answer.items);
    loop {
        match stream.try_next().await {
            Ok(Some(MarkedItem::Item(item))) => items.push(item),
            Ok(Some(MarkedItem::Restarted(restarted))) => {
                head = restarted.head;
                items.clear();
            }
            Ok(None) => return told(&head, &items, &stream.report()),
            Err(failure) => return failed(&failure),
        }
    }
}

/// The one place where the stack is put round the client.
fn model(case: Case, origin: &str) -> HttpStreams<SendSideHttpStack<Full<Bytes>>, Full<Bytes>, SseRules> {
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
        .sse(SseRules::openai_chat())
}

fn told(head: &Parts, items: &[SseItem], report: &StreamReport) -> Told {
    Told {
        text: items.iter().filter_map(word).collect(),
        verdict: verdict(head, items),
        replacements: report.discarded.len(),
    }
}

fn failed(failure: &Failure) -> Told {
    Told { replacements: failure.attempts().saturating_sub(1) as usize, ..Told::default() }
}

fn word(item: &SseItem) -> Option<String> {
    let SseItem::Event(event) = item else { return None };
    let chunk = serde_json::from_str(event.data()).ok()?;
    Some(by_hand::word(&chunk).to_owned())
}

/// The no of the model: what its status says, or the last event.
fn verdict(head: &Parts, items: &[SseItem]) -> Option<SseVerdict> {
    let raw = items.iter().filter_map(|item| if let SseItem::Raw(bytes) = item { Some(&bytes[..]) } else { None });
    let raw: Vec<u8> = raw.flatten().copied().collect();
    let of_last_event = || {
        let Some(SseItem::Event(last)) = items.last() else { return None };
        SseVerdict::of_event(last)
    };
    SseVerdict::of_body(head, &raw).or_else(of_last_event)
}
