//! Three instances behind a registry, two of them behind a proxy, and what befalls them as a whole.

use std::{io, sync::Arc, time::Duration};

use tokio::{
    sync::Mutex,
    time::{sleep, timeout},
};
use tower_recovery_http::Origin;
use tower_recovery_test::{CuttingProxy, FaultyServer};

use crate::audit::{
    ledger::Ledger,
    look_ups::LookUps,
    script::{Script, Wire},
    seed::{About, Seed},
};

const INSTANCES: usize = 3;
/// This one is reached without a proxy.
const DIRECT: usize = 2;
/// After so many requests something befalls an instance as a whole, and so many later it is over.
const PERIOD: usize = 300;
const OVER_AFTER: usize = 70;
/// After so many requests whatever stands still goes on.
const THAW_PERIOD: usize = 250;
/// No wait for the end of what is under way is longer.
const BOUND: Duration = Duration::from_secs(30);

pub(crate) struct World {
    pub(crate) seed: Seed,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) look_ups: LookUps,
    instances: Vec<Instance>,
    /// The number of the next request before which something is due.
    next: Mutex<usize>,
}

struct Instance {
    server: FaultyServer,
    proxy: Option<CuttingProxy>,
}

/// What befalls an instance as a whole.
enum Blow {
    /// It dies: everything is reset, and nobody listens.
    Dies,
    /// The way to it is gone.
    IsCutOff,
    /// It reads, and executes nothing.
    Freezes,
    /// Nothing, but the name moves on: who is there goes on there.
    IsLeft,
}

impl World {
    pub(crate) async fn new(script: Script) -> io::Result<Self> {
        let Script { seed, .. } = script;
        let ledger = Arc::new(Ledger::new(script));
        let mut instances = Vec::new();
        for number in 0..INSTANCES {
            instances.push(Instance::start(script, number, &ledger).await?);
        }
        let origins = instances.iter().map(Instance::origin).collect();
        Ok(Self { seed, ledger, look_ups: LookUps::new(seed, origins), instances, next: Mutex::new(1) })
    }

    /// Does what is due before the request with this number is made.
    pub(crate) async fn before_request(&self, number: usize) {
        let mut next = self.next.lock().await;
        while *next <= number {
            self.befall(*next).await;
            *next += 1;
        }
    }

    async fn befall(&self, request: usize) {
        if request.is_multiple_of(THAW_PERIOD) {
            self.thaw();
        }
        match request % PERIOD {
            0 => self.strike(request / PERIOD).await,
            OVER_AFTER => self.instances.iter().for_each(Instance::recover),
            _ => {}
        }
    }

    async fn strike(&self, blow: usize) {
        let mut chance = self.seed.draw(About::Schedule, blow, 0);
        let instance = &self.instances[chance.usize(..INSTANCES)];
        let blow = match chance.u32(..5) {
            0 | 1 => Blow::Dies,
            2 => Blow::IsCutOff,
            3 => Blow::Freezes,
            _ => Blow::IsLeft,
        };
        match (blow, &instance.proxy) {
            (Blow::IsCutOff, Some(proxy)) => proxy.refuse().await,
            (Blow::Dies | Blow::IsCutOff, _) => instance.server.refuse().await,
            (Blow::Freezes, _) => instance.server.freeze(),
            (Blow::IsLeft, _) => self.look_ups.move_on(),
        }
    }

    fn thaw(&self) {
        self.instances.iter().for_each(Instance::thaw);
    }

    /// Lets everything that is under way come to its end, also what nobody waits for any more. The clients must be gone.
    pub(crate) async fn settle(&self) {
        self.instances.iter().for_each(Instance::recover);
        let settled = async {
            while self.instances.iter().any(Instance::is_busy) {
                // What freezes later than the thaw waits for the next one.
                self.thaw();
                sleep(Duration::from_millis(5)).await;
            }
        };
        let in_time = timeout(BOUND, settled).await;
        let open: Vec<_> = self.instances.iter().map(|instance| instance.server.connections_open()).collect();
        in_time.unwrap_or_else(|_| panic!("the clients are gone, but connections are open: {open:?}"));
    }

    /// How often the servers' logs say that this call was executed.
    pub(crate) fn executed(&self, call: usize) -> usize {
        let id = call.to_string();
        self.instances.iter().map(|instance| instance.server.executed(&id)).sum()
    }

    /// How many connections the servers accepted.
    pub(crate) fn connections(&self) -> usize {
        self.instances.iter().map(|instance| instance.server.connections_accepted()).sum()
    }
}

impl Instance {
    async fn start(script: Script, number: usize, ledger: &Arc<Ledger>) -> io::Result<Self> {
        let (of_script, of_application) = (Arc::clone(ledger), Arc::clone(ledger));
        let builder = FaultyServer::builder()
            .script(move |request: &_| of_script.act(request))
            .application(move |request| of_application.run(request))
            .at_accept(move |connection| script.at_accept(number, connection));
        let builder = if script.wire == Wire::Streams { builder.http2() } else { builder };
        let server = builder.start().await?;
        let proxy = if number == DIRECT {
            None
        } else {
            let plan = move |connection| script.plan(number, connection);
            Some(CuttingProxy::before(server.address()).script(plan).start().await?)
        };
        Ok(Self { server, proxy })
    }

    fn origin(&self) -> Origin {
        let origin = self.proxy.as_ref().map_or_else(|| self.server.origin(), CuttingProxy::origin);
        origin.parse().expect("it is an origin")
    }

    fn thaw(&self) {
        self.server.thaw();
        if let Some(proxy) = &self.proxy {
            proxy.thaw();
        }
    }

    fn recover(&self) {
        self.server.thaw();
        self.server.accept_again().expect("its port is its own");
        if let Some(proxy) = &self.proxy {
            proxy.accept_again().expect("its port is its own");
        }
    }

    fn is_busy(&self) -> bool {
        self.server.connections_open() > 0
            || self.server.requests_held() > 0
            || self.proxy.as_ref().is_some_and(|proxy| proxy.connections_open() > 0)
    }
}
