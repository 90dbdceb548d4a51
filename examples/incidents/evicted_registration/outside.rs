//! Who looks at a process from outside, over sockets: a consumer, a caller whose work takes long, and what asks whether it lives.

use std::{io, net::SocketAddr};

use tokio::{
    sync::Barrier,
    time::{Instant, sleep_until, timeout},
};

use super::{
    INTERVAL, PATIENCE, PAUSE, Plan, SLOW_WORK,
    process::{Answer, Call},
    registry::{Question, Reply},
    wire::{Connection, Wire},
};

/// What was seen of one process.
pub(crate) struct Seen {
    pub(crate) uses: Vec<Use>,
    /// The consumer's connection to the registry.
    pub(crate) lane: u64,
    /// The work that was under way at the eviction came to its end.
    pub(crate) work_done: bool,
    /// Every look at its liveness was answered.
    pub(crate) alive: bool,
}

/// The consumer looked the id up, and called what it found.
pub(crate) struct Use {
    pub(crate) began: Instant,
    pub(crate) ended: Instant,
    pub(crate) served: bool,
}

/// Looks until the end of the plan. Meets the others when the slow work has begun.
pub(crate) async fn look(id: &str, address: SocketAddr, registry: SocketAddr, plan: Plan, begun: &Barrier) -> Seen {
    let lane = Connection::open(registry).await.expect("the registry stays up");
    let (uses, work_done, alive) =
        tokio::join!(consume(id, &lane, plan), work_slowly(address, plan, begun), stays_alive(address, plan));
    Seen { uses, lane: lane.number, work_done: work_done.is_ok(), alive }
}

async fn consume(id: &str, lane: &Connection, plan: Plan) -> Vec<Use> {
    let mut process = None;
    let mut uses = Vec::new();
    while Instant::now() < plan.end {
        let began = Instant::now();
        let served = timeout(PATIENCE, use_once(id, lane, &mut process)).await;
        let served = served.unwrap_or_else(|_elapsed| Err(io::ErrorKind::TimedOut.into()));
        uses.push(Use { began, ended: Instant::now(), served: served.is_ok() });
        sleep_until(began + PAUSE).await;
    }
    uses
}

/// A connection to where the process was found before is used again.
async fn use_once(id: &str, lane: &Connection, process: &mut Option<(SocketAddr, Wire)>) -> io::Result<()> {
    let Reply::Found(Some(key)) = lane.ask(&Question::LookUp { id: id.to_owned() }).await? else {
        return Err(io::ErrorKind::NotFound.into());
    };
    let mut wire = match process.take() {
        Some((address, wire)) if address == key.address => wire,
        _ => Wire::connect(key.address).await?,
    };
    expect(&Answer::Done, &wire.ask(&Call::Work).await?)?;
    *process = Some((key.address, wire));
    Ok(())
}

async fn work_slowly(address: SocketAddr, plan: Plan, begun: &Barrier) -> io::Result<()> {
    sleep_until(plan.slow_work).await;
    let beginning = async {
        let mut wire = Wire::connect(address).await?;
        expect(&Answer::Begun, &wire.ask(&Call::SlowWork(SLOW_WORK)).await?)?;
        Ok::<_, io::Error>(wire)
    };
    let wire = beginning.await;
    begun.wait().await;
    let done = timeout(PATIENCE, async { wire?.read().await }).await??;
    expect(&Answer::Done, &done)
}

/// Asks each time over another connection, as those do who end what does not answer.
async fn stays_alive(address: SocketAddr, plan: Plan) -> bool {
    let mut alive = true;
    while Instant::now() < plan.end {
        let asked = Instant::now();
        let answer = timeout(PATIENCE, async { Wire::connect(address).await?.ask(&Call::Liveness).await }).await;
        alive &= matches!(answer, Ok(Ok(Answer::Alive)));
        sleep_until(asked + INTERVAL / 4).await;
    }
    alive
}

fn expect(expected: &Answer, answer: &Answer) -> io::Result<()> {
    if answer == expected { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
}
