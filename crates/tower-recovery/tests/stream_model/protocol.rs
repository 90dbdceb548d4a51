//! The protocol of the scripts: requests, items, and the rules that the layer is given for them.

use tower::BoxError;
use tower_recovery::{
    NamedRules, ReadMethods, StreamRules, Verdict,
    stream_replacement::{Resume, ResumeRefused, Sight},
};

use crate::{
    faults::Fault,
    record::Event,
    world::{Items, World},
};

/// A request. It cannot be cloned: only the rules copy it, where it can be copied at all.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) silent: Option<bool>,
    pub(crate) copyable: bool,
    /// Whether its rest can be asked for.
    pub(crate) resumable: bool,
    /// From which part of the result on it asks.
    pub(crate) from: Option<u32>,
    /// Who hears of copies, and knows by it that a request is still held.
    pub(crate) world: World,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Write,
    Read,
    SilentRead,
}

impl Method {
    fn name(self) -> &'static str {
        match self {
            Self::Write => "complete",
            Self::Read => "list",
            Self::SilentRead => "read",
        }
    }
}

pub(crate) type Requests = NamedRules<Call>;

pub(crate) fn requests() -> Requests {
    NamedRules::new(|call: &Call| call.method.name(), ReadMethods::new().read("list").silent("read"))
        .copied_by(|call| {
            call.world.write(Event::Copied);
            call.copyable.then(|| Call { world: call.world.clone(), ..*call })
        })
        .silenced_by(|call| {
            call.silent.get_or_insert(true);
        })
}

/// A response. Each belongs to one sending of the request.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) head: Head,
    pub(crate) items: Items,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) send: u32,
    /// It says no.
    pub(crate) verdict: bool,
    /// From which part of the result on it answers, where it answers that question.
    pub(crate) from: Option<u32>,
}

/// A part of a stream, of one sending alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) send: u32,
    /// Which item of its stream.
    pub(crate) number: u32,
    /// Which part of the result, from 0, where it is one.
    pub(crate) place: u32,
    pub(crate) part: Part,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    KeepAlive,
    Progress,
    Preamble { long: bool },
    Content,
    Terminal,
    Verdict,
}

/// So much of a preamble is held back.
pub(crate) const PREAMBLE_LIMIT: usize = 64 << 10;

impl Item {
    pub(crate) fn bytes(&self) -> u64 {
        match self.part {
            // Two of them are just what may be held back.
            Part::Preamble { long: true } => (PREAMBLE_LIMIT / 2 - size_of::<Self>()) as u64,
            _ => 10 + u64::from(self.number % 3),
        }
    }

    /// What holding it back counts.
    pub(crate) fn held_bytes(&self) -> usize {
        usize::try_from(self.bytes()).expect("it is small") + size_of::<Self>()
    }

    /// Whether it is a part of the result.
    pub(crate) fn is_of_the_result(&self) -> bool {
        matches!(self.part, Part::Preamble { .. } | Part::Content | Part::Terminal)
    }
}

/// So many parts of the result make a stream complete that ends without a terminal item, where the protocol counts.
pub(crate) const COMPLETE: u32 = 2;

/// Where the protocol counts, the rules keep count of one attempt: nothing of an earlier one may be left in them.
#[derive(Clone, Debug)]
pub(crate) struct Streams {
    pub(crate) counts: bool,
    pub(crate) seen: u32,
}

impl StreamRules<Answer> for Streams {
    type Head = Head;
    type Item = Item;
    type Items = Items;

    fn is_verdict(&self, answer: &Answer) -> bool {
        answer.head.verdict
    }

    fn open(&mut self, answer: Answer) -> (Head, Items) {
        (answer.head, answer.items)
    }

    fn look(&mut self, item: &Item) -> Sight {
        self.seen += u32::from(item.is_of_the_result());
        match item.part {
            Part::KeepAlive => Sight::KeepAlive,
            Part::Progress => Sight::Progress,
            Part::Preamble { .. } => Sight::Preamble,
            Part::Content => Sight::Content,
            Part::Terminal => Sight::Terminal,
            Part::Verdict => Sight::Verdict,
        }
    }

    fn is_complete(&self) -> bool {
        self.counts && self.seen >= COMPLETE
    }

    fn broken_by(&self, error: &(dyn std::error::Error + 'static)) -> Verdict {
        error.downcast_ref().map_or(Verdict::unrecognised(), Fault::verdict)
    }

    fn bytes(&self, item: &Item) -> u64 {
        item.bytes()
    }
}

/// Asks for the rest by the number of the next part, and believes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rest {
    next: u32,
}

impl Resume<Call, Head, Item> for Rest {
    fn begin(&mut self, _: &Head) {
        self.next = 0;
    }

    fn ask(&self, call: &mut Call) -> Result<(), ResumeRefused> {
        if !call.resumable {
            return Err(ResumeRefused::new("it has no parts"));
        }
        call.from = Some(self.next);
        Ok(())
    }

    fn accept(&mut self, head: &Head) -> Result<(), ResumeRefused> {
        if head.from == Some(self.next) { Ok(()) } else { Err(ResumeRefused::new("it begins elsewhere")) }
    }

    fn hand_out(&mut self, item: &Item) -> Result<(), ResumeRefused> {
        if item.place != self.next {
            return Err(ResumeRefused::new("a part is missing"));
        }
        self.next += 1;
        Ok(())
    }
}

/// What a stream gives.
pub(crate) type Given = Result<Item, BoxError>;
