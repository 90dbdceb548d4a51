//! Every public type and future: which of them may cross threads, and what that asks of requests and handles.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail like the tests do")]

mod support;

use std::{cell::Cell, error::Error, marker::PhantomData};

use tower::{Service, ServiceBuilder, service_fn};
use tower_layer::Identity as NoLayer;
use tower_recovery::{
    Access, Acquire, Addressed, AttemptTimedOut, AttemptTimeoutLayer, CallTiming, CallTimingBuilder, ClassifyLayer,
    DeadlineExceeded, Delivery, Dispatch, Failure, Generation, HandleCache, HandleCacheBuilder, HandleSuperseded, Held,
    Identity, InvalidSetting, Lease, LeasedStreamLayer, LinearBackoff, NamedRules, NotReady, ReadMethods,
    ReadOnlyRetryLayer, Recovery, Renewal, ReresolveLayer, ResolveError, Resolved, RoutePolicy, RoutePolicyBuilder,
    SendSideOnly, StreamMode, StreamPolicy, StreamPolicyBuilder, StreamReplacementLayer, Verdict,
    attempt_timeout::{AttemptTimeout, AttemptTimeoutFuture},
    classify::{ClassifyFuture, ClassifyService},
    dispatch::DispatchFuture,
    leased_stream::{LeasedStream, LeasedStreamFuture, LeasedStreams},
    read_only_retry::{ReadOnlyRetry, ReadOnlyRetryFuture},
    registration::{
        OwnEvictionWatch, Presence, RebuildStep, RegistrationHealth, RegistrationMonitor, RegistrationStatus,
    },
    reresolve::{Reresolve, ReresolveFuture},
    stream_replacement::{
        Admitted, AdmittedFuture, AdmittedStream, DiscardedAttempt, Health, ItemRules, Marked, MarkedFuture,
        MarkedItem, MarkedStream, PreservedBecause, ProbeRequest, ReplacementBasis, Restart, Restarted, ResumeRefused,
        Resumed, Sight, StreamBroken, StreamEnd, StreamReplacement, StreamReport, UntilFirstItem, Whole, WholeFuture,
        WholeStream, WholeTooLong,
    },
};
use tower_recovery_test::{ScriptedService, ScriptedStream};

use self::support::{Call, Protocol, Reply, rules};

fn sendable<Value: Send + 'static>() {}
fn shareable<Value: Send + Sync + 'static>() {}
fn movable<Value: Unpin>() {}
fn error<Value: Error + Send + Sync + 'static>() {}
fn cloneable<Value: Clone>() {}

