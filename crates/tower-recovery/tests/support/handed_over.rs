//! A transport of the tests' own, for what wants to know whether a request was handed over.

use std::{
    any::Any,
    pin::Pin,
    task::{Context, Poll},
};

use tower::Service;
use tower_recovery::Handover;

/// A service whose calls count as handed over from the start.
#[derive(Clone, Debug)]
pub(crate) struct HandedOver<Inner>(pub(crate) Inner);

impl<Inner: Service<Request>, Request> Service<Request> for HandedOver<Inner> {
    type Response = Inner::Response;
    type Error = Inner::Error;
    type Future = HandedOverFuture<Inner::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Inner::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        HandedOverFuture(Box::pin(self.0.call(request)))
    }
}

pub(crate) struct HandedOverFuture<Attempt>(Pin<Box<Attempt>>);

impl<Attempt: Future> Future for HandedOverFuture<Attempt> {
    type Output = Attempt::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Attempt::Output> {
        self.0.as_mut().poll(context)
    }
}

impl<Attempt> Handover for HandedOverFuture<Attempt> {
    fn is_handed_over(&self) -> bool {
        true
    }

    fn take_unsent(self: Pin<&mut Self>) -> Option<Box<dyn Any + Send>> {
        None
    }
}
