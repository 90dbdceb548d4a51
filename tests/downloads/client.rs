//! The client: the front door of a stream route, whose streams are bodies.

use std::{pin::pin, time::Duration};

use bytes::Bytes;
use futures_util::StreamExt;
use http::{Request, request, response::Parts};
use http_body_util::Full;
use tower::{Service, ServiceExt};
use tower_recovery::{
    Failure, Recovery, StreamMode, StreamPolicy,
    stream_replacement::{Resumed, StreamBroken, StreamEnd, StreamReplacement, StreamReport},
};
use tower_recovery_http::{BodyRules, HttpFrontDoor, HttpRules, Origin, RangeResume, SendSideHttpStack};
use tower_recovery_test::{CuttingProxy, Registry};

/// No test waits longer for anything.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) type Door =
    StreamReplacement<SendSideHttpStack<Full<Bytes>>, HttpRules<Full<Bytes>>, BodyRules, Resumed<RangeResume>>;

/// What came of one download.
#[derive(Debug)]
pub(crate) struct Download {
    pub(crate) head: Parts,
    pub(crate) bytes: Vec<u8>,
    pub(crate) end: Result<(), Failure>,
    pub(crate) report: StreamReport,
}

/// Through this proxy, with all the replacements that there can be, and next to no pauses.
pub(crate) fn door(proxy: &CuttingProxy) -> Door {
    const SHORT: Duration = Duration::from_millis(20);
    let registry = Registry::new();
    let origin: Origin = proxy.origin().parse().expect("an origin");
    registry.register("files", "nginx", origin);
    let policy = StreamPolicy::builder(StreamMode::RetryOnHealthyProbe).recovery_grace(SHORT).max_replacements(10);
    Recovery::http(registry.resolver(), "files")
        .resolve_floor(Duration::from_millis(1), SHORT)
        .streams(policy.build().expect("it is in its bounds"))
        .expect("the settings are in their bounds")
        .bodies()
        .resumed()
}

pub(crate) fn get(name: &str, id: &str) -> request::Builder {
    Request::get(format!("/{name}")).header("x-request-id", id)
}

/// Calls, and reads what comes to its end.
pub(crate) async fn download(mut door: Door, request: request::Builder) -> Result<Download, Failure> {
    let request = request.body(Full::default()).expect("a request");
    within(async {
        let admitted = door.ready().await?.call(request).await?;
        let mut items = pin!(admitted.items);
        let mut bytes = Vec::new();
        let end = loop {
            match items.next().await {
                None => break Ok(()),
                Some(Err(failure)) => break Err(failure),
                Some(Ok(frame)) => bytes.extend_from_slice(&frame.into_data().expect("nginx sends no trailers")),
            }
        };
        assert!(items.next().await.is_none(), "after its end there is nothing");
        Ok(Download { head: admitted.head, bytes, end, report: items.report() })
    })
    .await
}

pub(crate) async fn within<Output>(future: impl Future<Output = Output>) -> Output {
    tokio::time::timeout(PATIENCE, future).await.expect("the test hangs")
}

impl Download {
    /// What broke it.
    pub(crate) fn broken(&self) -> &StreamBroken {
        let failure = self.end.as_ref().expect_err("it is not whole");
        failure.find().unwrap_or_else(|| panic!("{failure:?}"))
    }

    /// It is a beginning of this file, not of the other one, and was ended because what came was not the rest of it.
    pub(crate) fn ends_unresumed_within(&self, file: &[u8], why: &str) {
        self.is_a_beginning_of(file);
        let broken = self.broken();
        assert_eq!(broken.reason, StreamEnd::NotResumed, "{broken:?}");
        let refused = broken.resume_refused().unwrap_or_else(|| panic!("{broken:?}"));
        assert!(refused.reason.contains(why), "{refused}");
        assert_eq!((broken.report.attempts, &broken.report), (2, &self.report));
    }

    /// Not all of it, and not nothing.
    pub(crate) fn is_a_beginning_of(&self, file: &[u8]) {
        assert!((1..file.len()).contains(&self.bytes.len()), "{} bytes", self.bytes.len());
        self.is_spliced_nowhere(file);
    }

    pub(crate) fn is_spliced_nowhere(&self, file: &[u8]) {
        let same = self.bytes.iter().zip(file).take_while(|(came, are)| came == are).count();
        assert_eq!(same, self.bytes.len(), "from this byte on it is another file, {:?}", self.report);
    }
}
