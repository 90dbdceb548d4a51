//! The layer with each of its admissions, and what its reader holds.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{FutureExt, Stream, TryFutureExt};
use tower::{BoxError, Layer, Service, ServiceExt, util::BoxCloneSyncService};
use tower_recovery::{
    CallTiming, Failure, LinearBackoff, ReadOnlyRetryLayer, SendSideOnly, ShareBudget, StreamPolicy,
    StreamReplacementLayer,
    stream_replacement::{
        AdmittedStream, Marked, MarkedItem, MarkedStream, Resume, Resumed, StreamReplacement, StreamReport,
        UntilFirstItem, Whole,
    },
};

use crate::{
    protocol::{Answer, Call, Head, Item, Requests, Rest, Streams, requests},
    record::{Out, Report},
    script::{Admission, Setup},
    world::{Backend, Prober, Tap, World},
};

/// The times of a policy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) idle: Duration,
    pub(crate) keep_alive_idle: Duration,
    pub(crate) probe_timeout: Duration,
    pub(crate) probe_interval: Duration,
    pub(crate) grace: Duration,
}

impl Times {
    pub(crate) fn of(setup: &Setup) -> Self {
        let seconds = Duration::from_secs;
        Self {
            idle: seconds(100),
            keep_alive_idle: seconds(250),
            probe_timeout: seconds(if setup.slow_probe { 90 } else { 20 }),
            probe_interval: seconds(60),
            grace: seconds(12),
        }
    }
}

/// What the reader holds: first the call, then its stream.
pub(crate) type Opening = Pin<Box<dyn Future<Output = Result<Opened, Failure>> + Send>>;

pub(crate) enum Opened {
    Stream { head: Head, report: Report, items: Pin<Box<dyn Reading>> },
    Whole { head: Head, items: Vec<Item>, report: Report },
}

/// A stream that says what became of its attempts.
pub(crate) trait Reading: Send {
    fn poll_out(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Out>;

    fn report_so_far(&self) -> Report;
}

/// Makes the call. What is given back beside it is what it stands on.
pub(crate) fn call(setup: &Setup, world: &World) -> (Opening, Box<dyn std::any::Any>) {
    let times = Times::of(setup);
    let policy = StreamPolicy::builder(setup.mode)
        .idle(times.idle)
        .keep_alive_idle(times.keep_alive_idle)
        .probe_timeout(times.probe_timeout)
        .probe_interval(times.probe_interval)
        .recovery_grace(times.grace)
        .max_replacements(setup.max_replacements)
        .build()
        .expect("the settings of the tests are valid");
    let streams = Streams { counts: setup.counts, seen: 0 };
    let mut layer = StreamReplacementLayer::new(policy, requests(), streams, UntilFirstItem).observer(world.observer());
    if setup.probed {
        layer = layer.health_probe(Prober(world.clone()));
    }
    let inner = Tap::new(below(setup, world), world);
    let request = Call {
        method: setup.method,
        silent: setup.silent,
        copyable: setup.copyable,
        resumable: setup.resumable,
        from: None,
        world: world.clone(),
    };
    match setup.admission {
        Admission::Whole { limit } => start(layer.admission(Whole::up_to(limit)).layer(inner), request, |whole| {
            Opened::Whole { head: whole.head, items: whole.items, report: Report::from(&whole.report) }
        }),
        Admission::UntilFirstItem => start(layer.layer(inner), request, |admitted| Opened::Stream {
            head: admitted.head,
            report: Report::from(&admitted.report),
            items: Box::pin(admitted.items),
        }),
        Admission::Marked => start(layer.admission(Marked).layer(inner), request, |admitted| Opened::Stream {
            head: admitted.head,
            report: Report::from(&admitted.report),
            items: Box::pin(admitted.items),
        }),
        Admission::Resumed => {
            start(layer.admission(Resumed::by(Rest::default())).layer(inner), request, |admitted| Opened::Stream {
                head: admitted.head,
                report: Report::from(&admitted.report),
                items: Box::pin(admitted.items),
            })
        }
    }
}

fn start<A, Response: 'static>(
    mut service: StreamReplacement<Tap, Requests, Streams, A>,
    request: Call,
    opened: fn(Response) -> Opened,
) -> (Opening, Box<dyn std::any::Any>)
where
    A: 'static,
    StreamReplacement<Tap, Requests, Streams, A>:
        Service<Call, Response = Response, Error = Failure, Future: Send + 'static>,
{
    let ready = service.ready().now_or_never().expect("nothing makes it wait").is_ok();
    assert!(ready, "nothing makes it fail");
    let future = Box::pin(service.call(request).map_ok(opened));
    (future, Box::new(service))
}

fn below(setup: &Setup, world: &World) -> BoxCloneSyncService<Call, Answer, BoxError> {
    let backend = Backend::new(world);
    if !setup.retries {
        return BoxCloneSyncService::new(backend);
    }
    let timing = CallTiming::builder().attempts(2).build().expect("the settings of the tests are valid");
    let second = Duration::from_secs(1);
    let ample = ShareBudget::builder().reserve(100).build().expect("the settings of the tests are valid");
    let retry = ReadOnlyRetryLayer::new(SendSideOnly::new(requests()))
        .timing(timing)
        .backoff(LinearBackoff::new(second, second))
        .budget(ample);
    BoxCloneSyncService::new(retry.layer(backend).map_err(BoxError::from))
}

impl<R> Reading for AdmittedStream<Tap, Requests, Streams, R, Call>
where
    R: Resume<Call, Head, Item> + Send,
{
    fn poll_out(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Out> {
        self.poll_next(context).map(|next| match next {
            Some(Ok(item)) => Out::Item(item),
            Some(Err(failure)) => Out::Failed(failure.into()),
            None => Out::End,
        })
    }

    fn report_so_far(&self) -> Report {
        Report::from(&self.report())
    }
}

impl Reading for MarkedStream<Tap, Requests, Streams, Call> {
    fn poll_out(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Out> {
        self.poll_next(context).map(|next| match next {
            Some(Ok(MarkedItem::Item(item))) => Out::Item(item),
            Some(Ok(MarkedItem::Restarted(restarted))) => {
                let report: &StreamReport = &restarted.report;
                Out::Restarted { head: restarted.head, report: report.into() }
            }
            Some(Err(failure)) => Out::Failed(failure.into()),
            None => Out::End,
        })
    }

    fn report_so_far(&self) -> Report {
        Report::from(&self.report())
    }
}
