//! Over a real socket: the first sending is cut, and its copy arrives whole.

use std::{
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker, ready},
};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, Version};
use http_body::Frame;
use http_body_util::{BodyExt, Full};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use tokio::sync::{mpsc, watch};
use tower_recovery_http::{RepeatableBody, ReplayableBody};
use tower_recovery_test::{Act, FaultyServer};

use crate::{
    bounded,
    source::{Item, Script, Source},
};

const PARTS: usize = 40;

fn part(number: usize) -> Bytes {
    (0..1000).map(|byte| (number * 31 + byte) as u8).collect()
}

fn whole() -> Bytes {
    (0..PARTS).flat_map(part).collect()
}

/// Parts as the test sends them, and how many of them the client has taken.
struct Sent(mpsc::UnboundedReceiver<Bytes>, watch::Sender<usize>);

impl Sent {
    fn new() -> (mpsc::UnboundedSender<Bytes>, watch::Receiver<usize>, Self) {
        let (sender, parts) = mpsc::unbounded_channel();
        let (count, taken) = watch::channel(0);
        (sender, taken, Self(parts, count))
    }
}

impl Script for Sent {
    fn next(&mut self, waker: &Waker) -> Poll<Item> {
        let part = ready!(self.0.poll_recv(&mut Context::from_waker(waker)));
        self.1.send_modify(|taken| *taken += usize::from(part.is_some()));
        Poll::Ready(part.map(|part| Ok(Frame::data(part))))
    }
}

type Upload = ReplayableBody<Source<Sent>>;

fn client() -> Client<HttpConnector, Upload> {
    Client::builder(TokioExecutor::new()).build_http()
}

fn upload(server: &FaultyServer, body: Upload) -> Request<Upload> {
    let uri = format!("{}/upload", server.origin());
    Request::builder().method(Method::PUT).uri(uri).version(Version::HTTP_11).body(body).expect("a request")
}

/// What arrived: its content-length, and its bytes.
type Arrived = Arc<Mutex<Vec<(Option<String>, Bytes)>>>;

async fn server(acts: Vec<Act>) -> (FaultyServer, Arrived) {
    let arrived = Arrived::default();
    let log = Arc::clone(&arrived);
    let server = FaultyServer::builder()
        .application(move |request| {
            let length =
                request.headers().get("content-length").map(|length| length.to_str().expect("a number").to_owned());
            log.lock().expect("nobody panicked").push((length, request.body().clone()));
            Response::new(Bytes::from_static(b"stored"))
        })
        .script(acts)
        .start()
        .await
        .expect("a port is free");
    (server, arrived)
}

#[tokio::test]
async fn a_body_that_was_sent_whole_to_a_reset_connection_arrives_again_byte_by_byte() {
    for size in [Some(whole().len() as u64), None] {
        let (server, arrived) = server(vec![Act::RunThenReset]).await;
        let (sender, _taken, parts) = Sent::new();
        (0..PARTS).for_each(|number| sender.send(part(number)).unwrap());
        drop(sender);
        let first = ReplayableBody::new(Source::new(parts).of_size(size), 1 << 20);
        let second = first.try_copy().unwrap();

        bounded(client().request(upload(&server, first))).await.unwrap_err();
        assert!(second.is_repeatable());
        let response = bounded(client().request(upload(&server, second))).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        let sent = (size.map(|size| size.to_string()), whole());
        assert_eq!(*arrived.lock().unwrap(), [sent.clone(), sent], "the same bytes with the same content-length");
    }
}

#[tokio::test]
async fn a_body_that_was_cut_in_the_middle_goes_on_from_the_stream_after_its_replay() {
    let (server, arrived) = server(Vec::new()).await;
    let (sender, mut taken, parts) = Sent::new();
    let source = Source::new(parts).of_size(Some(whole().len() as u64));
    let first = ReplayableBody::new(source, 1 << 20);
    let second = first.try_copy().unwrap();

    (0..PARTS / 2).for_each(|number| sender.send(part(number)).unwrap());
    let sending = tokio::spawn(client().request(upload(&server, first)));
    bounded(taken.wait_for(|&taken| taken == PARTS / 2)).await.unwrap();
    bounded(server.refuse()).await;
    bounded(sending).await.unwrap().unwrap_err();
    server.accept_again().unwrap();

    assert!(second.is_repeatable());
    let sending = tokio::spawn(client().request(upload(&server, second)));
    (PARTS / 2..PARTS).for_each(|number| sender.send(part(number)).unwrap());
    drop(sender);
    let response = bounded(sending).await.unwrap().unwrap();
    assert_eq!(bounded(response.into_body().collect()).await.unwrap().to_bytes(), "stored");
    assert_eq!(*arrived.lock().unwrap(), [(Some(whole().len().to_string()), whole())]);
}

#[tokio::test]
async fn a_copy_that_cannot_be_sent_whole_never_passes_for_the_whole() {
    let (server, arrived) = server(vec![Act::RunThenReset]).await;
    let body = ReplayableBody::new(Full::new(whole()), 1000);
    let copy = body.try_copy().unwrap();
    let client: Client<HttpConnector, ReplayableBody<Full<Bytes>>> = Client::builder(TokioExecutor::new()).build_http();
    let request = |body| Request::put(format!("{}/upload", server.origin())).body(body).unwrap();
    bounded(client.request(request(body))).await.unwrap_err();
    assert!(!copy.is_repeatable());
    bounded(client.request(request(copy))).await.unwrap_err();
    assert_eq!(arrived.lock().unwrap().len(), 1, "only the first was ever complete");
}
