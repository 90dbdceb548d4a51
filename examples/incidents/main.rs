//! The incidents that tower-recovery exists for, replayed over real sockets with the tools that people have today beside it.
//!
//! ```text
//! cargo run --release --example incidents                             # every part, as tables
//! cargo run --release --example incidents -- stale-handle --json      # one part, for machines
//! cargo run --release --example incidents -- dropped-stream
//! cargo run --release --example incidents -- evicted-registration
//! ```
//!
//! Every number comes from the logs of the servers and from what the callers saw. The run ends with an error if what the stack
//! promises did not hold.

mod dropped_stream;
mod evicted_registration;
mod stale_handle;

use std::process::ExitCode;

use serde_json::{Map, Value};

/// 1,000 callers hold a connection each, at both ends, and twice where they change servers.
const SOCKETS: u64 = 6_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    StaleHandle,
    DroppedStream,
    EvictedRegistration,
}

/// What a part came to.
struct Outcome {
    table: String,
    json: Value,
    broken_promises: Vec<String>,
}

impl Part {
    const ALL: [Self; 3] = [Self::StaleHandle, Self::DroppedStream, Self::EvictedRegistration];

    fn name(self) -> &'static str {
        match self {
            Self::StaleHandle => "stale-handle",
            Self::DroppedStream => "dropped-stream",
            Self::EvictedRegistration => "evicted-registration",
        }
    }

    async fn run(self) -> Outcome {
        match self {
            Self::StaleHandle => {
                let report = stale_handle::run().await;
                let broken_promises = report.broken_promises();
                Outcome { table: report.to_string(), json: report.to_json(), broken_promises }
            }
            Self::DroppedStream => {
                let report = dropped_stream::run().await;
                let broken_promises = report.broken_promises();
                Outcome { table: report.to_string(), json: report.to_json(), broken_promises }
            }
            Self::EvictedRegistration => {
                let report = evicted_registration::run().await;
                let broken_promises = report.broken_promises();
                Outcome { table: report.to_string(), json: report.to_json(), broken_promises }
            }
        }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let json = arguments.iter().any(|argument| argument == "--json");
    let named: Vec<&str> = arguments.iter().map(String::as_str).filter(|argument| *argument != "--json").collect();
    let parts: Vec<Part> = Part::ALL.into_iter().filter(|part| named.is_empty() || named == [part.name()]).collect();
    if parts.is_empty() {
        eprintln!("usage: incidents [{}] [--json]", Part::ALL.map(Part::name).join(" | "));
        return ExitCode::from(2);
    }
    if parts.contains(&Part::StaleHandle)
        && let Err(refused) = raise_the_limit_of_open_files()
    {
        eprintln!("{refused}");
        return ExitCode::FAILURE;
    }
    // To standard error: with `--json`, standard output is for machines.
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_max_level(tracing::Level::INFO).init();

    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be started");
    let outcomes: Vec<(Part, Outcome)> = parts.into_iter().map(|part| (part, runtime.block_on(part.run()))).collect();
    if json {
        let of = |(part, outcome): &(Part, Outcome)| (part.name().replace('-', "_"), outcome.json.clone());
        println!("{}", Value::Object(outcomes.iter().map(of).collect::<Map<_, _>>()));
    } else {
        let tables: Vec<&str> = outcomes.iter().map(|(_, outcome)| outcome.table.as_str()).collect();
        print!("{}", tables.join("\n"));
    }
    let broken: Vec<&String> = outcomes.iter().flat_map(|(_, outcome)| &outcome.broken_promises).collect();
    for promise in &broken {
        eprintln!("broken: {promise}");
    }
    if broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn raise_the_limit_of_open_files() -> Result<(), String> {
    match rlimit::increase_nofile_limit(SOCKETS) {
        Ok(limit) if limit >= SOCKETS => Ok(()),
        Ok(limit) => Err(format!("the limit of open files is {limit}, but it must be at least {SOCKETS}")),
        Err(error) => Err(format!("the limit of open files cannot be raised to {SOCKETS}: {error}")),
    }
}
