//! How many instructions a call costs, counted by callgrind: the same number whatever else the machine does.
//!
//! ```text
//! cargo install gungraun-runner --version 0.20.0    # and valgrind, from the system's packages
//! cargo bench --package tower-recovery-bench --bench instructions
//! ```

#![allow(missing_docs, unused_qualifications, reason = "in what the macros expand to")]

use std::hint::black_box;

use gungraun::{Callgrind, EventKind, prelude::*};
use tokio::runtime::Runtime;
use tower_recovery_bench::{Double, Stack, call, warm_stack};

/// A call through the three layers costs 404 instructions (32 of them for a suspicion that may come), recorded with rustc 1.95 on x86_64; a fiftieth more is for another compiler.
const INSTRUCTIONS_A_CALL: u64 = 408;

#[library_benchmark]
#[bench::warm(tower_recovery_bench::bare())]
fn bare(mut service: Double) -> u64 {
    black_box(call(&mut service, black_box(21)))
}

#[library_benchmark]
#[bench::warm(warm_stack())]
fn layers((runtime, mut stack): (Runtime, Stack)) -> (Runtime, Stack) {
    black_box(call(&mut stack, black_box(21)));
    // Handed back, so that what is measured is the call and not the end of its stack.
    (runtime, stack)
}

library_benchmark_group!(name = a_call, benchmarks = [bare, layers]);

main!(
    config = LibraryBenchmarkConfig::default()
        .tool(Callgrind::default().hard_limits([(EventKind::Ir, INSTRUCTIONS_A_CALL)])),
    library_benchmark_groups = a_call
);
