//! What people write: a client, a loop, and a text that grows.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde_json::Value;
use tower::BoxError;

use super::{
    PATIENCE,
    case::{Case, Over},
    contender::Told,
    model,
};

type HyperClient = Client<HttpConnector, Full<Bytes>>;

/// Asks, and asks again so many times if no answer came to its end.
pub(crate) async fn ask(case: Case, origin: &str, repeats: u32) -> Told {
    let mut builder = Client::builder(TokioExecutor::new());
    let client = builder.http2_only(case.over == Over::Http2).build_http();
    let mut told = Told::default();
    for attempt in 0..=repeats {
        told.replacements = attempt as usize;
        let reading = read(&client, origin, &mut told.text);
        if let Ok(Ok(true)) = tokio::time::timeout(PATIENCE, reading).await {
            break;
        }
    }
    told
}

/// Reads one answer to its end, and says whether that came with `[DONE]`.
async fn read(client: &HyperClient, origin: &str, text: &mut String) -> Result<bool, BoxError> {
    let mut question = model::question();
    *question.uri_mut() = format!("{origin}{}", model::CHAT).parse()?;
    let answer = client.request(question).await?;
    if !answer.status().is_success() {
        return Err(format!("the status is {}", answer.status()).into());
    }
    let mut body = answer.into_body();
    let mut unread = String::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        unread.push_str(std::str::from_utf8(&data)?);
        while let Some((line, rest)) = unread.split_once('\n') {
            let line = line.to_owned();
            unread = rest.to_owned();
            match line.strip_prefix("data: ") {
                Some("[DONE]") => return Ok(true),
                Some(chunk) => text.push_str(word(&serde_json::from_str(chunk)?)),
                None => {}
            }
        }
    }
    Ok(false)
}

/// The word in a chunk. What has none says nothing that is waited for.
pub(crate) fn word(chunk: &Value) -> &str {
    chunk.pointer("/choices/0/delta/content").and_then(Value::as_str).unwrap_or_default()
}
