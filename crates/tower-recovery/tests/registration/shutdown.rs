//! A process that shuts down: it gets back what its probe was built of.

use std::future::{pending, ready};

use tokio::{
    sync::oneshot,
    task::JoinHandle,
    time::{sleep, timeout},
};
use tower_recovery::RegistrationProbe;

use super::world::{Act, Asked, Connection, ID, INTERVAL, LONGEST, Registry, Worker, seconds};

/// A probe that runs until it is told.
struct Running {
    worker: Worker,
    shutdown: oneshot::Sender<()>,
    probing: JoinHandle<(Worker, Option<Connection>)>,
}

impl Running {
    fn begin() -> Self {
        let worker = Worker::new(&Registry::new(), ID);
        let (shutdown, told) = oneshot::channel();
        let probe = RegistrationProbe::builder(worker.clone()).connection(worker.registered()).build().unwrap();
        let probing = tokio::spawn(probe.run_until(async { told.await.unwrap_or_default() }));
        Self { worker, shutdown, probing }
    }

    async fn shut_down(self) -> (Worker, Option<Connection>) {
        self.shutdown.send(()).unwrap();
        timeout(seconds(1), self.probing).await.expect("at once").unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_that_shuts_down_gets_its_connection_back_and_nothing_puts_it_back_on_the_registry() {
    let running = Running::begin();
    running.worker.registry.begins(Asked::LookUp).await;
    sleep(seconds(1)).await;
    let registry = running.worker.registry.clone();
    let open = registry.open(ID);
    let (_worker, connection) = running.shut_down().await;
    assert!(connection.is_some() && registry.open(ID) == open, "it is still open");
    assert_eq!(registry.entries(ID).len(), 1, "and the process registered, until it takes itself off");

    registry.evict(ID);
    drop(connection);
    let asked = registry.log().len();
    sleep(INTERVAL * 10).await;
    assert_eq!((registry.log().len(), registry.entries(ID).len()), (asked, 0));
}

#[tokio::test(start_paused = true)]
async fn a_step_under_way_is_dropped_and_what_it_had_is_gone_with_it() {
    let steps = [(Asked::LookUp, true), (Asked::Close, false), (Asked::Connect, false), (Asked::Register, true)];
    for (step, connected) in steps {
        for act in [Act::Hangs, Act::PanicsInDrop] {
            let running = Running::begin();
            let registry = running.worker.registry.clone();
            registry.evict(ID);
            running.worker.next(step, [act]);
            registry.begins(step).await;
            let (_worker, connection) = running.shut_down().await;
            assert_eq!((connection.is_some(), registry.open(ID).is_some()), (connected, connected), "{step:?} {act:?}");
            assert_eq!(registry.faults(), Vec::<String>::new());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_that_is_shut_down_before_its_probe_ran_asked_nothing() {
    let worker = Worker::new(&Registry::new(), ID);
    let registry = worker.registry.clone();
    let probe = RegistrationProbe::builder(worker).build().unwrap();
    let (_worker, connection) = probe.run_until(ready(())).await;
    assert!(connection.is_none() && registry.log().is_empty());
}

#[tokio::test(start_paused = true)]
async fn without_a_shutdown_it_goes_on() {
    let worker = Worker::new(&Registry::new(), ID);
    let registry = worker.registry.clone();
    let probe = RegistrationProbe::builder(worker.clone()).connection(worker.registered()).build().unwrap();
    let probing = tokio::spawn(probe.run_until(pending()));
    registry.evict(ID);
    sleep(INTERVAL * 3).await;
    assert_eq!(registry.entries(ID).len(), 1, "registered anew");
    assert!(timeout(LONGEST, probing).await.is_err());
}