/// `Send` and not `Sync`, as a request with a body that flows once.
#[derive(Clone)]
struct OnlySend(#[allow(dead_code, reason = "it is there for its auto traits")] PhantomData<Cell<()>>);

type Handle = ScriptedService<Call, Reply>;
type Below = ClassifyService<AttemptTimeout<Dispatch>, Protocol>;
type Middle = Reresolve<Below, Handle>;

#[test]
fn the_vocabulary_crosses_threads() {
    shareable::<(Access, Delivery, Verdict, Generation, Identity, ReadMethods, Recovery)>();
    shareable::<(RoutePolicy, RoutePolicyBuilder, StreamPolicy, StreamPolicyBuilder, StreamMode)>();
    shareable::<(CallTiming, CallTimingBuilder, LinearBackoff, NamedRules<OnlySend>)>();
    shareable::<(Resolved<Handle>, Held<Handle>, Addressed<Handle, Call>, Lease, Renewal)>();
    shareable::<(Presence, RebuildStep, RegistrationHealth, RegistrationMonitor, RegistrationStatus)>();
    shareable::<OwnEvictionWatch<Protocol, fn(&(dyn Error + 'static)) -> bool>>();
    cloneable::<(Access, Delivery, Verdict, Generation, Identity, ReadMethods, Lease, Renewal, NamedRules<OnlySend>)>();
}

#[test]
fn every_error_crosses_threads() {
    error::<Failure>();
    error::<ResolveError>();
    error::<NotReady>();
    error::<DeadlineExceeded>();
    error::<AttemptTimedOut>();
    error::<InvalidSetting>();
    error::<HandleSuperseded>();
    cloneable::<HandleSuperseded>();
}

#[test]
fn a_failure_crosses_threads_whatever_it_carries() {
    let only_send = || OnlySend(PhantomData);
    let failure = Failure::from_response(Verdict::refused(), only_send()).with_unsent(only_send());
    let failure = std::thread::spawn(move || failure).join().unwrap();
    assert!(failure.take_response::<OnlySend>().is_some() && failure.take_unsent::<OnlySend>().is_some());
}

#[test]
fn every_layer_and_every_service_crosses_threads() {
    shareable::<(AttemptTimeoutLayer, ClassifyLayer<Protocol>, ReresolveLayer<Handle>)>();
    shareable::<ReadOnlyRetryLayer<NamedRules<Call>>>();
    shareable::<(Dispatch, AttemptTimeout<Dispatch>, Below, Middle)>();
    shareable::<ReadOnlyRetry<Middle, NamedRules<Call>>>();
    shareable::<(HandleCache<Handle>, HandleCacheBuilder<Handle>)>();
    cloneable::<(AttemptTimeoutLayer, ClassifyLayer<Protocol>, ReresolveLayer<OnlySend>, HandleCache<OnlySend>)>();
    cloneable::<ReadOnlyRetry<Middle, NamedRules<Call>>>();
}

#[test]
fn every_future_crosses_threads() {
    type Leaf = DispatchFuture<Handle, Call>;
    type Attempt = ClassifyFuture<AttemptTimeoutFuture<Leaf>, Protocol>;
    sendable::<Leaf>();
    sendable::<AttemptTimeoutFuture<Leaf>>();
    sendable::<Attempt>();
    sendable::<ReresolveFuture<Below, Handle, Call>>();
    sendable::<ReadOnlyRetryFuture<Middle, NamedRules<Call>, Call>>();
    shareable::<Acquire<Handle>>();
    movable::<Acquire<Handle>>();
}

/// Items that cannot cross to another thread by reference.
type Streams = ScriptedStream<OnlySend>;
type Streaming = ScriptedService<Call, Streams>;

#[test]
fn what_is_said_of_streams_crosses_threads() {
    shareable::<(Health, ProbeRequest, Sight, ReplacementBasis, PreservedBecause, StreamEnd)>();
    shareable::<(StreamReport, DiscardedAttempt, Restart, Whole, UntilFirstItem, Marked, Resumed<Restart>)>();
    shareable::<(ItemRules<OnlySend>, SendSideOnly<NamedRules<OnlySend>>)>();
    sendable::<(WholeStream<OnlySend, OnlySend>, Admitted<OnlySend, OnlySend>)>();
    sendable::<(Restarted<OnlySend>, MarkedItem<OnlySend, OnlySend>)>();
    cloneable::<(Restart, Whole, UntilFirstItem, Marked, Resumed<Restart>, ItemRules<OnlySend>, StreamReport)>();
    error::<StreamBroken>();
    error::<WholeTooLong>();
    error::<ResumeRefused>();
}

#[test]
fn the_layers_of_streams_and_their_services_cross_threads() {
    fn both<Admission: Send + Sync + Clone + 'static>() {
        type Layer<Admission> = StreamReplacementLayer<NamedRules<Call>, ItemRules<OnlySend>, Admission>;
        type Layered<Admission> = StreamReplacement<Streaming, NamedRules<Call>, ItemRules<OnlySend>, Admission>;
        shareable::<(Layer<Admission>, Layered<Admission>)>();
        cloneable::<(Layer<Admission>, Layered<Admission>)>();
    }
    both::<Whole>();
    both::<UntilFirstItem>();
    both::<Marked>();
    both::<Resumed<Restart>>();
    shareable::<(LeasedStreamLayer<Protocol>, LeasedStreams<Dispatch, Protocol>)>();
    cloneable::<(LeasedStreamLayer<Protocol>, LeasedStreams<Dispatch, Protocol>)>();
}

#[test]
fn the_futures_and_the_streams_of_streams_cross_threads() {
    type Rules = NamedRules<Call>;
    type Items = ItemRules<OnlySend>;
    sendable::<WholeFuture<Streaming, Rules, Items, Call>>();
    sendable::<AdmittedFuture<Streaming, Rules, Items, Restart, Call>>();
    sendable::<AdmittedStream<Streaming, Rules, Items, Restart, Call>>();
    sendable::<MarkedFuture<Streaming, Rules, Items, Call>>();
    sendable::<MarkedStream<Streaming, Rules, Items, Call>>();
    sendable::<LeasedStreamFuture<DispatchFuture<Streaming, Call>, Protocol>>();
    sendable::<LeasedStream<Streams, Protocol>>();
    // Where a reader moves it about once it has begun.
    movable::<LeasedStream<Streams, Protocol>>();
}

#[test]
fn a_handle_that_is_not_sync_is_shared_all_the_same() {
    shareable::<(HandleCache<OnlySend>, HandleCacheBuilder<OnlySend>, Acquire<OnlySend>, ReresolveLayer<OnlySend>)>();
    sendable::<(Held<OnlySend>, Reresolve<NoLayer, OnlySend>, Addressed<OnlySend, OnlySend>)>();
}

#[test]
fn a_stack_of_requests_and_handles_that_are_not_sync_is_sendable_and_so_are_its_calls() {
    fn sendable_value<Value: Send + 'static>(_: &Value) {}

    #[derive(Clone)]
    struct Unsynced<Inner>(Inner, #[allow(dead_code, reason = "it is there for its auto traits")] OnlySend);

    impl<Inner: Service<Request>, Request> Service<Request> for Unsynced<Inner> {
        type Response = Inner::Response;
        type Error = Inner::Error;
        type Future = Inner::Future;

        fn poll_ready(&mut self, context: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Inner::Error>> {
            self.0.poll_ready(context)
        }

        fn call(&mut self, request: Request) -> Inner::Future {
            self.0.call(request)
        }
    }

    let handle = Unsynced(
        service_fn(|request: OnlySend| async move { Ok::<_, std::io::Error>(request) }),
        OnlySend(PhantomData),
    );
    let resolver = service_fn(move |()| {
        let resolved = Resolved::new("a", handle.clone());
        async move { Ok::<_, std::io::Error>(resolved) }
    });
    let resolver = Unsynced(resolver, OnlySend(PhantomData));
    let rules = NamedRules::new(|_: &OnlySend| "any", ReadMethods::new()).copied_by(|request| Some(request.clone()));
    let mut stack = ServiceBuilder::new()
        .layer(ReadOnlyRetryLayer::new(rules))
        .layer(ReresolveLayer::new(HandleCache::new(resolver, ())))
        .service(Dispatch);
    sendable_value(&stack);
    sendable_value(&stack.call(OnlySend(PhantomData)));
}

#[test]
fn what_prints_a_call_prints_no_payload() {
    let rules = format!("{:?}", rules());
    assert!(rules.starts_with("NamedRules"));
    let cache = format!("{:?}", HandleCache::<Handle>::new(tower_recovery_test::ScriptedResolver::new([]), ()));
    assert_eq!(cache, "HandleCache { .. }");
}
