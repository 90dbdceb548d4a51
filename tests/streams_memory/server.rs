//! A server of more than anybody should hold.

use std::{
    collections::VecDeque,
    convert::Infallible,
    io,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use http::{HeaderMap, Request, Response, StatusCode, header};
use http_body::Frame;
use http_body_util::StreamBody;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpListener, sync::watch, task::JoinSet};

use super::content::Content;

/// 1 GiB.
pub(crate) const LENGTH: u64 = 1 << 30;
/// What the data of an event holds; [`EVENTS`] of them hold as much as the file.
pub(crate) const EVENT: u64 = 256 << 10;
pub(crate) const EVENTS: u64 = LENGTH / EVENT;

const ETAG: &str = "\"large\"";
const PIECE: u64 = 64 << 10;

/// Serves a file of 1 GiB, by ranges too, and as many events.
pub(crate) struct Large {
    pub(crate) content: Content,
    address: SocketAddr,
    shared: Arc<Shared>,
    _connections: JoinSet<()>,
}

struct Shared {
    content: Content,
    /// After how many bytes each of the next answers is cut off.
    cuts: Mutex<VecDeque<u64>>,
    sent: AtomicU64,
    open: watch::Sender<usize>,
}

impl Large {
    pub(crate) async fn start<const CUTS: usize>(cuts: [u64; CUTS]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let content = Content::new();
        let shared = Arc::new(Shared {
            content: content.clone(),
            cuts: Mutex::new(cuts.into()),
            sent: AtomicU64::new(0),
            open: watch::Sender::new(0),
        });
        let mut connections = JoinSet::new();
        connections.spawn(accept(listener, Arc::clone(&shared)));
        Self { content, address, shared, _connections: connections }
    }

    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How many bytes of bodies were given to the connections.
    pub(crate) fn sent(&self) -> u64 {
        self.shared.sent.load(Ordering::Relaxed)
    }

    /// Waits until no connection is open.
    pub(crate) async fn wait_until_all_are_closed(&self) {
        let mut open = self.shared.open.subscribe();
        open.wait_for(|open| *open == 0).await.expect("the sender is shared");
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.expect("there are descriptors enough");
        let shared = Arc::clone(&shared);
        shared.open.send_modify(|open| *open += 1);
        connections.spawn(async move {
            let answer = service_fn(|request| answer(request, Arc::clone(&shared)));
            // It fails where it is cut, and where the client leaves.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await;
            shared.open.send_modify(|open| *open -= 1);
        });
    }
}

type Answer = Response<StreamBody<stream::BoxStream<'static, io::Result<Frame<Bytes>>>>>;

async fn answer(request: Request<Incoming>, shared: Arc<Shared>) -> Result<Answer, Infallible> {
    let response = Response::builder();
    Ok(match request.uri().path() {
        "/file" => {
            let first = first_byte(request.headers());
            let response = response.header(header::ETAG, ETAG).header(header::CONTENT_LENGTH, LENGTH - first);
            let response = match first {
                0 => response,
                first => response
                    .status(StatusCode::PARTIAL_CONTENT)
                    .header(header::CONTENT_RANGE, format!("bytes {first}-{}/{LENGTH}", LENGTH - 1)),
            };
            let content = shared.content.clone();
            response.body(StreamBody::new(cut_off(pieces(content, first..LENGTH), shared)))
        }
        _ => {
            let content = shared.content.clone();
            let events = stream::iter(0..EVENTS).flat_map(move |number| event(&content, number));
            let response = response.header(header::CONTENT_TYPE, "text/event-stream");
            response.body(StreamBody::new(cut_off(events.chain(one("data: [DONE]\n\n")), shared)))
        }
    }
    .expect("its headers are valid"))
}

/// From which byte on the file is asked for, under the condition that it is this one.
fn first_byte(headers: &HeaderMap) -> u64 {
    let range = headers.get(header::RANGE).filter(|_| headers.get(header::IF_RANGE).is_some_and(|tag| tag == ETAG));
    let Some(range) = range else { return 0 };
    let first = range.to_str().ok().and_then(|range| range.strip_prefix("bytes=")?.strip_suffix("-1073741823"));
    first.expect("all of the rest is asked for").parse().expect("it is a number")
}

/// Each event has its number for an id, and its part of the content for its data.
fn event(content: &Content, number: u64) -> impl Stream<Item = Bytes> + use<> {
    let data = number * EVENT..(number + 1) * EVENT;
    one(format!("id: {number}\ndata: ")).chain(pieces(content.clone(), data)).chain(one("\n\n"))
}

fn one(bytes: impl Into<Bytes>) -> impl Stream<Item = Bytes> {
    let bytes = bytes.into();
    stream::iter([bytes])
}

fn pieces(content: Content, bytes: std::ops::Range<u64>) -> impl Stream<Item = Bytes> {
    let mut next = bytes.start;
    let pieces = std::iter::from_fn(move || {
        let piece = content.at(next, PIECE.min(bytes.end - next) as usize);
        next += piece.len() as u64;
        (!piece.is_empty()).then_some(piece)
    });
    stream::iter(pieces)
}

/// Ends with an error where the next cut is due, which ends the connection.
fn cut_off(
    pieces: impl Stream<Item = Bytes> + Send + 'static,
    shared: Arc<Shared>,
) -> stream::BoxStream<'static, io::Result<Frame<Bytes>>> {
    let mut left = shared.cuts.lock().expect("nobody panics with it").pop_front().unwrap_or(u64::MAX);
    let cut = pieces.map(move |mut piece| {
        if left == 0 {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        piece.truncate(usize::try_from(left).unwrap_or(usize::MAX));
        left -= piece.len() as u64;
        shared.sent.fetch_add(piece.len() as u64, Ordering::Relaxed);
        Ok(Frame::data(piece))
    });
    cut.boxed()
}
