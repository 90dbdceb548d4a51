//! The fifteen behaviours that the origin of this project tests of its fix, by name, on the stack that grew out of it.
//!
//! A worker resolved `public/artifact-manager` once and kept the proxy; the manager registered itself anew under another client id, and for
//! 62 minutes every artifact call ran into its timeout. Errors are known by their texts here, as they were there.

use std::{error::Error, time::Duration};

use tokio::time::Instant;
use tower::{BoxError, Service, ServiceBuilder, ServiceExt, util::BoxCloneSyncService};
use tower_recovery::{
    AttemptTimeoutLayer, Classify, ClassifyLayer, Delivery, Dispatch, Failure, HandleCache, NamedRules, ReadMethods,
    ReadOnlyRetryLayer, ReresolveLayer, ResolveError, Verdict, sources,
};
use tower_recovery_test::{ScriptedResolver, ScriptedService, Step};

const OLD: &str = "public/marvelous-chameleon-04319715";
const NEW: &str = "public/incredible-athlete-20303535";
const TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Call {
    method: &'static str,
    silent: Option<bool>,
}

fn call(method: &'static str) -> Call {
    Call { method, silent: None }
}

fn silenced(method: &'static str) -> Call {
    Call { method, silent: Some(true) }
}

type Proxy = ScriptedService<Call, &'static str>;
type Resolver = ScriptedResolver<Proxy>;

const READS: [&str; 6] = ["read", "list", "search", "get_file", "read_file", "list_files"];
const SILENT: [&str; 3] = ["read", "list", "get_file"];
const WRITES: [&str; 7] = ["create", "commit", "edit", "delete", "publish", "discard", "put_file"];
const NEVER_SENT: [&str; 2] = ["Failed to send the request", "Websocket reconnection timed out"];
const MAYBE_SENT: [&str; 3] = ["Client disconnected", "Method call timed out", "Service not found"];

/// The two kinds of failure that the origin tells apart, by its markers.
#[derive(Clone)]
struct Markers;

impl<Response> Classify<Response> for Markers {
    fn response(&self, _: &Response) -> Option<Verdict> {
        None
    }

    fn error(&self, error: &(dyn Error + 'static)) -> Verdict {
        let says =
            |markers: &[&str]| sources(error).any(|link| markers.iter().any(|text| link.to_string().contains(text)));
        if says(&NEVER_SENT) {
            Verdict::never_sent().stale()
        } else if says(&MAYBE_SENT) {
            Verdict::maybe_sent().stale()
        } else {
            Verdict::unrecognised()
        }
    }
}

/// What the worker's applications are given in place of the proxy. This is the line that must not regress.
struct AppsManager {
    artifact_manager: BoxCloneSyncService<Call, &'static str, Failure>,
}

impl AppsManager {
    fn initialize(resolver: &Resolver) -> Self {
        let reads = READS.into_iter().fold(ReadMethods::new(), ReadMethods::read);
        let reads = SILENT.into_iter().fold(reads, ReadMethods::silent);
        let rules = NamedRules::new(|call: &Call| call.method, reads)
            .copied_by(|call| Some(*call))
            .silenced_by(|call| _ = call.silent.get_or_insert(true));
        let cache = HandleCache::builder(resolver.clone(), "public/artifact-manager")
            .named("artifact manager service proxy")
            .build();
        let stack = ServiceBuilder::new()
            .layer(ReadOnlyRetryLayer::new(rules))
            .layer(ReresolveLayer::new(cache))
            .layer(ClassifyLayer::new(Markers))
            .layer(AttemptTimeoutLayer::new(TIMEOUT))
            .service(Dispatch);
        Self { artifact_manager: BoxCloneSyncService::new(stack) }
    }

    async fn call(&mut self, call: Call) -> Result<&'static str, Failure> {
        self.artifact_manager.ready().await?.call(call).await
    }
}

fn proxy(steps: impl IntoIterator<Item = Step<&'static str>>) -> Proxy {
    ScriptedService::new(steps)
}

fn answering(answer: &'static str) -> Proxy {
    proxy([Step::answer(answer)])
}

/// The registry names the old client id first, and from then on the new one.
fn moved(old: &Proxy, new: &Proxy) -> Resolver {
    ScriptedResolver::new([Step::resolved(OLD, old.clone()), Step::resolved(NEW, new.clone())])
}

fn verdict(text: &'static str) -> Verdict {
    Classify::<&str>::error(&Markers, &*BoxError::from(text))
}

#[test]
fn the_classifier_knows_what_never_left() {
    for text in NEVER_SENT {
        assert_eq!(verdict(text).delivery(), Some(Delivery::NeverSent), "{text}");
    }
}

#[test]
fn the_classifier_knows_what_may_have_arrived() {
    for text in MAYBE_SENT {
        assert_eq!(verdict(text).delivery(), Some(Delivery::MaybeSent), "{text}");
    }
}

