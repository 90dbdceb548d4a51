//! The future of a call.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use rmpv::Value;

use super::{HyphaClient, Lane};
use crate::{
    Call, CallError,
    calls::{Patience, Target},
};

/// The future of a call: what the method returned.
#[must_use = "futures do nothing unless polled"]
pub struct CallFuture(BoxFuture<'static, Result<Value, CallError>>);

impl CallFuture {
    pub(super) fn new(
        client: HyphaClient,
        target: Target,
        service: Arc<str>,
        call: Call,
        connection_wait: Option<Duration>,
    ) -> Self {
        let patience = client.shared().settings.patience;
        let patience = Patience { connection: connection_wait.unwrap_or(patience.connection), ..patience };
        // The client lives as long as the call.
        let outcome = async move { super::call(client.shared(), target, &service, &call, patience, Lane::Rest).await };
        Self(outcome.boxed())
    }
}

impl Future for CallFuture {
    type Output = Result<Value, CallError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll_unpin(context)
    }
}

impl fmt::Debug for CallFuture {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CallFuture").finish_non_exhaustive()
    }
}
