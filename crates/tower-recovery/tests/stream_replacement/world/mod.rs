//! A protocol of streams: what its peer answers, what its rules see in it, and the layer over it.

#![allow(dead_code, unused_imports, reason = "one world for all modules")]

mod driven;
mod seen;

use std::error::Error;

use tower::Layer as _;
use tower_recovery::{
    Classify, NamedRules, StreamMode, StreamPolicy, StreamPolicyBuilder, StreamReplacementLayer, StreamRules, Verdict,
    classify::ClassifyService,
    stream_replacement::{Health, ProbeRequest, Sight, StreamReplacement, Whole},
};
use tower_recovery_test::{ScriptedService, ScriptedStream, Step, StreamHandle};

pub(crate) use self::{
    driven::{Driven, seconds},
    seen::{Seen, pause, whole_millis},
};
use super::support::{Call, Fault, Protocol, Reply, rules};

pub(crate) type Line = &'static str;

/// What the peer answers: a head, and lines.
pub(crate) struct Answer {
    pub(crate) head: Head,
    lines: ScriptedStream<Line>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) status: u16,
    /// How many lines of content are promised. Without a promise the end of the stream has a line of its own.
    pub(crate) length: Option<usize>,
}

impl Head {
    pub(crate) const OK: Self = Self::of(200);
    /// The rest of something.
    pub(crate) const REST: Self = Self::of(206);

    pub(crate) const fn of(status: u16) -> Self {
        Self { status, length: None }
    }
}

/// The rules. They keep count of one attempt.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lines {
    promised: Option<usize>,
    seen: usize,
}

impl StreamRules<Answer> for Lines {
    type Head = Head;
    type Item = Line;
    type Items = ScriptedStream<Line>;

    fn is_verdict(&self, answer: &Answer) -> bool {
        answer.head.status >= 400
    }

    fn open(&mut self, answer: Answer) -> (Head, ScriptedStream<Line>) {
        self.promised = answer.head.length;
        (answer.head, answer.lines)
    }

    fn look(&mut self, line: &Line) -> Sight {
        match *line {
            "" => Sight::KeepAlive,
            ".." => Sight::Progress,
            "." => Sight::Terminal,
            "panic" => panic!("the rules panic"),
            line if line.starts_with('!') => Sight::Verdict,
            line => {
                self.seen += 1;
                if line.starts_with('~') { Sight::Preamble } else { Sight::Content }
            }
        }
    }

    fn is_complete(&self) -> bool {
        self.promised == Some(self.seen)
    }

    fn broken_by(&self, error: &(dyn Error + 'static)) -> Verdict {
        Classify::<Answer>::error(&Protocol, error)
    }

    fn bytes(&self, line: &Line) -> u64 {
        line.len() as u64
    }
}

/// A misdirected request is refused by its status.
impl Classify<Answer> for Protocol {
    fn response(&self, answer: &Answer) -> Option<Verdict> {
        (answer.head.status == 421).then(Verdict::refused)
    }

    fn error(&self, error: &(dyn Error + 'static)) -> Verdict {
        Classify::<Reply>::error(self, error)
    }
}

pub(crate) type Peer = ScriptedService<Call, Answer>;
pub(crate) type Layered<Admission> = StreamReplacementLayer<NamedRules<Call>, Lines, Admission>;
pub(crate) type Stack<Inner, Admission> =
    StreamReplacement<ClassifyService<Inner, Protocol>, NamedRules<Call>, Lines, Admission>;

pub(crate) fn peer(steps: impl IntoIterator<Item = Step<Answer>>) -> Peer {
    ScriptedService::new(steps)
}

/// A peer whose streams are fed by the test.
pub(crate) fn fed<const STREAMS: usize>() -> ([StreamHandle<Line>; STREAMS], Peer) {
    let peer = peer([]);
    let handles = std::array::from_fn(|_| {
        let (handle, lines) = ScriptedStream::pair();
        peer.push(Step::answer_once(Answer { head: Head::OK, lines }));
        handle
    });
    (handles, peer)
}

/// An answer with this head whose lines are fed by the test.
pub(crate) fn fed_under(head: Head) -> (StreamHandle<Line>, Step<Answer>) {
    let (handle, lines) = ScriptedStream::pair();
    (handle, Step::answer_once(Answer { head, lines }))
}

/// Answers with these lines, and ends after them.
pub(crate) fn gives(lines: &'static [Line]) -> Step<Answer> {
    gives_under(Head::OK, lines)
}

pub(crate) fn gives_under(head: Head, lines: &'static [Line]) -> Step<Answer> {
    answers(head, lines, |handle| handle.end())
}

/// Answers with these lines, and breaks after them.
pub(crate) fn breaks(lines: &'static [Line], fault: Fault) -> Step<Answer> {
    breaks_under(Head::OK, lines, fault)
}

pub(crate) fn breaks_under(head: Head, lines: &'static [Line], fault: Fault) -> Step<Answer> {
    answers(head, lines, move |handle| handle.fail(fault))
}

/// Answers with these lines, and says nothing after them.
pub(crate) fn stalls(lines: &'static [Line]) -> Step<Answer> {
    answers(Head::OK, lines, |_| {})
}

fn answers(head: Head, sent: &'static [Line], then: impl Fn(&StreamHandle<Line>) + Send + 'static) -> Step<Answer> {
    Step::answer_with(move || {
        let (handle, lines) = ScriptedStream::pair();
        sent.iter().copied().for_each(|line| handle.send(line));
        then(&handle);
        Answer { head, lines }
    })
}

pub(crate) fn fault(fault: Fault) -> Step<Answer> {
    Step::fail(fault)
}

pub(crate) type Prober = ScriptedService<ProbeRequest, Health>;

pub(crate) fn prober(steps: impl IntoIterator<Item = Step<Health>>) -> Prober {
    ScriptedService::new(steps)
}

/// Always.
pub(crate) fn healthy() -> Prober {
    prober([Step::answer(Health::Healthy)])
}

pub(crate) fn replacing() -> StreamPolicyBuilder {
    StreamPolicy::builder(StreamMode::RetryOnHealthyProbe)
}

/// Without a bound that matters.
pub(crate) fn whole() -> Whole {
    Whole::up_to(1 << 20)
}

/// The layer with the default times, and one replacement.
pub(crate) fn watching<Admission>(admission: Admission) -> Layered<Admission> {
    under(replacing(), admission)
}

pub(crate) fn under<Admission>(policy: StreamPolicyBuilder, admission: Admission) -> Layered<Admission> {
    StreamReplacementLayer::new(policy.build().unwrap(), rules(), Lines::default(), admission)
}

/// The layer over a classifier and nothing else.
pub(crate) fn over<Admission: Clone, Inner: Clone>(layer: Layered<Admission>, inner: Inner) -> Stack<Inner, Admission> {
    layer.layer(ClassifyService::new(inner, Protocol))
}
