//! The error of a stream that holds somebody else's failure: a body may be read from another client, through another stack.

use std::{
    collections::VecDeque,
    future::ready,
    sync::{Arc, Mutex},
};

use futures_util::{StreamExt, future::BoxFuture, stream};
use tower::{BoxError, ServiceBuilder, ServiceExt, service_fn};
use tower_recovery::{
    Delivery, Failure, NamedRules, ReadMethods, RecoveryEvent, StreamMode, StreamPolicy, StreamReplacementLayer,
    Verdict,
    stream_replacement::{ItemRules, Sight, UntilFirstItem, Whole},
};

type Item = Result<&'static str, BoxError>;
/// `Sync` and cloned by nobody.
struct Answer(stream::BoxStream<'static, Item>);

impl futures_util::Stream for Answer {
    type Item = Item;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Item>> {
        self.0.poll_next_unpin(context)
    }
}

fn answer(items: Vec<Item>) -> Answer {
    Answer(stream::iter(items).boxed())
}

type Outcome = Result<Answer, BoxError>;

/// Answers like this, one call after the other, and keeps what it was asked.
#[derive(Clone, Default)]
struct Script {
    outcomes: Arc<Mutex<VecDeque<Outcome>>>,
    asked: Arc<Mutex<Vec<&'static str>>>,
}

impl Script {
    fn of(outcomes: Vec<Outcome>) -> Self {
        Self { outcomes: Arc::new(Mutex::new(outcomes.into())), ..Self::default() }
    }

    fn call(&self, request: &'static str) -> BoxFuture<'static, Outcome> {
        self.asked.lock().unwrap().push(request);
        let outcome = self.outcomes.lock().unwrap().pop_front().expect("one more call than was scripted");
        Box::pin(ready(outcome))
    }

    fn asked(&self) -> Vec<&'static str> {
        self.asked.lock().unwrap().clone()
    }
}

fn policy(mode: StreamMode) -> StreamPolicy {
    StreamPolicy::builder(mode).build().unwrap()
}

fn requests() -> NamedRules<&'static str> {
    NamedRules::new(|_: &&'static str| "write", ReadMethods::new()).copied_by(|request| Some(*request))
}

fn streams() -> ItemRules<&'static str> {
    ItemRules::new(|item: &&'static str| match *item {
        "ping" => Sight::KeepAlive,
        "part" => Sight::Progress,
        "." => Sight::Terminal,
        _ => Sight::Content,
    })
    .incomplete_without_terminal()
    .broken_by(|error| if error.is::<std::io::Error>() { Verdict::maybe_sent() } else { Verdict::unrecognised() })
}

macro_rules! stack {
    ($script:expr, $mode:expr, $admission:expr $(, $with:ident($arg:expr))*) => {{
        let script: Script = $script.clone();
        ServiceBuilder::new()
            .layer(StreamReplacementLayer::new(policy($mode), requests(), streams(), $admission)$(.$with($arg))*)
            .service(service_fn(move |request: &'static str| script.call(request)))
    }};
}

/// Law 1: or whoever stands above might send the write again.
#[tokio::test(start_paused = true)]
async fn what_breaks_a_stream_after_its_head_never_proves_that_it_was_not_sent() {
    let foreign = Failure::new(Verdict::never_sent(), "of a call that the body made");
    let script = Script::of(vec![Ok(answer(vec![Ok("one"), Err(foreign.into())]))]);
    let failure =
        stack!(script, StreamMode::Preserve, Whole::up_to(1 << 20)).oneshot("create").await.map(|_| ()).unwrap_err();
    assert_eq!(failure.delivery(), Some(Delivery::MaybeSent));
}

#[tokio::test(start_paused = true)]
async fn a_replacement_of_a_stream_that_had_begun_may_always_be_duplicate_work() {
    let foreign = Failure::new(Verdict::never_sent(), "of a call that the body made");
    let outcomes = vec![Ok(answer(vec![Ok("one"), Err(foreign.into())])), Ok(answer(vec![Ok("one"), Ok(".")]))];
    let told = Arc::new(Mutex::new(None));
    let telling = Arc::clone(&told);
    let observer = move |event: &RecoveryEvent| {
        if let RecoveryEvent::RecoveryReplacementProposed { duplicate_server_work_possible, .. } = event {
            *telling.lock().unwrap() = Some(*duplicate_server_work_possible);
        }
    };
    let script = Script::of(outcomes);
    let stack = stack!(script, StreamMode::RetryOnHealthyProbe, Whole::up_to(1 << 20), observer(observer));
    stack.oneshot("create").await.expect("it is replaced");
    assert_eq!(*told.lock().unwrap(), Some(true));
}

#[tokio::test(start_paused = true)]
async fn a_replacement_sends_the_request_of_its_own_call() {
    let foreign = Failure::new(Verdict::never_sent(), "of a call that the body made").with_unsent("delete everything");
    let outcomes = vec![Ok(answer(vec![Ok("one"), Err(foreign.into())])), Ok(answer(vec![Ok("one"), Ok(".")]))];
    let script = Script::of(outcomes);
    let stack = stack!(script, StreamMode::RetryOnHealthyProbe, Whole::up_to(1 << 20));
    stack.oneshot("create").await.expect("it is replaced");
    assert_eq!(script.asked(), ["create", "create"]);
}

/// Law 7.
#[tokio::test(start_paused = true)]
async fn no_response_within_an_error_is_spliced_into_a_stream_that_had_begun() {
    let foreign = Failure::from_response(Verdict::refused(), answer(vec![Ok("of another")]));
    let script = Script::of(vec![Ok(answer(vec![Ok("one"), Err(foreign.into())]))]);
    let stack = stack!(script, StreamMode::RetryOnHealthyProbe, UntilFirstItem);
    let answer = stack.oneshot("create").await.unwrap();
    let items: Vec<_> = answer.items.map(|item| item.map_err(|_| "broken")).collect().await;
    assert_eq!(items, [Ok("one"), Err("broken")]);
}

/// A foreign error that wraps the failure of a call of its own says nothing of this one: the rules do.
#[tokio::test(start_paused = true)]
async fn nothing_of_a_failure_in_the_depth_of_an_error_is_this_calls() {
    let foreign = Failure::new(Verdict::never_sent().permanent(), "of a call that the body made");
    let wrapped = std::io::Error::other(foreign);
    let outcomes = vec![Ok(answer(vec![Ok("one"), Err(wrapped.into())])), Ok(answer(vec![Ok("one"), Ok(".")]))];
    let script = Script::of(outcomes);
    let stack = stack!(script, StreamMode::RetryOnHealthyProbe, Whole::up_to(1 << 20));
    let whole = stack.oneshot("create").await.expect("the rules call it a lost connection, and it is replaced");
    assert_eq!((whole.report.attempts, script.asked()), (2, vec!["create", "create"]));
}