#[test]
fn the_classifier_leaves_application_errors_alone() {
    for text in ["Artifact 'a' already exists", "Permission denied", "KeyError: 'manifest'"] {
        assert_eq!(verdict(text), Verdict::unrecognised(), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_healthy_call_passes_through() {
    let old = answering("old");
    let resolver = moved(&old, &answering("new"));
    let mut manager = AppsManager::initialize(&resolver);
    for method in [READS.as_slice(), &WRITES].concat() {
        assert_eq!(manager.call(call(method)).await.unwrap(), "old");
        assert_eq!(old.requests().last(), Some(&call(method)), "as the caller gave it");
    }
    assert_eq!(resolver.resolves(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_ordinary_application_error_passes_through_and_evicts_nothing() {
    let old = proxy([Step::fail("Permission denied")]);
    let resolver = moved(&old, &answering("new"));
    let mut manager = AppsManager::initialize(&resolver);
    for method in ["read", "commit"] {
        let failure = manager.call(call(method)).await.unwrap_err();
        assert_eq!(
            (failure.delivery(), failure.into_cause().unwrap().to_string().as_str()),
            (None, "Permission denied")
        );
    }
    assert_eq!((old.calls(), resolver.resolves()), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_never_left_is_always_repeated() {
    for marker in NEVER_SENT {
        for method in [READS.as_slice(), &WRITES].concat() {
            let (old, new) = (proxy([Step::fail(marker)]), answering("new"));
            let mut manager = AppsManager::initialize(&moved(&old, &new));
            assert_eq!(manager.call(call(method)).await.unwrap(), "new", "{method} after {marker}");
            assert_eq!((old.calls(), new.calls()), (1, 1));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_timed_out_read_is_repeated_on_the_new_proxy_after_one_timeout() {
    for method in READS {
        let (old, new) = (proxy([Step::hang()]), answering("new"));
        let mut manager = AppsManager::initialize(&moved(&old, &new));
        let started = Instant::now();
        assert_eq!(manager.call(call(method)).await.unwrap(), "new", "{method}");
        assert!((TIMEOUT..TIMEOUT + Duration::from_secs(1)).contains(&started.elapsed()), "{:?}", started.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_timeout_on_a_write_refreshes_the_proxy_without_replaying_the_call() {
    for method in WRITES {
        let (old, new) = (proxy([Step::hang()]), answering("new"));
        let resolver = moved(&old, &new);
        let mut manager = AppsManager::initialize(&resolver);
        let failure = manager.call(call(method)).await.unwrap_err();
        assert_eq!(failure.delivery(), Some(Delivery::MaybeSent), "{method}");
        assert_eq!((old.calls(), new.calls()), (1, 0), "{method}: not replayed");

        manager.call(call("status")).await.unwrap();
        assert_eq!((old.calls(), resolver.resolves()), (1, 2), "{method}: refreshed");
    }
}

#[tokio::test(start_paused = true)]
async fn the_call_after_a_failed_write_succeeds() {
    for marker in MAYBE_SENT {
        let (old, new) = (proxy([Step::fail(marker)]), answering("new"));
        let mut manager = AppsManager::initialize(&moved(&old, &new));
        manager.call(call("commit")).await.unwrap_err();
        assert_eq!(manager.call(call("commit")).await.unwrap(), "new", "after {marker}");
        assert_eq!((old.calls(), new.calls()), (1, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn concurrent_callers_cause_one_re_resolve() {
    let (old, new) = (proxy([Step::hang()]), answering("new"));
    let resolver = moved(&old, &new);
    let manager = AppsManager::initialize(&resolver);
    let callers: Vec<_> =
        (0..200).map(|_| tokio::spawn(manager.artifact_manager.clone().oneshot(call("read")))).collect();
    for caller in callers {
        assert_eq!(caller.await.unwrap().unwrap(), "new");
    }
    assert_eq!((old.calls(), new.calls(), resolver.resolves()), (200, 200, 2));
}

#[tokio::test(start_paused = true)]
async fn a_failed_re_resolve_surfaces_and_is_not_swallowed() {
    let resolver = ScriptedResolver::new([
        Step::resolved(OLD, proxy([Step::fail(NEVER_SENT[0])])),
        Step::fail("the registry is away"),
    ]);
    let failure = AppsManager::initialize(&resolver).call(call("read")).await.unwrap_err();
    assert_eq!(failure.delivery(), Some(Delivery::NeverSent));
    let cause = failure.find::<ResolveError>().unwrap();
    assert_eq!(cause.source().unwrap().to_string(), "the registry is away");
}

#[tokio::test(start_paused = true)]
async fn a_repeated_read_is_silenced_once_it_may_have_been_counted() {
    for method in SILENT {
        let (old, new) = (proxy([Step::hang()]), answering("new"));
        AppsManager::initialize(&moved(&old, &new)).call(call(method)).await.unwrap();
        assert_eq!((old.requests(), new.requests()), (vec![call(method)], vec![silenced(method)]));
    }
}

#[tokio::test(start_paused = true)]
async fn a_send_side_repeat_is_not_silenced() {
    for method in SILENT {
        let (old, new) = (proxy([Step::fail(NEVER_SENT[0])]), answering("new"));
        AppsManager::initialize(&moved(&old, &new)).call(call(method)).await.unwrap();
        assert_eq!(new.requests(), [call(method)], "nothing was counted the first time");
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_that_does_not_accept_silent_is_repeated_without_it() {
    for method in ["search", "read_file", "list_files"] {
        let (old, new) = (proxy([Step::hang()]), answering("new"));
        AppsManager::initialize(&moved(&old, &new)).call(call(method)).await.unwrap();
        assert_eq!(new.requests(), [call(method)], "{method} would raise on it");
    }
}

#[tokio::test(start_paused = true)]
async fn the_manager_installs_the_wrapper_where_it_resolves_the_proxy() {
    let (old, new) = (proxy([Step::fail(MAYBE_SENT[0])]), answering("new"));
    let mut manager = AppsManager::initialize(&moved(&old, &new));
    assert_eq!(manager.call(call("read")).await.unwrap(), "new", "a bare proxy would have failed here");
}
