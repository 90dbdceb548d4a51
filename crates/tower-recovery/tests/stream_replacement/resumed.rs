//! `Resumed`: handed out as it comes, and replaced by its rest, which is checked and never trusted.

use futures_util::{StreamExt, TryStreamExt, stream::BoxStream};
use tower::ServiceExt;
use tower_recovery::{
    Failure, GiveUp, Verdict,
    stream_replacement::{Resume, ResumeRefused, Resumed, StreamBroken, StreamEnd},
};

use super::{
    support::{Call, Fault},
    world::{
        Driven, Head, Layered, Line, Peer, breaks, breaks_under, fault, fed, gives, gives_under, healthy, over, peer,
        replacing, stalls, under,
    },
};

/// Asks for what comes after so many lines by the key of the call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ByCount {
    handed_out: u32,
    /// Heads that were told of before anything was handed out.
    begun: u32,
}

impl Resume<Call, Head, Line> for ByCount {
    fn begin(&mut self, head: &Head) {
        assert_ne!(head.status, 206, "nobody asked for a rest");
        self.begun += 1;
    }

    fn ask(&self, call: &mut Call) -> Result<(), ResumeRefused> {
        assert!(self.begun > 0 && self.handed_out > 0, "it has begun");
        if self.handed_out > 3 {
            return Err(ResumeRefused::new("too much was handed out"));
        }
        call.key = self.handed_out;
        Ok(())
    }

    fn accept(&mut self, head: &Head) -> Result<(), ResumeRefused> {
        if *head == Head::REST { Ok(()) } else { Err(ResumeRefused::new(format!("the status is {}", head.status))) }
    }

    fn hand_out(&mut self, line: &Line) -> Result<(), ResumeRefused> {
        if *line == "gap" {
            return Err(ResumeRefused::new("something is missing"));
        }
        self.handed_out += 1;
        Ok(())
    }
}

fn resuming() -> Layered<Resumed<ByCount>> {
    under(replacing().max_replacements(2), Resumed::by(ByCount::default())).health_probe(healthy())
}

async fn read(peer: &Peer) -> (Vec<Line>, Result<(), Failure>) {
    let mut items = over(resuming(), peer.clone()).oneshot(Call::write()).await.unwrap().items.boxed();
    let mut read = Vec::new();
    let outcome = read_on(&mut items, &mut read).await;
    for _ in 0..2 {
        assert!(items.next().await.is_none(), "it is fused");
    }
    (read, outcome)
}

async fn read_on(items: &mut BoxStream<'_, Result<Line, Failure>>, read: &mut Vec<Line>) -> Result<(), Failure> {
    while let Some(item) = items.try_next().await? {
        read.push(item);
    }
    Ok(())
}

fn keys(peer: &Peer) -> Vec<u32> {
    peer.requests().iter().map(|call| call.key).collect()
}

#[tokio::test(start_paused = true)]
async fn the_reader_sees_one_stream_whose_rest_was_asked_for() {
    for broken in [breaks(&["a", "", "b"], Fault::Lost), gives(&["a", "b"]), stalls(&["a", "b"])] {
        let peer = peer([broken, breaks_under(Head::REST, &["c"], Fault::Lost), gives_under(Head::REST, &["d", "."])]);
        let (read, outcome) = read(&peer).await;
        outcome.unwrap();
        assert_eq!(read, ["a", "b", "c", "d", "."]);
        assert_eq!(keys(&peer), [0, 2, 3]);
    }
}

#[tokio::test(start_paused = true)]
async fn the_call_ends_with_the_first_item_and_the_head_is_the_first() {
    let ([lines], peer) = fed();
    let mut call = Driven::new(over(resuming(), peer).oneshot(Call::write()));
    call.waits();
    lines.send("");
    call.waits();
    lines.send("a");
    assert_eq!(call.output().unwrap().head, Head::OK);
}

