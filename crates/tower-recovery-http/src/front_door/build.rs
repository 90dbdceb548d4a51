//! From the settings to a stack.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Collected;
use tower::{BoxError, ServiceBuilder, ServiceExt};
use tower_recovery::{
    AttemptTimeoutLayer, CallTiming, ClassifyLayer, Dispatch, Failure, HandleCache, InvalidSetting, LinearBackoff,
    Observer, ReadOnlyRetryLayer, RecoveryEvent, ReresolveLayer, Resolved, RetryBudget, SendSideOnly, StreamPolicy,
    Verdict, attempt_timeout::AttemptTimeout, classify::ClassifyService, read_only_retry::ReadOnlyRetry,
    reresolve::Reresolve,
};
use tower_service::Service;

use super::HttpRecovery;
use crate::{
    CollectLayer, HttpClassifier, HttpRules, Origin, OriginHandle, RepeatableBody, StreamedLayer, collect::Collect,
    streamed::Streamed, streams::HttpStreams,
};

/// The stack of [`build`](HttpRecovery::build): unary calls, whose answers come with their bodies collected.
pub type HttpStack<RequestBody> = Stack<OriginHandle<RequestBody>, HttpRules<RequestBody>, Collect<Dispatch>>;

/// The stack of [`build_streaming`](HttpRecovery::build_streaming): answers come with their bodies still to be read, each a
/// [`StreamedBody`](crate::StreamedBody).
pub type StreamingHttpStack<RequestBody> = Stack<OriginHandle<RequestBody>, HttpRules<RequestBody>, Streamed<Dispatch>>;

/// The stack below a stream that is replaced, see [`streams`](HttpRecovery::streams): as the one before, but nothing is repeated that may have executed.
pub type SendSideHttpStack<RequestBody> =
    Stack<OriginHandle<RequestBody>, SendSideOnly<HttpRules<RequestBody>>, Streamed<Dispatch>>;

/// What [`streams`](HttpRecovery::streams) gives, before and after it was told what its streams are made of.
pub type HttpStreamsOverPools<RequestBody, Streams = ()> =
    HttpStreams<SendSideHttpStack<RequestBody>, HttpStack<RequestBody>, HttpRules<RequestBody>, Streams>;

/// What all of them have in common.
pub(crate) type Stack<Handle, Rules, Leaf> =
    ReadOnlyRetry<Reresolve<ClassifyService<AttemptTimeout<Leaf>, HttpClassifier>, Handle>, Rules>;

/// The front door of a stream route over such handles.
pub(crate) type StreamsOver<Handle, Rules> =
    HttpStreams<Stack<Handle, SendSideOnly<Rules>, Streamed<Dispatch>>, Stack<Handle, Rules, Collect<Dispatch>>, Rules>;

/// The body of an answer of an [`HttpStack`]: collected, with its trailers.
pub type CollectedBody = Collected<Bytes>;

