//! A server that answers with what the kit's has none of: trailers, and single frames of HTTP/2.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

/// An answer of HTTP/1 with a trailer, to the last byte.
pub(crate) const ANSWER_WITH_TRAILERS: &str =
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x-sum\r\n\r\n4\r\ndone\r\n0\r\nx-sum: 7\r\n\r\n";

/// How the body of every request of these tests ends.
const END_OF_REQUEST: &[u8] = b"a body";

/// Answers until it is dropped.
pub(crate) struct TrailersServer {
    origin: String,
    answered: Counter,
    _accepting: JoinSet<()>,
}

type Counter = Arc<AtomicUsize>;

impl TrailersServer {
    /// Writes an answer as it is after the first request of a connection, and closes it. The last answer is for all that follow.
    pub(crate) async fn writing<const NUMBER: usize>(answers: [&'static str; NUMBER]) -> Self {
        Self::start(move |mut stream, answered| async move {
            let mut read = Vec::new();
            while !read.ends_with(END_OF_REQUEST) {
                if !matches!(stream.read_buf(&mut read).await, Ok(1..)) {
                    return;
                }
            }
            let answer = answers[answered.fetch_add(1, Ordering::SeqCst).min(NUMBER - 1)];
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.shutdown().await;
        })
        .await
    }

    /// Over HTTP/2, answers `done` with a trailer; in the place of the first trailer comes a reset of its stream.
    #[cfg(feature = "http2")]
    pub(crate) async fn resetting_first(reason: h2::Reason) -> Self {
        use std::{future::poll_fn, task::Poll};

        use http::{HeaderMap, HeaderName, HeaderValue, Response};

        Self::start(move |stream, answered| async move {
            let mut connection = h2::server::handshake(stream).await.expect("the client speaks HTTP/2");
            while let Some(Ok((_request, mut respond))) = connection.accept().await {
                let mut body = respond.send_response(Response::new(()), false).expect("the client waits");
                body.send_data("done".into(), false).expect("the client waits");
                if answered.fetch_add(1, Ordering::SeqCst) == 0 {
                    // What was not written before a reset is not written at all.
                    poll_fn(|context| Poll::Ready(connection.poll_closed(context).is_ready())).await;
                    body.send_reset(reason);
                } else {
                    let trailer = (HeaderName::from_static("x-sum"), HeaderValue::from_static("7"));
                    body.send_trailers(HeaderMap::from_iter([trailer])).expect("the client waits");
                }
            }
        })
        .await
    }

    /// Over HTTP/2, answers each request with these frames, in one piece; the last answer is for all that follow. A request is answered when it has ended, or when
    /// no more of it may be sent: nothing of it is read.
    #[cfg(feature = "http2")]
    pub(crate) async fn framing<const NUMBER: usize>(answers: [&'static [Frame]; NUMBER]) -> Self {
        use std::collections::HashMap;

        Self::start(move |mut stream, answered| async move {
            let mut read = vec![0; PREFACE];
            if stream.read_exact(&mut read).await.is_err() || stream.write_all(&SETTINGS).await.is_err() {
                return;
            }
            let mut bodies = HashMap::new();
            let mut header = [0; 9];
            while stream.read_exact(&mut header).await.is_ok() {
                let [a, b, c, kind, flags, id @ ..] = header;
                let length = u32::from_be_bytes([0, a, b, c]);
                read.resize(length.try_into().expect("it fits"), 0);
                if stream.read_exact(&mut read).await.is_err() {
                    return;
                }
                if !matches!(kind, Frame::DATA | Frame::HEADERS) {
                    continue;
                }
                let body = bodies.entry(id).or_insert(0);
                *body += if kind == Frame::DATA { length } else { 0 };
                if flags & Frame::END_STREAM != 0 || *body == WINDOW {
                    let answer = answers[answered.fetch_add(1, Ordering::SeqCst).min(NUMBER - 1)];
                    let bytes: Vec<_> = answer.iter().flat_map(|frame| frame.on(id)).collect();
                    let _ = stream.write_all(&bytes).await;
                }
            }
        })
        .await
    }

    /// Serves each connection in a task of its own.
    async fn start<Served>(serve: impl Fn(TcpStream, Counter) -> Served + Send + 'static) -> Self
    where
        Served: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let origin = format!("http://{}", listener.local_addr().expect("it is bound"));
        let answered = Counter::default();
        let counter = Arc::clone(&answered);
        let mut accepting = JoinSet::new();
        accepting.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, Arc::clone(&counter)));
            }
        });
        Self { origin, answered, _accepting: accepting }
    }

    /// Where it listens.
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    /// How many requests it has answered, or begun to.
    pub(crate) fn answered(&self) -> usize {
        self.answered.load(Ordering::SeqCst)
    }
}

/// What the client of HTTP/2 begins with.
const PREFACE: usize = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len();

/// Without a setting: the client may send so much of a body.
const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
const WINDOW: u32 = 65_535;

/// A frame of HTTP/2 (RFC 9113 §6), to the last bit: h2 lets no server end a stream and reset it, nor promise another length than it sends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    kind: u8,
    flags: u8,
    payload: &'static [u8],
}

impl Frame {
    const DATA: u8 = 0;
    const HEADERS: u8 = 1;
    const RESET: u8 = 3;
    const GO_AWAY: u8 = 7;

    const END_STREAM: u8 = 1;
    const END_HEADERS: u8 = 4;

    /// The status 200, by its place in the static table of HPACK.
    pub(crate) const HEAD: Self = Self { kind: Self::HEADERS, flags: Self::END_HEADERS, payload: &[0x88] };
    /// The same, and the length 7.
    pub(crate) const HEAD_OF_SEVEN: Self = Self { payload: &[0x88, 0x0f, 0x0d, 0x01, b'7'], ..Self::HEAD };
    /// `done`.
    pub(crate) const DONE: Self = Self { kind: Self::DATA, flags: 0, payload: b"done" };
    /// `x-sum: 7`, and the end.
    pub(crate) const TRAILERS: Self =
        Self { kind: Self::HEADERS, flags: Self::END_HEADERS | Self::END_STREAM, payload: b"\x00\x05x-sum\x017" };
    /// An `RST_STREAM` with `NO_ERROR`.
    pub(crate) const RESET_WITH_NO_ERROR: Self = Self { kind: Self::RESET, flags: 0, payload: &[0; 4] };
    /// A `GOAWAY` with `NO_ERROR` that names no stream at all as its last.
    pub(crate) const GO_AWAY_WITH_NO_ERROR: Self = Self { kind: Self::GO_AWAY, flags: 0, payload: &[0; 8] };

    /// With the end of the stream.
    pub(crate) const fn and_end(self) -> Self {
        Self { flags: self.flags | Self::END_STREAM, ..self }
    }

    fn on(&self, stream: [u8; 4]) -> Vec<u8> {
        let length = u32::try_from(self.payload.len()).expect("it is short").to_be_bytes();
        let stream = if self.kind == Self::GO_AWAY { [0; 4] } else { stream };
        [&length[1..], &[self.kind, self.flags], &stream, self.payload].concat()
    }
}
