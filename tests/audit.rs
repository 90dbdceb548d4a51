//! The audit: thousands of calls through real sockets that fail by a script, and the servers' own logs as the judge.
//!
//! Three instances stand behind a registry, two of them behind a proxy. Servers, proxies and registry fail by a script that is a function of a
//! seed and of numbers; how the callers interleave is left to the machine. Afterwards every call is held against what the servers did for
//! it, and each law of the design says how often it was at stake. A client that repeats every error runs under the same script, and must fail.
//!
//! ```text
//! TOWER_RECOVERY_AUDIT_SEED=7 TOWER_RECOVERY_AUDIT_REQUESTS=100000 cargo test --release --test audit
//! ```

mod audit {
    pub(crate) mod call;
    pub(crate) mod callers;
    pub(crate) mod clients;
    pub(crate) mod evidence;
    pub(crate) mod laws;
    pub(crate) mod ledger;
    pub(crate) mod look_ups;
    pub(crate) mod report;
    pub(crate) mod script;
    pub(crate) mod seed;
    pub(crate) mod till;
    pub(crate) mod watch;
    pub(crate) mod world;
}

use tokio::{join, sync::Mutex};

use self::audit::{
    clients::{Client, ConnectionHttp1, ConnectionHttp2, LegacyHttp1, LegacyHttp2, Reqwest012, Reqwest013, retry_all},
    evidence::Evidence,
    laws::{Terms, examine, no_write_twice},
    report::{Report, Result},
    script::{Script, Wire},
    seed::{Seed, requests},
    watch::Watch,
    world::World,
};

/// One test at a time, or they would take the time of each other's attempts.
static ALONE: Mutex<()> = Mutex::const_new(());

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_client_keeps_the_laws() {
    let _alone = ALONE.lock().await;
    let seed = Seed::from_environment();
    // Some at a time, since most of it is waiting; more would take the time of each other's attempts.
    let one = async { vec![audited::<ConnectionHttp1>(seed).await] };
    let two = async { vec![audited::<LegacyHttp1>(seed).await, audited::<Reqwest013>(seed).await] };
    let three = async {
        vec![
            audited::<LegacyHttp2>(seed).await,
            audited::<ConnectionHttp2>(seed).await,
            audited::<Reqwest012>(seed).await,
        ]
    };
    let (one, two, three) = join!(one, two, three);
    let results: Vec<_> = one.into_iter().chain(two).chain(three).collect();
    let report = Report { seed, results: &results };
    report.print();
    let complaints = report.complaints();
    assert!(complaints.is_empty(), "TOWER_RECOVERY_AUDIT_SEED={}\n{}", seed.get(), complaints.join("\n"));
}

async fn audited<Audited: Client>(seed: Seed) -> Result {
    let stack = |world: &World, watch: &Watch| Audited::stack(world.look_ups.clone(), watch.clone());
    let evidence = Evidence::gather(Script { seed, wire: Audited::WIRE }, requests(), Audited::CALLERS, stack).await;
    let terms = Terms { floor: Audited::FLOOR, knows_once: Audited::KNOWS_ONCE };
    let findings = examine(&evidence, terms);
    Result { client: Audited::NAME, evidence, findings }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_repeats_every_error_executes_writes_twice_under_the_same_script() {
    let _alone = ALONE.lock().await;
    let seed = Seed::from_environment();
    let requests = requests();
    let evidence = Evidence::gather(Script { seed, wire: Wire::Pool }, requests, 32, |world, _| {
        retry_all::stack(world.look_ups.clone())
    })
    .await;
    let twice = evidence.count(|call| call.done.call.is_write() && call.executed > 1);
    let found = no_write_twice(&evidence).broken.len();
    let results = [Result { client: "retry_all", evidence, findings: Vec::new() }];
    Report { seed, results: &results }.print();
    assert!(twice >= (requests / 2_000).max(1), "only {twice} writes were executed twice");
    assert!(found >= twice, "{twice} writes were executed twice, but the audit found {found}");
}