impl<Resolver, Target> HttpRecovery<Resolver, Target>
where
    Resolver: Service<Target, Response = Resolved<Origin>> + Clone + Send + 'static,
    Resolver::Error: Into<BoxError>,
    Resolver::Future: Send + 'static,
    Target: Clone + Send + 'static,
{
    /// The stack for unary calls: the body of an answer belongs to its attempt.
    ///
    /// # Errors
    ///
    /// A setting that is out of its bounds, by name.
    pub fn build<RequestBody>(self) -> Result<HttpStack<RequestBody>, InvalidSetting>
    where
        RequestBody: RepeatableBody + Send + Unpin + 'static,
        RequestBody::Data: Send,
        RequestBody::Error: Into<BoxError>,
    {
        let leaf = ServiceBuilder::new().layer(CollectLayer::new(self.body_limit)).service(Dispatch);
        let rules = HttpRules::with_policy(self.policy());
        self.over_pools(rules, leaf)
    }

    /// The stack for answers whose bodies outlive the call. A body that breaks, or whose end is none, gives its reader a [`Failure`] and evicts the handle
    /// that is to blame; see [`streamed`](crate::streamed).
    ///
    /// # Errors
    ///
    /// A setting that is out of its bounds, by name.
    pub fn build_streaming<RequestBody>(self) -> Result<StreamingHttpStack<RequestBody>, InvalidSetting>
    where
        RequestBody: RepeatableBody + Send + Unpin + 'static,
        RequestBody::Data: Send,
        RequestBody::Error: Into<BoxError>,
    {
        let leaf = ServiceBuilder::new().layer(self.streamed()).service(Dispatch);
        let rules = HttpRules::with_policy(self.policy());
        self.over_pools(rules, leaf)
    }

    /// The stack for a route whose answers are streams, to be replaced as this policy says. What of them is handed out, and when, is said there: see
    /// [`HttpStreams`].
    ///
    /// Below a replacement a call is repeated where it provably did not execute, and nowhere else; under a policy that replaces nothing it is repeated as ever.
    ///
    /// Times of a call and of an attempt end with the head: see [Time](crate::streams#time). Unless they were said here, an attempt has until then, under a policy that
    /// replaces, all the time in which a silence is told and probed (a silence before the head is seen like any other), and under one that preserves, no bound. The streams are not
    /// `Unpin`.
    ///
    /// Probes go to the same handles, have the policy's [`probe_timeout`](StreamPolicy::probe_timeout) for a deadline, their bodies included, and two thirds of it for an
    /// attempt. One that a handle does not answer by then evicts it; it is repeated on the next one if it only reads, and otherwise waits for the next round.
    ///
    /// # Errors
    ///
    /// A setting that is out of its bounds, by name.
    pub fn streams<RequestBody>(self, policy: StreamPolicy) -> Result<HttpStreamsOverPools<RequestBody>, InvalidSetting>
    where
        RequestBody: RepeatableBody + Send + Unpin + 'static,
        RequestBody::Data: Send,
        RequestBody::Error: Into<BoxError>,
    {
        let door = self.timed_by(policy);
        let timing = door.timing()?;
        let transport = door.transport_under(timing)?;
        let rules = HttpRules::with_policy(door.policy());
        door.streams_over(policy, timing, rules, move |origin| OriginHandle::new(origin, &transport))
    }

    /// The front door of a stream route over handles that are made like this.
    pub(crate) fn streams_over<Handle, Error, Rules>(
        self,
        policy: StreamPolicy,
        timing: CallTiming,
        rules: Rules,
        make: impl Fn(Origin) -> Result<Handle, Error> + Clone + Send + 'static,
    ) -> Result<StreamsOver<Handle, Rules>, InvalidSetting>
    where
        Handle: Clone + Send + 'static,
        Error: Into<BoxError>,
        Rules: Clone,
    {
        // A frozen handle is found out and evicted with some time left to ask the next one.
        let attempt_of_a_probe = policy.probe_timeout().mul_f64(2.0 / 3.0);
        let of_a_probe = CallTiming::builder()
            .attempts(2)
            .deadline(policy.probe_timeout())
            .attempt_timeout(attempt_of_a_probe)
            .build()
            .map_err(|refused| {
                let bound = format!("long enough for two attempts: {}", refused.bound);
                InvalidSetting::new("probe_timeout_seconds", policy.probe_timeout().as_secs_f64(), bound)
            })?;
        let leaf = ServiceBuilder::new().layer(self.streamed()).service(Dispatch);
        let collect = CollectLayer::new(self.body_limit).trusting(self.trust);
        let leaf_of_a_probe = ServiceBuilder::new().layer(collect).service(Dispatch);
        let (cache, layers) = self.cache(timing, make)?;
        let Layers { name, observer, classifier, .. } = layers.clone();
        let prober = layers.clone().over(cache.clone(), of_a_probe, rules.clone(), leaf_of_a_probe);
        let api = layers.over(cache, timing, SendSideOnly::under(policy, rules.clone()), leaf);
        Ok(HttpStreams::over(api, prober, rules, classifier, policy).named(name).observed_by(observer))
    }

    pub(crate) fn streamed(&self) -> StreamedLayer {
        StreamedLayer::new(self.classifier.clone()).trusting(self.trust)
    }

    fn over_pools<RequestBody, Rules, Leaf>(
        self,
        rules: Rules,
        leaf: Leaf,
    ) -> Result<Stack<OriginHandle<RequestBody>, Rules, Leaf>, InvalidSetting>
    where
        RequestBody: RepeatableBody + Send + Unpin + 'static,
        RequestBody::Data: Send,
        RequestBody::Error: Into<BoxError>,
        Rules: Clone,
        Leaf: Clone,
    {
        let timing = self.timing()?;
        let transport = self.transport_under(timing)?;
        self.over(timing, rules, leaf, move |origin| OriginHandle::new(origin, &transport))
    }

    /// The stack over handles that are made like this.
    pub(crate) fn over<Handle, Error, Rules, Leaf>(
        self,
        timing: CallTiming,
        rules: Rules,
        leaf: Leaf,
        make: impl Fn(Origin) -> Result<Handle, Error> + Clone + Send + 'static,
    ) -> Result<Stack<Handle, Rules, Leaf>, InvalidSetting>
    where
        Handle: Clone + Send + 'static,
        Error: Into<BoxError>,
        Rules: Clone,
        Leaf: Clone,
    {
        let (cache, layers) = self.cache(timing, make)?;
        Ok(layers.over(cache, timing, rules, leaf))
    }

    /// The handles, made like this, and what the layers above them are made of. An origin of which no handle can be made fails the call at once.
    fn cache<Handle, Error>(
        self,
        timing: CallTiming,
        make: impl Fn(Origin) -> Result<Handle, Error> + Clone + Send + 'static,
    ) -> Result<(HandleCache<Handle>, Layers), InvalidSetting>
    where
        Handle: Clone + Send + 'static,
        Error: Into<BoxError>,
    {
        let resolve_timeout = self.resolve_timeout_under(timing);
        let suspect_after = self.suspect_after_under(timing)?;
        let handles = self.resolver.map_err(Into::into).map_result(move |found: Result<Resolved<Origin>, BoxError>| {
            let Resolved { identity, handle: origin } = found?;
            let handle = make(origin).map_err(|error| Failure::new(Verdict::never_sent().permanent(), error))?;
            Ok::<_, BoxError>(Resolved::new(identity, handle))
        });
        let mut cache =
            HandleCache::builder(handles, self.target).named(Arc::clone(&self.name)).resolve_timeout(resolve_timeout);
        if let Some(period) = self.refresh_every {
            cache = cache.refresh_every(period)?;
        }
        if let Some(wait) = suspect_after {
            cache = cache.suspect_after(wait)?;
        }
        if let Some((step, ceiling)) = self.resolve_floor {
            cache = cache.resolve_floor(step, ceiling);
        }
        if let Some(observer) = self.observer.clone() {
            cache = cache.observer(move |event: &RecoveryEvent| observer.observe(event));
        }
        let Self { name, backoff, budget, observer, classifier, .. } = self;
        Ok((cache.build(), Layers { name, backoff, budget, observer, classifier }))
    }
}

/// What the layers above the handles are made of.
#[derive(Clone)]
struct Layers {
    name: Arc<str>,
    backoff: LinearBackoff,
    budget: Option<Arc<dyn RetryBudget>>,
    observer: Option<Arc<dyn Observer>>,
    classifier: HttpClassifier,
}

impl Layers {
    fn over<Handle, Rules, Leaf>(
        self,
        cache: HandleCache<Handle>,
        timing: CallTiming,
        rules: Rules,
        leaf: Leaf,
    ) -> Stack<Handle, Rules, Leaf>
    where
        Handle: Clone + Send + 'static,
        Rules: Clone,
        Leaf: Clone,
    {
        let mut retry = ReadOnlyRetryLayer::new(rules).named(self.name).timing(timing).backoff(self.backoff);
        if let Some(budget) = self.budget {
            retry = retry.budget(budget);
        }
        if let Some(observer) = self.observer {
            retry = retry.observer(move |event: &RecoveryEvent| observer.observe(event));
        }
        ServiceBuilder::new()
            .layer(retry)
            .layer(ReresolveLayer::new(cache))
            .layer(ClassifyLayer::new(self.classifier))
            .layer(AttemptTimeoutLayer::new(timing.attempt_timeout()))
            .service(leaf)
    }
}
