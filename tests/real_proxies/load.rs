//! Clients that read and write without a pause, through the front door.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{Method, StatusCode};
use http_body_util::Full;
use tokio::{sync::watch, task::JoinSet};
use tower::{Service, ServiceExt};
use tower_recovery::{Delivery, Recovery};
use tower_recovery_http::{HttpFrontDoor, HttpStack, Intermediary, Origin, Protocol, Transport};
use tower_recovery_test::Registry;

use super::{client::request, proxy::RealProxy};

const CLIENTS: usize = 8;

pub(crate) type Door = HttpStack<Full<Bytes>>;

/// The recommended stack, for the one instance that the registry knows: the proxy.
pub(crate) fn door(proxy: &RealProxy, protocol: Protocol, intermediary: Intermediary) -> Door {
    let registry = Registry::new();
    let origin: Origin = format!("http://{}", proxy.address(protocol)).parse().expect("an origin");
    registry.register("orders", "proxy", origin);
    Recovery::http(registry.resolver(), "orders")
        .transport(Transport::new().protocol(protocol))
        .behind(intermediary)
        .deadline(Duration::from_secs(15))
        .build()
        .expect("the settings are in their bounds")
}

/// What became of one write.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    pub(crate) id: String,
    pub(crate) end: End,
}

impl Write {
    /// Whether the backend said so.
    pub(crate) fn is_done(&self) -> bool {
        self.end == End::DONE
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Answered(StatusCode),
    Failed(Option<Delivery>),
}

impl End {
    const DONE: Self = Self::Answered(StatusCode::OK);
}

/// Clients at work.
pub(crate) struct Load {
    clients: JoinSet<()>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    ended: AtomicBool,
    requests: AtomicUsize,
    /// Those that have ended, in whatever way.
    writes: Mutex<Vec<Write>>,
    /// Writes and reads that were answered with 200.
    done: watch::Sender<[usize; 2]>,
}

impl Load {
    pub(crate) fn start(door: &Door) -> Self {
        let shared = Arc::new(Shared::default());
        let mut clients = JoinSet::new();
        for _ in 0..CLIENTS {
            clients.spawn(work(door.clone(), Arc::clone(&shared)));
        }
        Self { clients, shared }
    }

    /// Waits until so many more writes and reads were done.
    pub(crate) async fn wait_for_more(&self, more: usize) {
        let mut done = self.shared.done.subscribe();
        let before = *done.borrow();
        let grown = done.wait_for(|now| now.iter().zip(before).all(|(now, before)| *now >= before + more)).await;
        grown.expect("the sender is shared");
    }

    /// What has become of the writes so far.
    pub(crate) fn writes(&self) -> Vec<Write> {
        self.shared.writes.lock().expect("nobody panics with it").clone()
    }

    /// Lets every client end its last request, and gives what became of all writes.
    pub(crate) async fn end(self) -> Vec<Write> {
        self.shared.ended.store(true, Ordering::Relaxed);
        self.clients.join_all().await;
        self.shared.writes.lock().expect("nobody panics with it").clone()
    }
}

async fn work(mut door: Door, shared: Arc<Shared>) {
    while !shared.ended.load(Ordering::Relaxed) {
        let number = shared.requests.fetch_add(1, Ordering::Relaxed);
        let id = format!("write-{number}");
        let end = call(&mut door, Method::POST, &id).await;
        shared.count(0, &end);
        shared.writes.lock().expect("nobody panics with it").push(Write { id, end });
        let end = call(&mut door, Method::GET, &format!("read-{number}")).await;
        shared.count(1, &end);
    }
}

pub(crate) async fn call(door: &mut Door, method: Method, id: &str) -> End {
    let ready = door.ready().await.expect("the door is always ready");
    match ready.call(request(method, "/orders", id)).await {
        Ok(answer) => End::Answered(answer.status()),
        Err(failure) => End::Failed(failure.delivery()),
    }
}

impl Shared {
    fn count(&self, kind: usize, end: &End) {
        if *end == End::DONE {
            self.done.send_modify(|done| done[kind] += 1);
        }
    }
}
