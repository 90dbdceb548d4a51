//! Every client against every failure, over real sockets: what was seen, what it proves, what was executed.
//!
//! The guide of this crate is written from what happens here. If that has changed on purpose, `TOWER_RECOVERY_BLESS=1` writes it anew.

#![cfg(all(feature = "http2", feature = "rustls", feature = "reqwest", feature = "reqwest-0-12"))]

mod case;
mod clients;
mod failures;
mod laws;
mod outcome;
mod peer;
mod run;
mod seen;
mod table;

use self::{clients::columns, failures::failures, outcome::Cell};

#[test]
fn the_guide_tells_what_each_client_shows_of_each_failure() {
    let failures = failures();
    let mut cells = Vec::new();
    for failure in &failures {
        for column in columns().into_iter().filter(|column| failure.concerns(column)) {
            cells.push(Cell { failure, column, outcome: run::run(failure, &column) });
        }
    }
    let broken: Vec<_> =
        cells.iter().flat_map(|cell| laws::broken(cell).into_iter().map(move |law| (law, cell))).collect();
    assert!(broken.is_empty(), "{broken:#?}");
    table::compare(&table::guide(&cells));
}
