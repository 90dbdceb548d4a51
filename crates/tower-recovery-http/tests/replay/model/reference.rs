//! What is expected of the copies, with the whole history at hand and nothing ever let go.

use std::collections::BTreeSet;

use tower_recovery_http::ReplayError;

/// What a poll gives: a frame by its bytes (trailers are frames of their own mark), or how it ends.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    Pending,
    Data(Vec<u8>),
    Trailers,
    End,
    Broken,
    Refused(ReplayError),
    Panicked,
}

/// What a poll of a copy comes to.
pub(crate) enum Expected {
    Outcome(Outcome),
    /// The stream is polled, and [`after_read`](Reference::after_read) tells.
    Read,
}

#[derive(Debug, Default)]
pub(crate) struct Reference {
    limit: usize,
    /// All that was given to any owner, but frames without a byte.
    history: Vec<Outcome>,
    position: usize,
    pub(crate) owner: usize,
    living: BTreeSet<usize>,
    /// What was read for a copy that had been taken over.
    arrived: Option<Outcome>,
    lost: bool,
    reading: bool,
    ended: bool,
    /// The stream said so, before it was polled and when it was polled last.
    at_end_from_the_start: bool,
    at_end: bool,
    gone: Option<ReplayError>,
}

fn size(outcome: &Outcome) -> usize {
    match outcome {
        Outcome::Data(bytes) => bytes.len(),
        Outcome::Trailers => 4,
        _ => 0,
    }
}

fn total(outcomes: &[Outcome]) -> usize {
    outcomes.iter().map(size).sum()
}

impl Reference {
    pub(crate) fn new(limit: usize, at_end: bool) -> Self {
        Self { limit, at_end_from_the_start: at_end, at_end, ..Self::default() }
    }

    fn others_wait(&self) -> bool {
        self.living.iter().any(|&copy| copy > self.owner)
    }

    fn refusal(&self) -> Option<ReplayError> {
        let lost = self.lost.then_some(ReplayError::NotReplayable { limit: self.limit });
        self.gone.or(lost)
    }

    pub(crate) fn can_be_copied(&self, copy: usize) -> bool {
        copy >= self.owner && self.refusal().is_none()
    }

    pub(crate) fn is_repeatable(&self, copy: usize) -> bool {
        self.can_be_copied(copy) && (copy > self.owner || self.position == 0)
    }

    pub(crate) fn poll(&mut self, copy: usize) -> Expected {
        if copy < self.owner {
            return Expected::Outcome(Outcome::Refused(ReplayError::TakenOver));
        }
        if copy > self.owner {
            if let Some(refusal) = self.refusal() {
                return Expected::Outcome(Outcome::Refused(refusal));
            }
            (self.owner, self.position) = (copy, 0);
        }
        if self.gone.is_none() && self.position < self.history.len() {
            self.position += 1;
            self.lost |= !self.others_wait();
            return Expected::Outcome(self.history[self.position - 1].clone());
        }
        if let Some(arrived) = self.arrived.take() {
            return Expected::Outcome(self.give(arrived));
        }
        match self.gone {
            Some(refusal) => Expected::Outcome(Outcome::Refused(refusal)),
            None if self.ended => Expected::Outcome(Outcome::End),
            None if self.reading => Expected::Outcome(Outcome::Pending),
            None => {
                self.reading = true;
                Expected::Read
            }
        }
    }

    pub(crate) fn after_read(&mut self, copy: usize, read: Outcome, at_end: bool) -> Outcome {
        (self.reading, self.at_end) = (false, at_end);
        let deserted = self.gone.is_some();
        match read {
            _ if deserted => {}
            Outcome::End => self.ended = true,
            Outcome::Broken => self.gone = Some(ReplayError::SourceFailed),
            Outcome::Panicked => self.gone = Some(ReplayError::SourcePanicked),
            _ => {}
        }
        match read {
            Outcome::Panicked => Outcome::Panicked,
            _ if copy == self.owner => self.give(read),
            Outcome::Pending | Outcome::End => Outcome::Refused(ReplayError::TakenOver),
            read => {
                self.arrived = (!deserted).then_some(read);
                Outcome::Refused(ReplayError::TakenOver)
            }
        }
    }

    fn give(&mut self, outcome: Outcome) -> Outcome {
        if size(&outcome) > 0 {
            self.lost |= !self.others_wait() || total(&self.history) + size(&outcome) > self.limit;
            self.history.push(outcome.clone());
            self.position += 1;
        }
        outcome
    }

    pub(crate) fn copied(&mut self, copy: usize) {
        self.living.insert(copy);
    }

    pub(crate) fn dropped(&mut self, copy: usize) {
        self.living.remove(&copy);
        if !self.living.iter().any(|&copy| copy >= self.owner) {
            self.gone = Some(ReplayError::TakenOver);
            self.arrived = None;
        } else if !self.others_wait() {
            self.lost |= self.position > 0;
        }
    }

    /// How many bytes of data may be held now: what was read and not given, and what a copy may still need.
    pub(crate) fn held(&self) -> usize {
        let data =
            |outcomes: &[Outcome]| outcomes.iter().filter(|kept| matches!(kept, Outcome::Data(_))).map(size).sum();
        let arrived: usize = self.arrived.as_ref().map_or(0, |arrived| data(std::slice::from_ref(arrived)));
        let kept: usize = match (self.gone, self.lost, self.living.contains(&self.owner)) {
            (Some(_), ..) => 0,
            (None, true, true) => data(&self.history[self.position..]),
            (None, true, false) => 0,
            (None, false, _) => data(&self.history),
        };
        arrived + kept
    }

    /// How many bytes of data the owner was given.
    pub(crate) fn given(&self) -> usize {
        let given = self.history[..self.position].iter();
        given.filter(|outcome| matches!(outcome, Outcome::Data(_))).map(size).sum()
    }

    pub(crate) fn is_reading(&self) -> bool {
        self.reading
    }

    pub(crate) fn needs_no_stream(&self) -> bool {
        self.ended || self.gone.is_some()
    }

    pub(crate) fn is_at_end(&self, copy: usize) -> bool {
        if copy == self.owner { self.has_ended() } else { self.at_end_from_the_start && self.is_repeatable(copy) }
    }

    pub(crate) fn has_ended(&self) -> bool {
        let given_all = self.position == self.history.len() && self.arrived.is_none();
        (self.ended || self.at_end) && self.gone.is_none() && given_all
    }
}
