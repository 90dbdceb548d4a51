//! A worker on Hypha that survives what killed others: what to copy into your own, and a stage that does all of it to the worker, live.
//!
//! ```text
//! .ci/hypha                                       # installs the Hypha server into the target directory, once
//! cargo run --release --example hypha_worker
//! ```
//!
//! | file | |
//! |---|---|
//! | `worker.rs` | the worker: its service, the probe of its registration, its handle of the artifact manager, its model |
//! | `over_http.rs` | the same artifact manager over Hypha's HTTP API, by layers that are put together by hand |
//! | the others | the stage: a real Hypha server, artifact managers in Python that are killed and frozen, readers, a model that drops its stream, and the table |
//!
//! What is said of the artifact managers comes from their own ledger. The run ends with an error if a promise did not hold.

mod incidents;
mod model;
mod over_http;
mod readers;
mod report;
mod stage;
mod worker;

use std::process::ExitCode;

use tower::BoxError;

use self::{
    report::Report,
    stage::{Over, Stage},
};

#[tokio::main]
async fn main() -> Result<ExitCode, BoxError> {
    // Says how to install it where it is not; under CI that is a failure.
    let Some(mut stage) = Stage::set().await? else { return Ok(ExitCode::SUCCESS) };
    let report = Report::new(vec![
        incidents::killed_manager(&mut stage, Over::Websocket, "manager killed").await?,
        incidents::frozen_manager(&mut stage, Over::Websocket, "manager frozen").await?,
        incidents::forgotten_registration(&stage).await?,
        incidents::dropped_stream(&stage).await?,
        incidents::killed_manager(&mut stage, Over::Http, "manager killed, over HTTP").await?,
        incidents::frozen_manager(&mut stage, Over::Http, "manager frozen, over HTTP").await?,
    ]);
    print!("\n{report}");
    let mut exit = ExitCode::SUCCESS;
    for promise in report.broken_promises() {
        eprintln!("broken: {promise}");
        exit = ExitCode::FAILURE;
    }
    Ok(exit)
}
