//! What hyper-util gives up before it was sent: of all its errors the one, beside a failed connect, that proves it.

mod support;

use std::{
    error::Error,
    future::ready,
    io,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{Response, Uri};
use http_body_util::Full;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::{
    client::legacy::{
        self,
        connect::{Connected, Connection},
    },
    rt::TokioExecutor,
};
use tower::service_fn;
use tower_recovery::{Classify, Verdict};
use tower_recovery_http::HttpClassifier;

use self::support::{bounded, write};

/// hyper-util sends again by itself what a connection gave back that had served before. From a fresh one it comes out.
#[tokio::test]
async fn a_request_that_a_fresh_connection_gave_back_was_never_sent() {
    let connector = service_fn(|_: Uri| ready(Ok::<_, io::Error>(EndsUnderTheRequest::default())));
    let client = legacy::Client::builder(TokioExecutor::new()).build::<_, Full<Bytes>>(connector);
    let mut request = write("write");
    *request.uri_mut() = Uri::from_static("http://origin/commit");
    let error = bounded(client.request(request)).await.unwrap_err();

    let cause = error.source().and_then(|source| source.downcast_ref::<hyper::Error>()).expect("hyper's word");
    assert!(!error.is_connect() && cause.is_canceled(), "{error:?}");
    assert_eq!(verdict(&error), Verdict::never_sent().stale());
    // By itself the word is that of an upgrade, too, which is cancelled after the answer.
    assert_eq!(verdict(cause), Verdict::maybe_sent().stale());
}

fn verdict(error: &(dyn Error + 'static)) -> Verdict {
    Classify::<Response<()>>::error(&HttpClassifier::new(), error)
}

/// A connection that is open when hyper first looks, and has ended when it looks again: what wakes it in between is the request.
#[derive(Default)]
struct EndsUnderTheRequest {
    was_looked_at: bool,
}

impl Read for EndsUnderTheRequest {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, _: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        if std::mem::replace(&mut self.was_looked_at, true) { Poll::Ready(Ok(())) } else { Poll::Pending }
    }
}

impl Write for EndsUnderTheRequest {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
        panic!("the request was written");
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl Connection for EndsUnderTheRequest {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}
