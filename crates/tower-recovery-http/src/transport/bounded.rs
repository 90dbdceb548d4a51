//! A connector to one origin, with a bound.

use std::{
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{FutureExt, TryFutureExt, future::BoxFuture};
use http::Uri;
use tokio::time::timeout;
use tower::BoxError;
use tower_service::Service;

/// No connection was made in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no connection was made within {limit:?}")]
#[non_exhaustive]
pub struct ConnectTimedOut {
    /// How long it was given.
    pub limit: Duration,
}

/// Connects to its origin whatever it is asked for, since a request may name another host than the one that serves it, and bounds making the connection as
/// a whole: looking up the name, TCP, and TLS.
///
/// Not `tower::timeout`, whose future hyper-util does not take: it wants one that can be moved.
#[derive(Clone, Debug)]
pub(crate) struct Bounded<Connector> {
    connector: Connector,
    origin: Uri,
    limit: Duration,
}

impl<Connector> Bounded<Connector> {
    pub(super) fn new(connector: Connector, origin: Uri, limit: Duration) -> Self {
        Self { connector, origin, limit }
    }
}

impl<Connector> Service<Uri> for Bounded<Connector>
where
    Connector: Service<Uri>,
    Connector::Response: Send,
    Connector::Error: Into<BoxError>,
    Connector::Future: Send + 'static,
{
    type Response = Connector::Response;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Connector::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.connector.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let limit = self.limit;
        let connecting = self.connector.call(self.origin.clone()).err_into();
        timeout(limit, connecting)
            .map(move |outcome| outcome.unwrap_or_else(|_| Err(ConnectTimedOut { limit }.into())))
            .boxed()
    }
}