#[tokio::test(start_paused = true)]
async fn what_breaks_before_anything_was_handed_out_is_asked_for_as_a_whole() {
    let peer = peer([breaks(&[""], Fault::Lost), fault(Fault::Lost), gives(&["a", "."])]);
    let answer = over(resuming(), peer.clone()).oneshot(Call::write()).await.unwrap();
    assert_eq!((answer.head, answer.report.attempts), (Head::OK, 3));
    assert_eq!(answer.items.try_collect::<Vec<_>>().await.unwrap(), ["a", "."]);
    assert_eq!(keys(&peer), [0, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_replacement_without_a_head_loses_nothing_of_the_count() {
    let peer = peer([breaks(&["a"], Fault::Lost), fault(Fault::Lost), gives_under(Head::REST, &["b", "."])]);
    let (read, outcome) = read(&peer).await;
    outcome.unwrap();
    assert_eq!((read, keys(&peer)), (vec!["a", "b", "."], vec![0, 1, 1]));
}

#[tokio::test(start_paused = true)]
async fn each_call_counts_for_itself() {
    let peer = peer([gives(&["a", "b", "."]), breaks(&["a"], Fault::Lost), gives_under(Head::REST, &["."])]);
    let stack = over(resuming(), peer.clone());
    for _ in 0..2 {
        stack.clone().oneshot(Call::write()).await.unwrap().items.try_collect::<Vec<_>>().await.unwrap();
    }
    assert_eq!(keys(&peer), [0, 0, 1]);
}

#[track_caller]
fn refused(failure: &Failure, end: StreamEnd, reason: &str) -> u32 {
    let broken: &StreamBroken = failure.find().unwrap_or_else(|| panic!("{failure:?}"));
    assert_eq!(broken.reason, end);
    assert_eq!(broken.resume_refused().unwrap().reason, reason);
    broken.report.attempts
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_not_the_rest_is_never_handed_out() {
    for status in [200, 404, 503] {
        let peer = peer([breaks(&["a"], Fault::Lost), gives_under(Head::of(status), &["a", "b", "."]), gives(&["."])]);
        let (read, outcome) = read(&peer).await;
        let failure = outcome.unwrap_err();
        assert_eq!((read, peer.calls()), (vec!["a"], 2), "not even a verdict: what was handed out was not answered so");
        assert_eq!(refused(&failure, StreamEnd::NotResumed, &format!("the status is {status}")), 2);
        assert_eq!(failure.verdict(), Verdict::maybe_sent().permanent(), "an outer retry meets the same");
        assert!(!failure.is_exhausted());
    }
}

#[tokio::test(start_paused = true)]
async fn an_item_that_does_not_continue_what_was_handed_out_ends_the_stream() {
    let peer = peer([breaks(&["a"], Fault::Lost), gives_under(Head::REST, &["b", "gap", "."]), gives(&["."])]);
    let (read, outcome) = read(&peer).await;
    assert_eq!((read, peer.calls()), (vec!["a", "b"], 2));
    assert_eq!(refused(&outcome.unwrap_err(), StreamEnd::NotResumed, "something is missing"), 2);
}

#[tokio::test(start_paused = true)]
async fn an_item_of_the_first_attempt_is_checked_as_well() {
    let peer = peer([gives(&["a", "gap", "."]), gives(&["."])]);
    let (read, outcome) = read(&peer).await;
    assert_eq!((read, peer.calls()), (vec!["a"], 1));
    assert_eq!(refused(&outcome.unwrap_err(), StreamEnd::NotResumed, "something is missing"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_rest_that_cannot_be_asked_for_ends_the_stream_with_what_broke_it() {
    for (first, rest, attempts) in [
        (breaks(&["a", "b", "c", "d"], Fault::Lost), None, 1),
        (breaks(&["a"], Fault::Lost), Some(breaks_under(Head::REST, &["b", "c", "d"], Fault::Lost)), 2),
    ] {
        let peer = peer([first].into_iter().chain(rest).chain([gives(&["."])]));
        let (read, outcome) = read(&peer).await;
        let failure = outcome.unwrap_err();
        assert_eq!((read.len(), peer.calls()), (4, attempts));
        assert_eq!(refused(&failure, StreamEnd::Dropped, "too much was handed out") as usize, attempts);
        let broken: &StreamBroken = failure.find().unwrap();
        let source = std::error::Error::source(broken).unwrap();
        assert_eq!(source.downcast_ref::<Failure>().unwrap().find(), Some(&Fault::Lost), "it is what broke the stream");
        assert_eq!((failure.gave_up(), failure.is_exhausted()), (Some(GiveUp::NoRequest), false));
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_was_refused_where_the_budget_alone_ends_it() {
    let peer = peer([breaks(&["a"], Fault::Lost), fault(Fault::Lost)]);
    let failure = read(&peer).await.1.unwrap_err();
    assert!(failure.is_exhausted());
    assert_eq!(failure.find::<StreamBroken>().unwrap().resume_refused(), None);
}

#[tokio::test(start_paused = true)]
async fn a_rest_that_cannot_be_asked_for_is_the_reason_where_no_error_is() {
    for (broken, end) in
        [(gives(&["a", "b", "c", "d"]), StreamEnd::Incomplete), (stalls(&["a", "b", "c", "d"]), StreamEnd::Silent)]
    {
        let peer = peer([broken, gives(&["."])]);
        let failure = read(&peer).await.1.unwrap_err();
        assert_eq!(refused(&failure, end, "too much was handed out"), 1);
        assert_eq!((failure.gave_up(), peer.calls()), (Some(GiveUp::NoRequest), 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_verdict_in_the_rest_is_handed_out_unchecked() {
    let peer = peer([breaks(&["a"], Fault::Lost), gives_under(Head::REST, &["!gone"])]);
    let (read, outcome) = read(&peer).await;
    outcome.unwrap();
    assert_eq!(read, ["a", "!gone"]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_a_verdict_from_the_start_goes_out_as_it_is() {
    let peer = peer([gives_under(Head::of(503), &["gap", "", "x"])]);
    let answer = over(resuming(), peer).oneshot(Call::write()).await.unwrap();
    assert_eq!(answer.head, Head::of(503));
    assert_eq!(answer.items.try_collect::<Vec<_>>().await.unwrap(), ["gap", "", "x"]);
}

/// What is asked for is the same call, so it is silent after an attempt that may have run.
#[tokio::test(start_paused = true)]
async fn the_rest_of_a_read_that_counts_is_asked_for_silently() {
    let peer = peer([breaks(&["a"], Fault::Lost), gives_under(Head::REST, &["."])]);
    let items = over(resuming(), peer.clone()).oneshot(Call::counted_read()).await.unwrap().items;
    items.try_collect::<Vec<_>>().await.unwrap();
    assert_eq!(peer.requests()[1], Call::counted_read().with_key(1).with_silent(true));
}
