//! From the settings to a stack.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Collected;
use tower::{BoxError, ServiceBuilder, ServiceExt};
use tower_recovery::{
    AttemptTimeoutLayer, CallTiming, ClassifyLayer, Dispatch, Failure, HandleCache, InvalidSetting, ReadOnlyRetryLayer,
    RecoveryEvent, ReresolveLayer, Resolved, Verdict, attempt_timeout::AttemptTimeout, classify::ClassifyService,
    read_only_retry::ReadOnlyRetry, reresolve::Reresolve,
};
use tower_service::Service;

use super::HttpRecovery;
use crate::{
    CollectLayer, HttpClassifier, HttpRules, Origin, OriginHandle, RepeatableBody, StreamedLayer, collect::Collect,
    streamed::Streamed,
};

/// The stack of [`build`](HttpRecovery::build): unary calls, whose answers come with their bodies collected.
pub type HttpStack<RequestBody> = Stack<OriginHandle<RequestBody>, HttpRules<RequestBody>, Collect<Dispatch>>;

/// The stack of [`build_streaming`](HttpRecovery::build_streaming): answers come with their bodies still to be read, each a
/// [`StreamedBody`](crate::StreamedBody).
pub type StreamingHttpStack<RequestBody> = Stack<OriginHandle<RequestBody>, HttpRules<RequestBody>, Streamed<Dispatch>>;

/// What all of them have in common.
pub(crate) type Stack<Handle, Rules, Leaf> =
    ReadOnlyRetry<Reresolve<ClassifyService<AttemptTimeout<Leaf>, HttpClassifier>, Handle>, Rules>;

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
        self.over_pools(leaf)
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
        self.over_pools(leaf)
    }

    pub(crate) fn streamed(&self) -> StreamedLayer {
        StreamedLayer::new(self.classifier.clone()).trusting(self.trust)
    }

    fn over_pools<RequestBody, Leaf>(
        self,
        leaf: Leaf,
    ) -> Result<Stack<OriginHandle<RequestBody>, HttpRules<RequestBody>, Leaf>, InvalidSetting>
    where
        RequestBody: RepeatableBody + Send + Unpin + 'static,
        RequestBody::Data: Send,
        RequestBody::Error: Into<BoxError>,
        Leaf: Clone,
    {
        let timing = self.timing()?;
        let transport = self.transport_under(timing)?;
        let rules = HttpRules::with_policy(self.policy());
        Ok(self.over(timing, rules, leaf, move |origin| OriginHandle::new(origin, &transport)))
    }

    /// The stack over handles that are made like this. An origin of which none can be made fails the call at once.
    pub(crate) fn over<Handle, Error, Rules, Leaf>(
        self,
        timing: CallTiming,
        rules: Rules,
        leaf: Leaf,
        make: impl Fn(Origin) -> Result<Handle, Error> + Clone + Send + 'static,
    ) -> Stack<Handle, Rules, Leaf>
    where
        Handle: Clone + Send + 'static,
        Error: Into<BoxError>,
        Rules: Clone,
        Leaf: Clone,
    {
        let resolve_timeout = self.resolve_timeout_under(timing);
        let handles = self.resolver.map_err(Into::into).map_result(move |found: Result<Resolved<Origin>, BoxError>| {
            let Resolved { identity, handle: origin } = found?;
            let handle = make(origin).map_err(|error| Failure::new(Verdict::never_sent().permanent(), error))?;
            Ok::<_, BoxError>(Resolved::new(identity, handle))
        });
        let mut cache =
            HandleCache::builder(handles, self.target).named(Arc::clone(&self.name)).resolve_timeout(resolve_timeout);
        if let Some((step, ceiling)) = self.resolve_floor {
            cache = cache.resolve_floor(step, ceiling);
        }
        let mut retry = ReadOnlyRetryLayer::new(rules).named(self.name).timing(timing).backoff(self.backoff);
        if let Some(budget) = self.budget {
            retry = retry.budget(budget);
        }
        if let Some(observer) = self.observer {
            let of_the_cache = Arc::clone(&observer);
            cache = cache.observer(move |event: &RecoveryEvent| of_the_cache.observe(event));
            retry = retry.observer(move |event: &RecoveryEvent| observer.observe(event));
        }
        ServiceBuilder::new()
            .layer(retry)
            .layer(ReresolveLayer::new(cache.build()))
            .layer(ClassifyLayer::new(self.classifier))
            .layer(AttemptTimeoutLayer::new(timing.attempt_timeout()))
            .service(leaf)
    }
}
