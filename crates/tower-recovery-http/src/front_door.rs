//! `Recovery::http`: the recommended stack in the right order.

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use http_body::Body;
use http_body_util::Collected;
use tower::{BoxError, ServiceBuilder, ServiceExt};
use tower_recovery::{
    AttemptTimeoutLayer, CallTiming, CallTimingBuilder, ClassifyLayer, Dispatch, HandleCache, InvalidSetting,
    LinearBackoff, Observer, ReadOnlyRetryLayer, Recovery, RecoveryEvent, ReresolveLayer, Resolved, RetryBudget,
    attempt_timeout::AttemptTimeout, classify::ClassifyService, read_only_retry::ReadOnlyRetry, reresolve::Reresolve,
};
use tower_service::Service;

use crate::{CollectLayer, HttpClassifier, HttpRules, Origin, OriginHandle, ReadRoutes, collect::Collect};

/// Adds [`Recovery::http`](HttpFrontDoor::http).
pub trait HttpFrontDoor {
    /// A stack for the service that this resolver finds under this target.
    fn http<Resolver, Target>(resolver: Resolver, target: Target) -> HttpRecovery<Resolver, Target>
    where
        Resolver: Service<Target, Response = Resolved<Origin>>;
}

impl HttpFrontDoor for Recovery {
    fn http<Resolver, Target>(resolver: Resolver, target: Target) -> HttpRecovery<Resolver, Target>
    where
        Resolver: Service<Target, Response = Resolved<Origin>>,
    {
        HttpRecovery::new(resolver, target)
    }
}

/// The stack of [`build`](HttpRecovery::build): unary calls, whose answers come with their bodies collected.
pub type HttpStack<RequestBody> = Stack<RequestBody, Collect<Dispatch>>;

/// The stack of [`build_streaming`](HttpRecovery::build_streaming): answers come with their bodies still to be read.
pub type StreamingHttpStack<RequestBody> = Stack<RequestBody, Dispatch>;

/// What both have in common.
type Stack<RequestBody, Leaf> = ReadOnlyRetry<
    Reresolve<ClassifyService<AttemptTimeout<Leaf>, HttpClassifier>, OriginHandle<RequestBody>>,
    HttpRules<RequestBody>,
>;

/// The body of an answer of an [`HttpStack`]: collected, with its trailers.
pub type CollectedBody = Collected<Bytes>;

/// Builds the recommended stack for HTTP. Made by [`Recovery::http`](HttpFrontDoor::http).
#[derive(Clone)]
#[must_use = "a builder does nothing before `build`"]
pub struct HttpRecovery<Resolver, Target> {
    resolver: Resolver,
    target: Target,
    name: Arc<str>,
    reads: ReadRoutes,
    timing: CallTimingBuilder,
    backoff: LinearBackoff,
    budget: Option<Arc<dyn RetryBudget>>,
    observer: Option<Arc<dyn Observer>>,
    resolve_timeout: Option<Duration>,
    connect_timeout: Option<Duration>,
    body_limit: usize,
}

impl<Resolver, Target> HttpRecovery<Resolver, Target> {
    const DEFAULT_BODY_LIMIT: usize = 16 << 20;
    const DEFAULT_RESOLVE_TIMEOUT: Duration = Duration::from_secs(10);
    const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

    fn new(resolver: Resolver, target: Target) -> Self {
        Self {
            resolver,
            target,
            name: Arc::from("origin"),
            reads: ReadRoutes::safe(),
            timing: CallTiming::builder(),
            backoff: LinearBackoff::default(),
            budget: None,
            observer: None,
            resolve_timeout: None,
            connect_timeout: None,
            body_limit: Self::DEFAULT_BODY_LIMIT,
        }
    }

    /// What events and the log call the route and its handle: `Re-resolved the <name>.` Default: `origin`.
    pub fn named(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = name.into();
        self
    }

    /// Which requests only read. Default: [`ReadRoutes::safe`].
    pub fn reads(mut self, reads: ReadRoutes) -> Self {
        self.reads = reads;
        self
    }

