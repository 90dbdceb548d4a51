//! A model on a real socket, the front door of its stream route, and what that said of its work.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, header::CONTENT_TYPE, response::Parts};
use http_body_util::Full;
use tokio::{sync::watch, time::timeout};
use tower::ServiceExt;
use tower_recovery::{
    Failure, LinearBackoff, Recovery, RecoveryEvent, StreamMode, StreamPolicy, StreamPolicyBuilder,
    stream_replacement::{StreamBroken, WholeStream},
};
use tower_recovery_http::{
    HttpFrontDoor, HttpRecovery, HttpStreamsOverPools, Origin, Protocol, Transport,
    sse::{SseItem, SseRules},
};
use tower_recovery_test::{
    FaultyServer, Registry, RegistryResolver,
    faulty::{Act, ErrorCode, FaultyServerBuilder, RequestContext, StreamEnding, StreamScript, Streams},
};

const NAME: &str = "model";
/// The route of the streams.
pub(crate) const CHAT: &str = "/v1/chat/completions";
/// Where it is asked whether the model works.
pub(crate) const HEALTH: &str = "/v1/models";

type Body = Full<Bytes>;
pub(crate) type Chat = HttpStreamsOverPools<Body, SseRules>;
pub(crate) type Whole = Result<WholeStream<Parts, SseItem>, Failure>;

/// Ends a test that hangs.
pub(crate) async fn bounded<Output>(future: impl Future<Output = Output>) -> Output {
    timeout(Duration::from_secs(30), future).await.expect("the test hangs")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    Http1,
    #[cfg(feature = "http2")]
    Http2,
}

impl Wire {
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        #[cfg(feature = "http2")]
        return [Self::Http1, Self::Http2].into_iter();
        #[cfg(not(feature = "http2"))]
        [Self::Http1].into_iter()
    }

    fn protocol(self) -> Protocol {
        match self {
            Self::Http1 => Protocol::Http1,
            #[cfg(feature = "http2")]
            Self::Http2 => Protocol::Http2,
        }
    }

    /// How a stream can be cut off in the middle.
    pub(crate) fn cuts(self) -> Vec<StreamEnding> {
        match self {
            Self::Http1 => vec![StreamEnding::Close, StreamEnding::Reset],
            #[cfg(feature = "http2")]
            Self::Http2 => {
                let codes = [ErrorCode::INTERNAL_ERROR, ErrorCode::CANCEL, ErrorCode::NO_ERROR];
                let resets = codes.map(|code| StreamEnding::ResetStream { code });
                resets.into_iter().chain([StreamEnding::Close]).collect()
            }
        }
    }

    /// A reset of what carries one stream: the socket, or on HTTP/2 the stream.
    pub(crate) fn reset(self) -> StreamEnding {
        StreamEnding::ResetStream { code: ErrorCode::INTERNAL_ERROR }
    }
}

/// A server that streams the answers to chats, and says that it is healthy to whoever asks.
pub(crate) struct Model {
    pub(crate) server: FaultyServer,
    pub(crate) registry: Registry<Origin>,
    pub(crate) events: Events,
    wire: Wire,
}

impl Model {
    pub(crate) async fn streaming(wire: Wire, scripts: impl Streams) -> Self {
        Self::start(wire, |server| server.application(|_| events_head()).streams(scripts)).await
    }

    pub(crate) async fn start(wire: Wire, configure: impl FnOnce(FaultyServerBuilder) -> FaultyServerBuilder) -> Self {
        let server = FaultyServer::builder().script(only_chats_stream);
        let server = match wire {
            Wire::Http1 => server,
            #[cfg(feature = "http2")]
            Wire::Http2 => server.http2(),
        };
        let server = configure(server).start().await.expect("a port is free");
        let registry = Registry::new();
        registry.register(NAME, "first", server.origin().parse().expect("an origin"));
        Self { server, registry, events: Events::default(), wire }
    }

    pub(crate) fn door(&self) -> HttpRecovery<RegistryResolver<Origin>, &'static str> {
        Recovery::http(self.registry.resolver(), NAME)
            .named(NAME)
            .transport(Transport::new().protocol(self.wire.protocol()))
            .resolve_floor(Duration::from_millis(1), Duration::from_millis(1))
            .backoff(LinearBackoff::new(Duration::from_millis(1), Duration::from_millis(1)))
            .observer(self.events.observer())
    }

    pub(crate) fn chat(&self, policy: StreamPolicy) -> Chat {
        self.chat_through(self.door(), policy)
    }

    pub(crate) fn chat_through(
        &self,
        door: HttpRecovery<RegistryResolver<Origin>, &'static str>,
        policy: StreamPolicy,
    ) -> Chat {
        let probe = || Request::get(HEALTH).body(Full::default()).expect("a request");
        door.streams(policy).expect("the settings fit").probe(probe).sse(SseRules::openai_chat())
    }

    /// One chat, held back until it is complete.
    pub(crate) async fn whole(&self, policy: StreamPolicy) -> Whole {
        bounded(self.chat(policy).whole(1 << 20).oneshot(question())).await
    }

    /// How many chats the application saw.
    pub(crate) fn calls(&self) -> usize {
        self.server.executions().iter().filter(|execution| execution.path == CHAT).count()
    }

    /// How many probes the application saw.
    pub(crate) fn probes(&self) -> usize {
        self.server.executions().iter().filter(|execution| execution.path == HEALTH).count()
    }
}

