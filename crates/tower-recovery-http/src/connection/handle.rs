//! The handle.

use std::{
    fmt,
    future::Future,
    task::{Context, Poll, ready},
};

use futures_util::{
    FutureExt, TryFutureExt,
    future::{BoxFuture, ready as at_once},
};
use http::{HeaderValue, Request, Response};
use http_body::Body;
use hyper::{
    body::Incoming,
    client::conn::{TrySendError, http1},
    rt::{Read, Write},
};
use tower::BoxError;
use tower_recovery::{Failure, Verdict};
use tower_service::Service;

use super::{rewrite::Rewritten, turns::Turns};
use crate::{Origin, target::refuse_tunnel};

/// The exchange ended before the head of an answer.
#[derive(Debug, thiserror::Error)]
#[error("the request has no answer")]
#[non_exhaustive]
pub struct Unanswered(#[source] pub hyper::Error);

/// One instance of a service, over one connection. Made by [`ConnectLayer`](super::ConnectLayer). Clones share the connection; it is closed
/// after its last user.
///
/// Requests may name any authority, or none: they go to the origin. A `Host` that the caller set names the virtual host, over HTTP/2 as `:authority`.
///
/// # Readiness
///
/// Over HTTP/2 it is ready for as long as the connection lives. Over HTTP/1 one clone at a time is, in the order in which they asked: it waits
/// until the answer before has been read to its end, and that counts against its attempt's timeout. A connection that is closed is an error for all who
/// wait, which proves that nothing of theirs was sent. A clone whose readiness failed, or that is kept ready and not called, keeps its turn until it is
/// dropped, as ever in tower.
///
/// # Cancel safety
///
/// Dropping the future over HTTP/1 closes the connection, or the answer would be taken for the next request's: those who wait go on over the next one. Over
/// HTTP/2 it resets the stream; a request that still waits for a stream, since the server allows no more at once, is sent all the same when there is
/// one (hyper 1.12 keeps it), once, and its answer goes nowhere.
///
/// # Errors
///
/// What hyper gave back unsent is a [`Failure`] that hands the request back, as it was given. A `CONNECT` is refused, never sent:
/// [`TunnelRefused`](crate::TunnelRefused); so is a `Host` that cannot be sent as `:authority`, over HTTP/2:
/// [`InvalidHost`](crate::InvalidHost). Any other error is [`Unanswered`], with hyper's own, as [`HttpClassifier`](crate::HttpClassifier) knows it.
pub struct ConnectionHandle<RequestBody> {
    origin: Origin,
    sender: Sender<RequestBody>,
}

enum Sender<RequestBody> {
    Http1 {
        turns: Turns<http1::SendRequest<RequestBody>>,
        host: HeaderValue,
    },
    #[cfg(feature = "http2")]
    Http2(hyper::client::conn::http2::SendRequest<RequestBody>),
}

impl<RequestBody> ConnectionHandle<RequestBody>
where
    RequestBody: Body + Send + Unpin + 'static,
    RequestBody::Data: Send,
    RequestBody::Error: Into<BoxError>,
{
    /// Speaks HTTP on this stream. The connection is driven by a task of its own.
    pub(super) async fn open<Stream>(origin: Origin, stream: Stream, is_http2: bool) -> Result<Self, hyper::Error>
    where
        Stream: Read + Write + Send + Unpin + 'static,
    {
        #[cfg(feature = "http2")]
        if is_http2 {
            let executor = hyper_util::rt::TokioExecutor::new();
            let (sender, connection) = hyper::client::conn::http2::handshake(executor, stream).await?;
            drive(connection);
            return Ok(Self { origin, sender: Sender::Http2(sender) });
        }
        debug_assert!(!is_http2, "without the feature http2 nobody asks for it");
        let (sender, connection) = http1::handshake(stream).await?;
        drive(connection);
        let host = HeaderValue::from_str(origin.authority().as_str()).expect("an authority is visible ASCII");
        Ok(Self { origin, sender: Sender::Http1 { turns: Turns::new(sender), host } })
    }
}

/// Every request of the connection hears of its end by itself.
fn drive(connection: impl Future<Output = Result<(), hyper::Error>> + Send + 'static) {
    tokio::spawn(connection.map(drop));
}

impl<RequestBody> ConnectionHandle<RequestBody> {
    /// Where the requests go.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }
}

impl<RequestBody> Service<Request<RequestBody>> for ConnectionHandle<RequestBody>
where
    RequestBody: Body + Send + Unpin + 'static,
    RequestBody::Data: Send,
    RequestBody::Error: Into<BoxError>,
{
    type Response = Response<Incoming>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<Incoming>, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        let readied = match &mut self.sender {
            Sender::Http1 { turns, .. } => ready!(turns.poll_turn(context)).poll_ready(context),
            #[cfg(feature = "http2")]
            Sender::Http2(sender) => sender.poll_ready(context),
        };
        readied.map_err(Into::into)
    }

    /// # Panics
    ///
    /// Over HTTP/1, without having been ready.
    fn call(&mut self, mut request: Request<RequestBody>) -> Self::Future {
        let refused = refuse_tunnel(request.method());
        match &mut self.sender {
            Sender::Http1 { turns, host } => {
                let mut sender = turns.take_turn().expect("`poll_ready` gives the turn that a call takes");
                if let Err(refused) = refused {
                    return at_once(Err(refused.into())).boxed();
                }
                let rewritten = Rewritten::for_http1(&mut request, host);
                sender.try_send_request(request).map_err(|error| failed(error, rewritten)).boxed()
            }
            #[cfg(feature = "http2")]
            Sender::Http2(sender) => {
                let rewritten = match refused.and_then(|()| Rewritten::for_http2(&mut request, &self.origin)) {
                    Ok(rewritten) => rewritten,
                    Err(refused) => return at_once(Err(refused.into())).boxed(),
                };
                let sent = sender.try_send_request(request);
                let sender = sender.clone();
                sent.map_err(move |error| indicted_if(sender.is_closed(), failed(error, rewritten))).boxed()
            }
        }
    }
}

fn failed<RequestBody>(mut error: TrySendError<Request<RequestBody>>, rewritten: Rewritten) -> BoxError
where
    RequestBody: Send + 'static,
{
    match error.take_message() {
        Some(request) => {
            let failure = Failure::new(Verdict::never_sent().stale(), error.into_error());
            failure.with_unsent(rewritten.undo(request)).into()
        }
        None => Unanswered(error.into_error()).into(),
    }
}

/// hyper's word for a request that waited for a stream when its connection ended is a user's error, as a failed body of the request is elsewhere. This one
/// says something of the handle.
#[cfg(feature = "http2")]
fn indicted_if(connection_ended: bool, error: BoxError) -> BoxError {
    match error.downcast::<Unanswered>() {
        Ok(error) if connection_ended && error.0.is_user() => {
            Failure::new(Verdict::maybe_sent().stale(), *error).into()
        }
        Ok(error) => error,
        Err(error) => error,
    }
}

impl<RequestBody> Clone for ConnectionHandle<RequestBody> {
    fn clone(&self) -> Self {
        let sender = match &self.sender {
            Sender::Http1 { turns, host } => Sender::Http1 { turns: turns.clone(), host: host.clone() },
            #[cfg(feature = "http2")]
            Sender::Http2(sender) => Sender::Http2(sender.clone()),
        };
        Self { origin: self.origin.clone(), sender }
    }
}

impl<RequestBody> fmt::Debug for ConnectionHandle<RequestBody> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ConnectionHandle").field("origin", &self.origin).finish_non_exhaustive()
    }
}