    /// The most attempts that one call may spend, the first included. Default: 3.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.timing = self.timing.attempts(attempts);
        self
    }

    /// How long a call may take, all its attempts and pauses together. Default: no bound.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.timing = self.timing.deadline(deadline);
        self
    }

    /// How long one attempt may take, its body included. Default: the deadline divided by the attempts, or 30 s.
    pub fn attempt_timeout(mut self, limit: Duration) -> Self {
        self.timing = self.timing.attempt_timeout(limit);
        self
    }

    /// How long repeats wait.
    pub fn backoff(mut self, backoff: LinearBackoff) -> Self {
        self.backoff = backoff;
        self
    }

    /// Who sells the permits for repeats; to share one with other stacks, give each a clone of an `Arc` of it. Default: a
    /// [`ShareBudget`](tower_recovery::ShareBudget) of this stack's own.
    pub fn budget(mut self, budget: impl RetryBudget + 'static) -> Self {
        self.budget = Some(Arc::new(budget));
        self
    }

    /// Who sees the events of the stack.
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// How long one resolve may take. Default: as long as an attempt, 10 s at the most.
    pub fn resolve_timeout(mut self, limit: Duration) -> Self {
        self.resolve_timeout = Some(limit);
        self
    }

    /// How long making a TCP connection may take, the look-up of a host name not included; after that the request provably was not sent.
    /// Default: half an attempt, 5 s at the most.
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.connect_timeout = Some(limit);
        self
    }

    /// The longest body, in bytes, that [`build`](Self::build)'s stack collects. Default: 16 MiB.
    pub fn body_limit(mut self, limit: usize) -> Self {
        self.body_limit = limit;
        self
    }
}

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
        RequestBody: Body + Clone + Send + Unpin + 'static,
        RequestBody::Data: Send,
        RequestBody::Error: Into<BoxError>,
    {
        let leaf = ServiceBuilder::new().layer(CollectLayer::new(self.body_limit)).service(Dispatch);
        self.build_over(leaf)
    }

    /// The stack for answers whose bodies outlive the call. A body that breaks is the reader's to notice.
    ///
    /// # Errors
    ///
    /// A setting that is out of its bounds, by name.
    pub fn build_streaming<RequestBody>(self) -> Result<StreamingHttpStack<RequestBody>, InvalidSetting>
    where
        RequestBody: Body + Clone + Send + Unpin + 'static,
        RequestBody::Data: Send,
        RequestBody::Error: Into<BoxError>,
    {
        self.build_over(Dispatch)
    }

    fn build_over<RequestBody, Leaf>(self, leaf: Leaf) -> Result<Stack<RequestBody, Leaf>, InvalidSetting>
    where
        RequestBody: Body + Clone + Send + Unpin + 'static,
        RequestBody::Data: Send,
        RequestBody::Error: Into<BoxError>,
        Leaf: Clone,
    {
        let timing = self.timing.build()?;
        let attempt = timing.attempt_timeout();
        let connect_timeout = match self.connect_timeout {
            Some(limit) if limit >= attempt => {
                let bound = format!("shorter than the attempt_timeout of {attempt:?}");
                return Err(InvalidSetting::new("connect_timeout", format_args!("{limit:?}"), bound));
            }
            Some(limit) => limit,
            None => Self::DEFAULT_CONNECT_TIMEOUT.min(attempt / 2),
        };
        let resolve_timeout = self.resolve_timeout.unwrap_or_else(|| Self::DEFAULT_RESOLVE_TIMEOUT.min(attempt));
        let handles = self.resolver.map_response(move |found: Resolved<Origin>| {
            found.map(|origin| OriginHandle::new(origin, connect_timeout))
        });
        let mut cache =
            HandleCache::builder(handles, self.target).named(Arc::clone(&self.name)).resolve_timeout(resolve_timeout);
        let mut retry =
            ReadOnlyRetryLayer::new(HttpRules::new(self.reads)).named(self.name).timing(timing).backoff(self.backoff);
        if let Some(budget) = self.budget {
            retry = retry.budget(budget);
        }
        if let Some(observer) = self.observer {
            let of_the_cache = Arc::clone(&observer);
            cache = cache.observer(move |event: &RecoveryEvent| of_the_cache.observe(event));
            retry = retry.observer(move |event: &RecoveryEvent| observer.observe(event));
        }
        Ok(ServiceBuilder::new()
            .layer(retry)
            .layer(ReresolveLayer::new(cache.build()))
            .layer(ClassifyLayer::new(HttpClassifier::new()))
            .layer(AttemptTimeoutLayer::new(attempt))
            .service(leaf))
    }
}

impl<Resolver, Target> fmt::Debug for HttpRecovery<Resolver, Target> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HttpRecovery")
            .field("name", &self.name)
            .field("timing", &self.timing)
            .finish_non_exhaustive()
    }
}
