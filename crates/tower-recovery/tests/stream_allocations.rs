//! Law 12 for streams: where nothing breaks nothing is allocated, for no call and for no item, whether the stream is waited for in between or not.

use std::{
    convert::Infallible,
    future::{Future, Ready, ready},
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
};

use allocation_counter::{AllocationInfo, measure};
use futures_util::Stream;
use tower::{Layer, Service, service_fn, util::ServiceFn};
use tower_recovery::{
    Failure, NamedRules, ReadMethods, StreamMode, StreamPolicy, StreamReplacementLayer,
    stream_replacement::{Admitted, ItemRules, Marked, Sight, StreamReplacement, UntilFirstItem},
};

const MANY: u64 = 1_000_000;
const FEW: u64 = 10_000;

/// So many numbers, every other poll pending if it hesitates.
struct Numbers {
    next: u64,
    last: u64,
    hesitates: bool,
    hesitated: bool,
}

impl Stream for Numbers {
    type Item = Result<u64, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let hesitated = std::mem::replace(&mut self.hesitated, true);
        if self.hesitates && !hesitated {
            return Poll::Pending;
        }
        self.hesitated = false;
        self.next += 1;
        Poll::Ready((self.next <= self.last).then(|| Ok(self.next)))
    }
}

fn policy(mode: StreamMode) -> StreamPolicy {
    StreamPolicy::builder(mode).build().expect("the defaults are within their bounds")
}

fn layer<Admission>(
    mode: StreamMode,
    admission: Admission,
) -> StreamReplacementLayer<NamedRules<Numbered>, ItemRules<u64>, Admission> {
    let requests = NamedRules::new(|_: &Numbered| "count", ReadMethods::new()).copied_by(|request| Some(*request));
    // Every fourth is a keep-alive, and every fourth a part of something.
    let streams = ItemRules::new(|number: &u64| match number % 4 {
        1 => Sight::KeepAlive,
        2 => Sight::Progress,
        _ => Sight::Content,
    });
    StreamReplacementLayer::new(policy(mode), requests, streams, admission)
}

/// By hand: an executor would bring allocations of its own.
fn now<Output>(future: impl Future<Output = Output>) -> Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return output;
        }
    }
}

fn next<Items: Stream>(items: Pin<&mut Items>) -> Option<Items::Item> {
    let mut items = items;
    now(std::future::poll_fn(|context| items.as_mut().poll_next(context)))
}

/// The allocations of a call and of its stream, read to its end, and how many items came.
fn read<Admission, Head, Items>(mode: StreamMode, request: Numbered, admission: Admission) -> (AllocationInfo, u64)
where
    Admission: Clone,
    Items: Stream,
    StreamReplacement<Count, NamedRules<Numbered>, ItemRules<u64>, Admission>:
        Service<Numbered, Response = Admitted<Head, Items>, Error = Failure>,
{
    let mut stack = layer(mode, admission).layer(service_fn(count as fn(Numbered) -> _));
    let mut received = 0;
    let allocations = measure(|| {
        let answer = now(stack.call(request)).expect("nothing fails");
        let mut items = pin!(answer.items);
        while next(items.as_mut()).is_some() {
            received += 1;
        }
    });
    (allocations, received)
}

/// How many numbers are asked for, and whether they hesitate.
type Numbered = (u64, bool);

type Count = ServiceFn<fn(Numbered) -> Ready<Result<Numbers, Infallible>>>;

fn count((last, hesitates): Numbered) -> Ready<Result<Numbers, Infallible>> {
    ready(Ok(Numbers { next: 0, last, hesitates, hesitated: false }))
}

#[tokio::test(start_paused = true)]
async fn a_million_items_allocate_nothing() {
    for hesitates in [false, true] {
        let (allocations, received) = read(StreamMode::RetryOnHealthyProbe, (MANY, hesitates), UntilFirstItem);
        assert_eq!(received, MANY / 2, "half of them are signs of life");
        assert_eq!(allocations.count_total, 0, "{allocations:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn no_admission_and_no_mode_allocates() {
    for hesitates in [false, true] {
        let request = (FEW, hesitates);
        for (allocations, received) in [
            read(StreamMode::Preserve, request, UntilFirstItem),
            read(StreamMode::RetryOnHealthyProbe, request, Marked),
        ] {
            assert_eq!((allocations.count_total, received), (0, FEW / 2));
        }
        let (allocations, received) = read(StreamMode::Disabled, request, UntilFirstItem);
        assert_eq!((allocations.count_total, received), (0, FEW), "signs of life are items like any other");
    }
}

#[test]
fn what_allocates_is_seen() {
    assert_eq!(measure(|| drop(std::hint::black_box(vec![1_u8]))).count_total, 1);
}
