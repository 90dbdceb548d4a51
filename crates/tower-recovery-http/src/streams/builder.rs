//! What a stream route is told.

use std::{fmt, sync::Arc};

use bytes::Bytes;
use http::Response;
use http_body::Body;
use tower::BoxError;
use tower_layer::Layer;
use tower_recovery::{
    Observer, RecoveryEvent, StreamPolicy, StreamReplacementLayer,
    stream_replacement::{Health, Marked, ProbeRequest, Resumed, StreamReplacement, UntilFirstItem, Whole},
};
use tower_service::Service;

use super::HttpProbe;
use crate::{
    BodyRules, HttpClassifier, RangeResume,
    sse::{LastEventIdResume, SseRules},
};

/// Builds the front door of a stream route. First it is told what its streams are made of ([`sse`](Self::sse), [`bodies`](Self::bodies)), then what is handed out, and when.
///
/// Made by [`HttpRecovery::streams`](crate::HttpRecovery::streams), or [over](Self::over) a stack of your own. See the [module documentation](super).
#[must_use = "a builder does nothing until it is told what to hand out"]
pub struct HttpStreams<Api, Prober, Rules, Streams = ()> {
    api: Api,
    prober: Prober,
    classifier: HttpClassifier,
    layer: StreamReplacementLayer<Rules, Streams, ()>,
}

impl<Api, Prober, Rules> HttpStreams<Api, Prober, Rules> {
    /// Over a stack of your own, whose requests are known by these rules ([`HttpRules`](crate::HttpRules), for one), and one for its probes, to the same handles.
    ///
    /// What is in the first must repeat nothing that may have executed ([`SendSideOnly`](tower_recovery::SendSideOnly)); the second must give an attempt less time
    /// than the policy gives a probe, or a handle that is frozen is never evicted.
    pub fn over(api: Api, prober: Prober, rules: Rules, classifier: HttpClassifier, policy: StreamPolicy) -> Self {
        Self { api, prober, classifier, layer: StreamReplacementLayer::new(policy, rules, (), ()) }
    }

    /// The streams are server-sent events, which say by these rules when the whole of them has come.
    ///
    /// What an error of a body proves is said by the classifier of this route, whatever was [said](SseRules::classified_by) to these rules before.
    pub fn sse(self, rules: SseRules) -> HttpStreams<Api, Prober, Rules, SseRules> {
        let Self { api, prober, classifier, layer } = self;
        let rules = rules.classified_by(classifier.clone());
        HttpStreams { api, prober, classifier, layer: layer.streams(rules) }
    }

    /// The streams are bodies of any kind, whole when their framing says so: downloads.
    pub fn bodies(self) -> HttpStreams<Api, Prober, Rules, BodyRules> {
        let Self { api, prober, classifier, layer } = self;
        let rules = BodyRules::new(classifier.clone());
        HttpStreams { api, prober, classifier, layer: layer.streams(rules) }
    }
}

impl<Api, Prober, Rules, Streams> HttpStreams<Api, Prober, Rules, Streams> {
    /// What events and logs call the route. Default: the name of the stack.
    pub fn named(mut self, route: impl Into<Arc<str>>) -> Self {
        self.layer = self.layer.named(route);
        self
    }

    /// Who sees the events of the replacement. Default: who sees those of the stack.
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.layer = self.layer.observer(observer);
        self
    }

    pub(crate) fn observed_by(self, observer: Option<Arc<dyn Observer>>) -> Self {
        match observer {
            Some(observer) => self.observer(move |event: &RecoveryEvent| observer.observe(event)),
            None => self,
        }
    }

    /// Asks by this request, on the same handles, whether the route of a silent stream works. Healthy is a success whose body is whole and no error object; for
    /// more, see [`HttpProbe`]. Without a probe a silent stream is never replaced, and ends after the policy's `keep_alive_idle` without content.
    pub fn probe<Request, ProbeBody>(self, request: impl Fn() -> Request + Clone + Send + 'static) -> Self
    where
        Prober: Service<Request, Response = Response<ProbeBody>> + Clone + Send + 'static,
        Prober::Error: Into<BoxError>,
        Prober::Future: Send,
        Request: Send + 'static,
        ProbeBody: Body<Data = Bytes> + Send + 'static,
        ProbeBody::Error: Into<BoxError>,
    {
        let probe = HttpProbe::new(self.prober.clone(), request);
        self.probed_by(probe)
    }

    /// Asks this service whether the route of a silent stream works.
    pub fn probed_by<Probe>(mut self, probe: Probe) -> Self
    where
        Probe: Service<ProbeRequest, Response = Health> + Clone + Send + 'static,
        Probe::Error: Into<BoxError>,
        Probe::Future: Send,
    {
        self.layer = self.layer.health_probe(probe);
        self
    }
}

/// What is handed out.
impl<Api, Prober, Rules, Streams> HttpStreams<Api, Prober, Rules, Streams>
where
    Api: Clone,
    Rules: Clone,
    Streams: Clone,
{
    /// A stream is held back until it is complete, up to so many bytes. See [`Whole`].
    pub fn whole(self, limit: usize) -> StreamReplacement<Api, Rules, Streams, Whole> {
        self.admitting(Whole::up_to(limit))
    }

    /// A stream is replaced while nothing of it was handed out. See [`UntilFirstItem`].
    pub fn until_first_item(self) -> StreamReplacement<Api, Rules, Streams, UntilFirstItem> {
        self.admitting(UntilFirstItem)
    }

    /// Items come as they come, and a mark where everything before it is to be discarded. See [`Marked`].
    pub fn marked(self) -> StreamReplacement<Api, Rules, Streams, Marked> {
        self.admitting(Marked)
    }

    fn admitting<Admission: Clone>(self, admission: Admission) -> StreamReplacement<Api, Rules, Streams, Admission> {
        self.layer.admission(admission).layer(self.api)
    }
}

impl<Api: Clone, Prober, Rules: Clone> HttpStreams<Api, Prober, Rules, SseRules> {
    /// Events come as they come, and a replacement is asked for those after the last one, by `GET` alone. See [`LastEventIdResume`].
    pub fn resumed(self) -> StreamReplacement<Api, Rules, SseRules, Resumed<LastEventIdResume>> {
        self.resumed_by(LastEventIdResume::new())
    }

    /// The same, by another method than `GET`, say: see [`LastEventIdResume::for_any_method`].
    pub fn resumed_by(
        self,
        resume: LastEventIdResume,
    ) -> StreamReplacement<Api, Rules, SseRules, Resumed<LastEventIdResume>> {
        self.admitting(Resumed::by(resume))
    }
}

impl<Api: Clone, Prober, Rules: Clone> HttpStreams<Api, Prober, Rules, BodyRules> {
    /// Bytes come as they come, and a replacement is asked for those after the last one. See [`RangeResume`].
    pub fn resumed(self) -> StreamReplacement<Api, Rules, BodyRules, Resumed<RangeResume>> {
        self.admitting(Resumed::by(RangeResume::new()))
    }
}

impl<Api: fmt::Debug, Prober, Rules: fmt::Debug, Streams: fmt::Debug> fmt::Debug
    for HttpStreams<Api, Prober, Rules, Streams>
{
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HttpStreams")
            .field("api", &self.api)
            .field("layer", &self.layer)
            .finish_non_exhaustive()
    }
}
