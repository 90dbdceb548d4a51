//! A server that answers with what the kit's has none of: trailers.

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
