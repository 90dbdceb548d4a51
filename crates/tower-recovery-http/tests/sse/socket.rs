//! Events of a real client's bodies.

use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use http::{Request, Response, header};
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use tokio::time::timeout;
use tower_recovery::{
    Verdict,
    stream_replacement::{Sight, StreamRules},
};
use tower_recovery_http::sse::{SseItem, SseRules};
use tower_recovery_test::{Act, FaultyServer};

const EVENTS: &[u8] = b": hello\n\ndata: {\"choices\":[]}\r\n\r\ndata: [DONE]\n\n";

/// What the rules see of an answer that goes wrong like this: the events' data and what they say, and the error.
async fn seen(act: Act) -> (Vec<(String, Sight)>, Option<Verdict>) {
    let application = |_: &Request<Bytes>| {
        let mut response = Response::new(Bytes::from_static(EVENTS));
        response.headers_mut().insert(header::CONTENT_TYPE, "text/event-stream".parse().expect("a type"));
        response
    };
    let server = FaultyServer::builder().application(application).script(vec![act]).start().await.expect("a server");
    let client = Client::builder(TokioExecutor::new()).build::<_, Empty<Bytes>>(HttpConnector::new());
    let uri = server.origin().parse().expect("a URI");
    let response = client.get(uri).await.expect("a head");

    let mut rules = SseRules::openai_chat();
    assert!(!rules.is_verdict(&response));
    let (_, mut items) = rules.open(response);
    let mut events = Vec::new();
    while let Some(item) = items.next().await {
        let item = match item {
            Ok(item) => item,
            Err(error) => {
                let proven = StreamRules::<Response<Incoming>>::broken_by(&rules, error.as_ref());
                return (events, Some(proven));
            }
        };
        let sight = StreamRules::<Response<Incoming>>::look(&mut rules, &item);
        if let SseItem::Event(event) = item {
            events.push((event.data().to_owned(), sight));
        }
    }
    (events, None)
}

#[tokio::test]
async fn the_events_of_a_whole_answer_come_and_end() {
    let (events, broken) = timeout(Duration::from_secs(30), seen(Act::Answer)).await.expect("the test hangs");
    let chunk = "{\"choices\":[]}".to_owned();
    assert_eq!(events, [(chunk, Sight::Content), ("[DONE]".to_owned(), Sight::Terminal)]);
    assert_eq!(broken, None);
}

#[tokio::test]
async fn an_answer_that_breaks_gives_its_whole_events_and_its_error() {
    let cut = Act::PartialBody { sent: EVENTS.len() - 1 };
    let (events, broken) = timeout(Duration::from_secs(30), seen(cut)).await.expect("the test hangs");
    assert_eq!(events, [("{\"choices\":[]}".to_owned(), Sight::Content)], "what is unfinished is no event");
    assert_eq!(broken, Some(Verdict::maybe_sent().stale()));
}
