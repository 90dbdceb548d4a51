//! The incidents that tower-recovery exists for, replayed over real sockets with the tools that people have today beside it.
//!
//! ```text
//! cargo run --release --example incidents                             # every part, as tables
//! cargo run --release --example incidents -- stale-handle --json      # one part, for machines
//! ```
//!
//! Every number comes from the logs of the servers and from what the callers saw. The run ends with an error if what the stack
//! promises did not hold.

mod stale_handle;

use std::process::ExitCode;

/// 1,000 callers hold a connection each, at both ends, and twice where they change servers.
const SOCKETS: u64 = 6_000;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let json = arguments.iter().any(|argument| argument == "--json");
    let parts: Vec<&str> = arguments.iter().map(String::as_str).filter(|argument| *argument != "--json").collect();
    if !matches!(parts.as_slice(), [] | ["stale-handle"]) {
        eprintln!("usage: incidents [stale-handle] [--json]");
        return ExitCode::from(2);
    }
    match rlimit::increase_nofile_limit(SOCKETS) {
        Ok(limit) if limit >= SOCKETS => {}
        Ok(limit) => {
            eprintln!("the limit of open files is {limit}, but it must be at least {SOCKETS}");
            return ExitCode::FAILURE;
        }
        Err(error) => {
            eprintln!("the limit of open files cannot be raised to {SOCKETS}: {error}");
            return ExitCode::FAILURE;
        }
    }
    // To standard error: with `--json`, standard output is for machines.
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_max_level(tracing::Level::INFO).init();

    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be started");
    let report = runtime.block_on(stale_handle::run());
    if json {
        println!("{}", serde_json::json!({ "stale_handle": report.to_json() }));
    } else {
        print!("{report}");
    }
    let broken = report.broken_promises();
    for promise in &broken {
        eprintln!("broken: {promise}");
    }
    if broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