/// Streams chats, and answers anything else as it is.
fn only_chats_stream(request: &RequestContext) -> Act {
    if request.path == CHAT { Act::Stream } else { Act::Answer }
}

pub(crate) fn events_head() -> Response<Bytes> {
    Response::builder().header(CONTENT_TYPE, "text/event-stream").body(Bytes::new()).expect("a response")
}

pub(crate) fn question() -> Request<Full<Bytes>> {
    Request::post(CHAT).body(Full::from(r#"{"stream": true}"#)).expect("a request")
}

/// A script that sends one event for each of these texts.
pub(crate) fn saying<'text>(texts: impl IntoIterator<Item = &'text str>) -> StreamScript {
    texts.into_iter().fold(StreamScript::new(), |script, text| script.send(format!("data: {text}\n\n")))
}

/// The whole of an answer in these words, with its terminal event.
pub(crate) fn complete<'text>(texts: impl IntoIterator<Item = &'text str>) -> StreamScript {
    saying(texts).send("data: [DONE]\n\n")
}

/// For what breaks: it is never silent, and its pauses are short.
pub(crate) fn replacing(replacements: u32) -> StreamPolicy {
    timed(replacements).idle(Duration::from_secs(20)).build().expect("in bounds")
}

/// For what falls silent, soon.
pub(crate) fn watching(replacements: u32) -> StreamPolicy {
    timed(replacements).idle(IDLE).keep_alive_idle(KEEP_ALIVE_IDLE).build().expect("in bounds")
}

pub(crate) const IDLE: Duration = Duration::from_millis(400);
pub(crate) const KEEP_ALIVE_IDLE: Duration = Duration::from_millis(1600);
pub(crate) const GRACE: Duration = Duration::from_millis(60);

fn timed(replacements: u32) -> StreamPolicyBuilder {
    StreamPolicy::builder(StreamMode::RetryOnHealthyProbe)
        .recovery_grace(GRACE)
        .probe_timeout(Duration::from_secs(5))
        .probe_interval(Duration::from_secs(5))
        .max_replacements(replacements)
}

/// What the events say, each by its data.
pub(crate) fn texts<'item>(items: impl IntoIterator<Item = &'item SseItem>) -> Vec<String> {
    let text = |item: &SseItem| match item {
        SseItem::Event(event) => event.data().to_owned(),
        other => format!("{other:?}"),
    };
    items.into_iter().map(text).collect()
}

/// How the stream ended that this failure speaks of.
pub(crate) fn broken(failure: &Failure) -> &StreamBroken {
    failure.find().unwrap_or_else(|| panic!("another failure: {failure:?}"))
}

/// What the stack told its observer.
#[derive(Clone, Default)]
pub(crate) struct Events {
    seen: Arc<Mutex<Vec<RecoveryEvent>>>,
    changed: Arc<watch::Sender<()>>,
}

impl Events {
    pub(crate) fn observer(&self) -> impl Fn(&RecoveryEvent) + Send + Sync + use<> {
        let Self { seen, changed } = self.clone();
        move |event| {
            seen.lock().expect("no holder panics").push(event.clone());
            changed.send_replace(());
        }
    }

    /// What was made of each event, where that is something.
    pub(crate) fn map<Made>(&self, make: impl FnMut(&RecoveryEvent) -> Option<Made>) -> Vec<Made> {
        self.seen.lock().expect("no holder panics").iter().filter_map(make).collect()
    }

    pub(crate) async fn wait_for(&self, is_it: impl Fn(&RecoveryEvent) -> bool) {
        self.wait_for_number(1, is_it).await;
    }

    /// Waits until there were so many of these.
    pub(crate) async fn wait_for_number(&self, number: usize, is_it: impl Fn(&RecoveryEvent) -> bool) {
        let mut changed = self.changed.subscribe();
        let seen = |(): &()| self.map(|event| is_it(event).then_some(())).len() >= number;
        changed.wait_for(seen).await.expect("the sender is borrowed");
    }
}
