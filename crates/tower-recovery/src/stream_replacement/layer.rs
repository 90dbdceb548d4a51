//! The layer.

use std::{fmt, panic::AssertUnwindSafe, sync::Arc};

use futures_util::{FutureExt, future::BoxFuture};
use tokio::time::Instant;
use tower::{BoxError, ServiceExt};
use tower_layer::Layer;
use tower_service::Service;

use super::{Health, ProbeRequest, StreamReplacement};
use crate::{Observer, StreamPolicy, event::Reporter, template::Template};

/// Gets a stream replaced that broke or fell silent. See the [module documentation](super).
#[derive(Clone, Debug)]
#[must_use = "a layer does nothing until it is put around a service"]
pub struct StreamReplacementLayer<Rules, Streams, Admission> {
    rules: Rules,
    streams: Streams,
    admission: Admission,
    policy: Policy,
}

/// After which times, by which probe, and who hears of it.
#[derive(Clone)]
pub(super) struct Policy {
    pub(super) stream: StreamPolicy,
    pub(super) probe: Option<Arc<Probe>>,
    pub(super) route: Arc<str>,
    pub(super) reporter: Reporter,
    /// A moment for what is never looked at, so that a stream that nobody watches reads no clock.
    pub(super) made: Instant,
}

pub(super) type Probe = dyn Fn(ProbeRequest) -> Probing + Send + Sync;

/// A probe under way.
pub(super) type Probing = BoxFuture<'static, Result<Health, BoxError>>;

impl<Rules, Streams, Admission> StreamReplacementLayer<Rules, Streams, Admission> {
    /// A layer that does what this policy says, knows requests by `rules` and streams by `streams`, and hands out by `admission`: [`Whole`](super::Whole),
    /// [`UntilFirstItem`](super::UntilFirstItem), [`Marked`](super::Marked) or [`Resumed`](super::Resumed).
    ///
    /// Without a [probe](Self::health_probe) a silent stream is never replaced: it ends after the policy's [`keep_alive_idle`](StreamPolicy::keep_alive_idle) without content, or is left
    /// alone for ever in the mode `preserve`.
    pub fn new(policy: StreamPolicy, rules: Rules, streams: Streams, admission: Admission) -> Self {
        let policy = Policy {
            stream: policy,
            probe: None,
            route: Arc::from("stream"),
            reporter: Reporter::default(),
            made: Instant::now(),
        };
        Self { rules, streams, admission, policy }
    }

    /// The same layer for streams of another kind.
    pub fn streams<Other>(self, streams: Other) -> StreamReplacementLayer<Rules, Other, Admission> {
        let Self { rules, admission, policy, .. } = self;
        StreamReplacementLayer { rules, streams, admission, policy }
    }

    /// The same layer with another admission.
    pub fn admission<Other>(self, admission: Other) -> StreamReplacementLayer<Rules, Streams, Other> {
        let Self { rules, streams, policy, .. } = self;
        StreamReplacementLayer { rules, streams, admission, policy }
    }

    /// What events and logs call the route. Default: `stream`.
    pub fn named(mut self, route: impl Into<Arc<str>>) -> Self {
        self.policy.route = route.into();
        self
    }

    /// What asks whether the route of a silent stream works: a small request on the same route and with the same credentials, to the same handles. Its attempts must
    /// be given less time than the policy gives the probe: a timeout in its own stack evicts a handle that is frozen, and dropping it from above does not.
    ///
    /// Healthy is a real answer, of which the service is the judge; an error is none, nor is one that takes longer than the
    /// policy's [`probe_timeout`](StreamPolicy::probe_timeout). A service that panics gave no answer.
    pub fn health_probe<Prober>(mut self, service: Prober) -> Self
    where
        Prober: Service<ProbeRequest, Response = Health> + Clone + Send + 'static,
        Prober::Error: Into<BoxError>,
        Prober::Future: Send,
    {
        let service = Template::new(service);
        self.policy.probe = Some(Arc::new(move |request| {
            let probing = service.another().oneshot(request);
            let caught = AssertUnwindSafe(probing).catch_unwind();
            let outcome = async move {
                match caught.await {
                    Ok(outcome) => outcome.map_err(Into::into),
                    Err(_) => Err("the probe panicked".into()),
                }
            };
            outcome.boxed()
        }));
        self
    }

    /// Who sees the events of this layer.
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.policy.reporter = Reporter::to(observer);
        self
    }
}

impl<Inner, Rules, Streams, Admission> Layer<Inner> for StreamReplacementLayer<Rules, Streams, Admission>
where
    Inner: Clone,
    Rules: Clone,
    Streams: Clone,
    Admission: Clone,
{
    type Service = StreamReplacement<Inner, Rules, Streams, Admission>;

    fn layer(&self, inner: Inner) -> Self::Service {
        StreamReplacement::new(
            inner,
            self.rules.clone(),
            self.streams.clone(),
            self.admission.clone(),
            self.policy.clone(),
        )
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Policy")
            .field("stream", &self.stream)
            .field("probed", &self.probe.is_some())
            .field("route", &self.route)
            .field("reporter", &self.reporter)
            .finish_non_exhaustive()
    }
}
