//! A backend is killed and started again, time after time, under a load of reads and writes.

use std::collections::HashMap;

use tower_recovery_http::{Intermediary, Protocol};

use super::{
    backend::Backend,
    client::within,
    load::{Load, Write, door},
    proxy::RealProxy,
    proxy_config::Kind,
};

const FEWEST_KILLS: usize = 8;
/// The most that it may take until a kill has met a write between its execution and its answer.
const MOST_KILLS: usize = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_write_is_executed_twice_through_haproxy_over_http_2() {
    no_write_is_executed_twice(Kind::HAPROXY, Protocol::Http2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_write_is_executed_twice_through_haproxy_over_http_1() {
    no_write_is_executed_twice(Kind::HAPROXY, Protocol::Http1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_write_is_executed_twice_through_nginx_over_http_2() {
    no_write_is_executed_twice(Kind::Nginx, Protocol::Http2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_write_is_executed_twice_through_nginx_over_http_1() {
    no_write_is_executed_twice(Kind::Nginx, Protocol::Http1).await;
}

/// The same load finds what the others would miss if they looked the wrong way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_does_not_know_of_haproxy_executes_writes_twice() {
    let seen = |record: &Record| !record.repeated_writes().is_empty();
    let record = kill_under_load(Kind::HAPROXY, Protocol::Http2, Intermediary::Absent, seen).await;
    assert!(record.is_none_or(|record| seen(&record)), "{MOST_KILLS} kills met no write");
}

async fn no_write_is_executed_twice(kind: Kind, protocol: Protocol) {
    let seen = |record: &Record| record.lost_answers() > 0;
    let Some(record) = kill_under_load(kind, protocol, Intermediary::Present, seen).await else { return };
    assert_eq!(record.repeated_writes(), [] as [&str; 0]);
    assert_eq!(record.false_answers(), [] as [&str; 0]);
    assert!(seen(&record), "{MOST_KILLS} kills met no write");
}

/// What the clients saw, and what the backend executed.
struct Record {
    writes: Vec<Write>,
    /// How often each request was executed, by its id.
    executions: HashMap<String, usize>,
}

impl Record {
    fn repeated_writes(&self) -> Vec<&str> {
        self.ids(|write| self.executed(write) > 1)
    }

    /// Writes that were answered and not executed.
    fn false_answers(&self) -> Vec<&str> {
        self.ids(|write| write.is_done() && self.executed(write) == 0)
    }

    /// How many writes were executed without an answer of the backend's: a kill came in between.
    fn lost_answers(&self) -> usize {
        self.ids(|write| !write.is_done() && self.executed(write) > 0).len()
    }

    fn ids(&self, wanted: impl Fn(&Write) -> bool) -> Vec<&str> {
        self.writes.iter().filter(|write| wanted(write)).map(|write| write.id.as_str()).collect()
    }

    fn executed(&self, write: &Write) -> usize {
        self.executions.get(&write.id).copied().unwrap_or(0)
    }
}

/// Kills until there were enough kills and what is looked for was seen.
async fn kill_under_load(
    kind: Kind,
    protocol: Protocol,
    intermediary: Intermediary,
    seen: fn(&Record) -> bool,
) -> Option<Record> {
    let mut backend = Backend::start().await;
    let proxy = RealProxy::start(kind, backend.address()).await?;
    let load = Load::start(&door(&proxy, protocol, intermediary));
    within(async {
        for kill in 1..=MOST_KILLS {
            load.wait_for_more(10).await;
            backend.kill_and_restart().await;
            if kill >= FEWEST_KILLS && seen(&Record { writes: load.writes(), executions: backend.executions() }) {
                break;
            }
        }
        load.wait_for_more(1).await;
        Some(Record { writes: load.end().await, executions: backend.executions() })
    })
    .await
}
