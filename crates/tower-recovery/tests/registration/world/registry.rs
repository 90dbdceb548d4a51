//! A registry as a process meets it: whom it serves under which id, who is connected, and what it was asked and when.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard},
};

use tokio::{
    sync::watch,
    time::{Instant, timeout},
};
use tower::BoxError;
use tower_recovery::registration::Presence;

use super::LONGEST;

/// What a process asks of a registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Asked {
    LookUp,
    Close,
    Connect,
    Register,
}

/// Something that happened, to whom, and when.
#[derive(Clone, Debug)]
pub(crate) struct Happened {
    pub(crate) at: Instant,
    pub(crate) id: &'static str,
    pub(crate) what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A step began, over this connection if there is one.
    Began(Asked, Option<u64>),
    /// The connection is open no more: it was closed, or dropped.
    Freed(u64),
    /// The connection is open.
    Opened(u64),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Answers {
    #[default]
    Truly,
    /// 500 to every look-up; and nobody can connect or register.
    Down,
    /// 404 to every look-up, whatever the registry holds.
    Nobody,
}

/// Who is served under an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// The process that has the id, by this lease over this connection.
    Owner {
        connection: u64,
        lease: u64,
    },
    Another(&'static str),
}

#[derive(Clone, Debug)]
pub(crate) struct Registry {
    state: Arc<Mutex<State>>,
    awake: Arc<watch::Sender<bool>>,
    /// How many steps began.
    steps: Arc<watch::Sender<u64>>,
}

#[derive(Debug, Default)]
struct State {
    answers: Answers,
    entries: BTreeMap<&'static str, Vec<Entry>>,
    open: BTreeMap<&'static str, u64>,
    /// Connections over which a registration is answered with success, and dropped.
    deaf: BTreeSet<u64>,
    numbers: u64,
    log: Vec<Happened>,
    faults: Vec<String>,
}

impl Registry {
    pub(crate) fn new() -> Self {
        let awake = Arc::new(watch::Sender::new(true));
        Self { state: Arc::default(), awake, steps: Arc::default() }
    }

    /// Forgets a process whose socket stays open. What it registers over that socket from now on is answered with success, and dropped.
    pub(crate) fn evict(&self, id: &'static str) -> Vec<Entry> {
        let mut state = self.state();
        let deaf = state.open.get(id).copied();
        state.deaf.extend(deaf);
        state.entries.remove(id).unwrap_or_default()
    }

    /// Serves these again, as before an eviction.
    pub(crate) fn restore(&self, id: &'static str, entries: Vec<Entry>) {
        self.state().entries.insert(id, entries);
    }

    /// Somebody else registers under the id.
    pub(crate) fn seize(&self, id: &'static str, by: &'static str) {
        self.state().entries.insert(id, vec![Entry::Another(by)]);
    }

    pub(crate) fn answers(&self, answers: Answers) {
        self.state().answers = answers;
    }

    /// Nothing is answered until it is resumed.
    pub(crate) fn pause(&self) {
        self.awake.send_replace(false);
    }

    pub(crate) fn resume(&self) {
        self.awake.send_replace(true);
    }

    pub(crate) async fn awake(&self) {
        let mut awake = self.awake.subscribe();
        let _closed = awake.wait_for(|awake| *awake).await;
    }

    pub(crate) fn entries(&self, id: &'static str) -> Vec<Entry> {
        self.state().entries.get(id).cloned().unwrap_or_default()
    }

    /// The connection of this process that is open.
    pub(crate) fn open(&self, id: &'static str) -> Option<u64> {
        self.state().open.get(id).copied()
    }

    pub(crate) fn log(&self) -> Vec<Happened> {
        self.state().log.clone()
    }

    /// When this was asked, by whomever.
    pub(crate) fn times(&self, asked: Asked) -> Vec<Instant> {
        self.state().log.iter().filter(|happened| happened.is(asked)).map(|happened| happened.at).collect()
    }

    pub(crate) fn count(&self, asked: Asked) -> usize {
        self.state().log.iter().filter(|happened| happened.is(asked)).count()
    }

    /// Waits until this is asked once more.
    pub(crate) async fn begins(&self, asked: Asked) {
        let number = self.count(asked);
        let mut steps = self.steps.subscribe();
        timeout(LONGEST, steps.wait_for(|_| self.count(asked) > number)).await.unwrap().unwrap();
    }

    pub(crate) fn faults(&self) -> Vec<String> {
        self.state().faults.clone()
    }

    pub(super) fn fault(&self, fault: String) {
        self.state().faults.push(fault);
    }

    pub(super) fn began(&self, id: &'static str, asked: Asked, connection: Option<u64>) {
        self.state().happened(id, What::Began(asked, connection));
        self.steps.send_modify(|steps| *steps += 1);
    }

    pub(super) fn look_up(&self, id: &'static str, connection: Option<u64>) -> Result<Presence, BoxError> {
        let state = self.state();
        match (state.answers, state.entries.get(id).and_then(|entries| entries.last())) {
            (Answers::Down, _) => Err("500 Internal Server Error".into()),
            (Answers::Nobody, _) | (Answers::Truly, None) => Ok(Presence::Missing),
            (Answers::Truly, Some(Entry::Another(by))) => Ok(Presence::Another((*by).into())),
            (Answers::Truly, Some(Entry::Owner { connection: theirs, .. })) => {
                Ok(if connection == Some(*theirs) { Presence::Ours } else { Presence::Missing })
            }
        }
    }

    pub(super) fn connect(&self, id: &'static str) -> Result<u64, BoxError> {
        let mut state = self.state();
        state.is_up()?;
        if let Some(open) = state.open.get(id) {
            let fault = format!("{id} connected while its connection {open} was open");
            state.faults.push(fault);
            return Err("client already exists".into());
        }
        state.numbers += 1;
        let number = state.numbers;
        state.open.insert(id, number);
        state.happened(id, What::Opened(number));
        Ok(number)
    }

    pub(super) fn register(&self, id: &'static str, connection: u64) -> Result<(), BoxError> {
        let mut state = self.state();
        state.is_up()?;
        if state.deaf.contains(&connection) {
            return Ok(());
        }
        if let Some(Entry::Another(by)) = state.entries.get(id).and_then(|entries| entries.last()) {
            return Err(format!("the id is taken by {by}").into());
        }
        state.numbers += 1;
        let entry = Entry::Owner { connection, lease: state.numbers };
        state.entries.insert(id, vec![entry]);
        Ok(())
    }

    /// A closed connection takes its entries with it.
    pub(super) fn close(&self, id: &'static str, connection: u64) {
        let is_another =
            |entry: &Entry| !matches!(entry, Entry::Owner { connection: theirs, .. } if *theirs == connection);
        if let Some(entries) = self.state().entries.get_mut(id) {
            entries.retain(is_another);
        }
    }

    /// A dropped one leaves them behind.
    pub(super) fn freed(&self, id: &'static str, connection: u64) {
        let mut state = self.state();
        if state.open.get(id) == Some(&connection) {
            state.open.remove(id);
            state.happened(id, What::Freed(connection));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

impl Happened {
    fn is(&self, asked: Asked) -> bool {
        matches!(self.what, What::Began(what, _) if what == asked)
    }
}

impl State {
    fn is_up(&self) -> Result<(), BoxError> {
        if self.answers == Answers::Down { Err("503 Service Unavailable".into()) } else { Ok(()) }
    }

    fn happened(&mut self, id: &'static str, what: What) {
        self.log.push(Happened { at: Instant::now(), id, what });
    }
}
