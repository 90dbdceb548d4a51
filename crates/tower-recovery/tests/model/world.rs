//! What stands below the stack: a backend whose attempts end as the script says, and a registry that answers as it says.

use std::{
    collections::BTreeMap,
    panic::resume_unwind,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

use tower::{BoxError, Service};
use tower_recovery::Resolved;

use crate::{
    protocol::{Call, End, LookUpFailed, Reply},
    record::{Event, Record, lock},
    script::{Answer, Readiness},
};

/// The backend and the registry. Clones are the same ones.
#[derive(Clone, Debug)]
pub(crate) struct World {
    record: Record,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    attempts: u32,
    resolves: u32,
    identity: u32,
    backend: Option<End>,
    registry: Option<Answer>,
    readiness: Readiness,
    /// Whoever waits for a handle to become ready.
    unready: Vec<Waker>,
    open_attempts: BTreeMap<u32, Open<End>>,
    open_resolves: BTreeMap<u32, Open<Answer>>,
}

#[derive(Debug)]
struct Open<How> {
    call: u32,
    end: Option<How>,
    waker: Option<Waker>,
}

impl World {
    pub(crate) fn new(record: &Record) -> Self {
        let state = State {
            attempts: 0,
            resolves: 0,
            identity: 0,
            backend: None,
            registry: None,
            readiness: Readiness::Ready,
            unready: Vec::new(),
            open_attempts: BTreeMap::new(),
            open_resolves: BTreeMap::new(),
        };
        Self { record: record.clone(), state: Arc::new(Mutex::new(state)) }
    }

    pub(crate) fn resolver(&self) -> Resolver {
        Resolver(self.clone())
    }

    pub(crate) fn set_backend(&self, end: Option<End>) {
        lock(&self.state).backend = end;
    }

    pub(crate) fn set_registry(&self, answer: Option<Answer>) {
        lock(&self.state).registry = answer;
    }

    pub(crate) fn set_readiness(&self, readiness: Readiness) {
        let mut state = lock(&self.state);
        state.readiness = readiness;
        let woken = if readiness == Readiness::Pending { Vec::new() } else { std::mem::take(&mut state.unready) };
        drop(state);
        woken.into_iter().for_each(Waker::wake);
    }

    /// The attempts that have not ended, with the calls they belong to.
    pub(crate) fn open_attempts(&self) -> Vec<(u32, u32)> {
        let open = |(attempt, open): (&u32, &Open<End>)| open.end.is_none().then_some((*attempt, open.call));
        lock(&self.state).open_attempts.iter().filter_map(open).collect()
    }

    pub(crate) fn end_attempt(&self, attempt: u32, end: End) {
        end_one(&mut lock(&self.state).open_attempts, attempt, end).into_iter().for_each(Waker::wake);
    }

    pub(crate) fn open_resolves(&self) -> Vec<u32> {
        let open = |(number, open): (&u32, &Open<Answer>)| open.end.is_none().then_some(*number);
        lock(&self.state).open_resolves.iter().filter_map(open).collect()
    }

    pub(crate) fn end_resolve(&self, number: u32, answer: Answer) {
        end_one(&mut lock(&self.state).open_resolves, number, answer).into_iter().for_each(Waker::wake);
    }

    /// How many futures of attempts and resolves are alive.
    pub(crate) fn alive(&self) -> (usize, usize) {
        let state = lock(&self.state);
        (state.open_attempts.len(), state.open_resolves.len())
    }
}

fn end_one<How>(open: &mut BTreeMap<u32, Open<How>>, number: u32, how: How) -> Option<Waker> {
    let open = open.get_mut(&number)?;
    open.end = Some(how);
    open.waker.take()
}

fn poll_one<How: Copy>(open: &mut BTreeMap<u32, Open<How>>, number: u32, context: &Context<'_>) -> Poll<How> {
    let one = open.get_mut(&number).expect("it is polled after its end");
    let Some(how) = one.end else {
        one.waker = Some(context.waker().clone());
        return Poll::Pending;
    };
    open.remove(&number);
    Poll::Ready(how)
}

/// What the registry gives: a service that is called once for each attempt, and minds being called unready.
#[derive(Debug)]
pub(crate) struct Handle {
    world: World,
    number: u32,
    readied: bool,
}

/// A clone starts unready.
impl Clone for Handle {
    fn clone(&self) -> Self {
        Self { world: self.world.clone(), number: self.number, readied: false }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the handle does not become ready")]
pub(crate) struct Unready;

impl Service<Call> for Handle {
    type Response = Reply;
    type Error = BoxError;
    type Future = Attempt;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        let mut state = lock(&self.world.state);
        match state.readiness {
            Readiness::Ready => {
                self.readied = true;
                Poll::Ready(Ok(()))
            }
            Readiness::Pending => {
                state.unready.push(context.waker().clone());
                Poll::Pending
            }
            Readiness::Fails => Poll::Ready(Err(Unready.into())),
        }
    }

    fn call(&mut self, call: Call) -> Attempt {
        assert!(std::mem::take(&mut self.readied), "a handle was called unready");
        let mut state = lock(&self.world.state);
        state.attempts += 1;
        let attempt = state.attempts;
        let open = Open { call: call.id, end: state.backend, waker: None };
        state.open_attempts.insert(attempt, open);
        drop(state);
        self.world.record.write(Event::Sent { call: call.id, silent: call.silent, handle: self.number, attempt });
        Attempt { world: self.world.clone(), attempt, id: call.id, call: Some(call) }
    }
}

#[derive(Debug)]
pub(crate) struct Attempt {
    world: World,
    attempt: u32,
    id: u32,
    call: Option<Call>,
}

impl Future for Attempt {
    type Output = Result<Reply, BoxError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = poll_one(&mut lock(&self.world.state).open_attempts, self.attempt, context);
        polled.map(|end| {
            let call = self.call.take().expect("an attempt ends once");
            end.outcome(self.attempt, call)
        })
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        let open = lock(&self.world.state).open_attempts.remove(&self.attempt);
        if open.is_some() {
            self.world.record.write(Event::AttemptDropped { call: self.id, attempt: self.attempt });
        }
    }
}

/// The resolver of the registry.
#[derive(Clone, Debug)]
pub(crate) struct Resolver(World);

impl Service<()> for Resolver {
    type Response = Resolved<Handle>;
    type Error = BoxError;
    type Future = LookUp;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, (): ()) -> LookUp {
        let mut state = lock(&self.0.state);
        state.resolves += 1;
        let number = state.resolves;
        let open = Open { call: 0, end: state.registry, waker: None };
        state.open_resolves.insert(number, open);
        drop(state);
        self.0.record.write(Event::Resolve { number });
        LookUp { world: self.0.clone(), number }
    }
}

#[derive(Debug)]
pub(crate) struct LookUp {
    world: World,
    number: u32,
}

impl Future for LookUp {
    type Output = Result<Resolved<Handle>, BoxError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = lock(&self.world.state);
        let Poll::Ready(answer) = poll_one(&mut state.open_resolves, self.number, context) else {
            return Poll::Pending;
        };
        match answer {
            Answer::New => state.identity += 1,
            Answer::Same => state.identity = state.identity.max(1),
            Answer::Error => return Poll::Ready(Err(LookUpFailed { number: self.number }.into())),
            Answer::Panic => {
                drop(state);
                // Not `panic!`: the panic is part of the script, and the hook would print it.
                resume_unwind(Box::new("the resolver panics"));
            }
        }
        let handle = Handle { world: self.world.clone(), number: self.number, readied: false };
        Poll::Ready(Ok(Resolved::new(state.identity.to_string(), handle)))
    }
}

impl Drop for LookUp {
    fn drop(&mut self) {
        let open = lock(&self.world.state).open_resolves.remove(&self.number);
        if open.is_some() {
            self.world.record.write(Event::ResolveDropped { number: self.number });
        }
    }
}
