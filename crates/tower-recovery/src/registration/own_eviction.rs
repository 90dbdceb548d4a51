//! A classifier that notices when a call is told that its own process is not registered.

use std::{error::Error, fmt};

use super::RegistrationMonitor;
use crate::{Classify, Verdict};

/// Classifies as another classifier does, and tells a [`RegistrationProbe`](super::RegistrationProbe) of every error by which the other side says that *this* process is
/// not registered.
///
/// A process that serves often calls, too, over the same connection; and a call is the first to hear of an eviction. What such an error proves of its request is left to the
/// classifier inside.
///
/// # Examples
///
/// ```
/// use tower_recovery::{ClassifyLayer, registration::{OwnEvictionWatch, RegistrationMonitor}};
/// # use std::{error::Error, io};
/// # use tower_recovery::{Classify, Verdict};
/// # #[derive(Clone)]
/// # struct MyErrors;
/// # impl<Response> Classify<Response> for MyErrors {
/// #     fn response(&self, _: &Response) -> Option<Verdict> { None }
/// #     fn error(&self, _: &(dyn Error + 'static)) -> Verdict { Verdict::unrecognised() }
/// # }
///
/// fn layer(monitor: RegistrationMonitor) -> ClassifyLayer<impl Classify<u32> + Clone> {
///     let says_so = |error: &(dyn Error + 'static)| error.to_string() == "your client id is not registered";
///     ClassifyLayer::new(OwnEvictionWatch::new(MyErrors, monitor, says_so))
/// }
/// # let _ = layer;
/// ```
#[derive(Clone)]
pub struct OwnEvictionWatch<Inner, SaysSo> {
    inner: Inner,
    monitor: RegistrationMonitor,
    says_so: SaysSo,
}

impl<Inner, SaysSo> OwnEvictionWatch<Inner, SaysSo>
where
    SaysSo: Fn(&(dyn Error + 'static)) -> bool,
{
    /// Watches the errors that this classifier is asked about.
    pub fn new(inner: Inner, monitor: RegistrationMonitor, says_so: SaysSo) -> Self {
        Self { inner, monitor, says_so }
    }
}

impl<Response, Inner, SaysSo> Classify<Response> for OwnEvictionWatch<Inner, SaysSo>
where
    Inner: Classify<Response>,
    SaysSo: Fn(&(dyn Error + 'static)) -> bool,
{
    fn response(&self, response: &Response) -> Option<Verdict> {
        self.inner.response(response)
    }

    fn error(&self, error: &(dyn Error + 'static)) -> Verdict {
        if (self.says_so)(error) {
            self.monitor.own_eviction_seen();
        }
        self.inner.error(error)
    }
}

impl<Inner: fmt::Debug, SaysSo> fmt::Debug for OwnEvictionWatch<Inner, SaysSo> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("OwnEvictionWatch").field("inner", &self.inner).finish_non_exhaustive()
    }
}
