//! Which method a request has.

use http::{Method, Request};
use tower_recovery::Addressed;

/// A request of HTTP, whatever it is wrapped in: [`Collect`](super::Collect) must know a `HEAD`, whose answer promises a body that never comes.
pub trait HasMethod {
    /// The method of the request.
    fn method(&self) -> &Method;
}

impl<Body> HasMethod for Request<Body> {
    fn method(&self) -> &Method {
        self.method()
    }
}

impl<Handle, Inner: HasMethod> HasMethod for Addressed<Handle, Inner> {
    fn method(&self) -> &Method {
        self.request.method()
    }
}
