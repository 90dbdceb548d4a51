//! The guide's text, and the comparison with what is committed.

use std::{env, fmt::Write, fs, path::Path};

use tower_recovery::Delivery;

use crate::{
    case::{Failure, Group},
    clients::{Column, Http, columns},
    outcome::{Cell, Outcome},
};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/guide/failures.md");

const HEAD: &str = include_str!("head.md");

const GROUPS: [(Group, &str); 9] = [
    (Group::Connecting, "Making a connection"),
    (Group::Tls, "TLS"),
    (Group::Reused, "A connection that served a call before"),
    (Group::Unanswered, "No answer"),
    (Group::Broken, "An answer that breaks"),
    (Group::Streams, "A stream of HTTP/2 is reset"),
    (Group::GoAway, "GOAWAY"),
    (Group::Answers, "Answers"),
    (Group::Own, "The request's own body"),
];

pub(crate) fn guide(cells: &[Cell<'_>]) -> String {
    let mut text = HEAD.to_owned();
    matrix(&mut text, cells);
    details(&mut text, cells);
    text
}

/// Every client against every failure.
fn matrix(text: &mut String, cells: &[Cell<'_>]) {
    text.push_str("\n# Clients × failures\n");
    for (group, title) in GROUPS {
        let cells: Vec<_> = cells.iter().filter(|cell| cell.failure.group == group).collect();
        let columns = columns().into_iter().filter(|column| cells.iter().any(|cell| is_same(&cell.column, column)));
        let columns: Vec<_> = columns.collect();
        let names: Vec<_> = columns.iter().map(Column::to_string).collect();
        write!(text, "\n## {title}\n\n| failure | {} |\n|---|{}\n", names.join(" | "), "---|".repeat(names.len()))
            .expect("a string takes all");
        for failure in rows(&cells) {
            let row: Vec<_> = columns.iter().map(|column| short(&cells, failure, column)).collect();
            writeln!(text, "| {} | {} |", failure.name, row.join(" | ")).expect("a string takes all");
        }
    }
}

/// What was seen, clients that saw the same in one line.
fn details(text: &mut String, cells: &[Cell<'_>]) {
    text.push_str("\n# What was seen\n");
    for (group, title) in GROUPS {
        let cells: Vec<_> = cells.iter().filter(|cell| cell.failure.group == group).collect();
        write!(text, "\n## {title}\n\n| failure | client | seen | proves | executed |\n|---|---|---|---|---|\n")
            .expect("a string takes all");
        for failure in rows(&cells) {
            let cells: Vec<_> = cells.iter().filter(|cell| std::ptr::eq(cell.failure, failure)).collect();
            let all: Vec<_> = cells.iter().map(|cell| cell.column).collect();
            let mut lines: Vec<(Vec<Column>, String)> = Vec::new();
            for cell in cells {
                let told = told(cell);
                match lines.iter_mut().find(|(_, line)| *line == told) {
                    Some((some, _)) => some.push(cell.column),
                    None => lines.push((vec![cell.column], told)),
                }
            }
            for (some, told) in lines {
                writeln!(text, "| {} | {} | {told} |", failure.name, clients(&some, &all)).expect("a string takes all");
            }
        }
    }
}

/// In short: all of the row, all of a protocol, a client over both protocols by its name alone.
fn clients(some: &[Column], all: &[Column]) -> String {
    let is_one_client = all.iter().all(|column| column.client.name() == all[0].client.name());
    if some.len() == all.len() && !is_one_client {
        return "all".to_owned();
    }
    for http in [Http::One, Http::Two] {
        let count = |columns: &[Column]| columns.iter().filter(|column| column.http == http).count();
        if count(some) == some.len() && count(some) == count(all) && !is_one_client {
            return format!("all over {http}");
        }
    }
    let is_over_both = |name| some.iter().filter(|column| column.client.name() == name).count() == 2;
    let name = |column: &Column| {
        let name = column.client.name();
        if is_over_both(name) { name.to_owned() } else { column.to_string() }
    };
    let mut names: Vec<_> = some.iter().map(name).collect();
    names.dedup();
    names.join(", ")
}

fn rows<'failures>(cells: &[&Cell<'failures>]) -> Vec<&'failures Failure> {
    let mut rows: Vec<_> = cells.iter().map(|cell| cell.failure).collect();
    rows.dedup_by(|one, other| std::ptr::eq(*one, *other));
    rows
}

fn is_same(one: &Column, other: &Column) -> bool {
    (one.client.name(), one.http) == (other.client.name(), other.http)
}

fn short(cells: &[&Cell<'_>], failure: &Failure, column: &Column) -> String {
    let found = cells.iter().find(|cell| std::ptr::eq(cell.failure, failure) && is_same(&cell.column, column));
    found.map_or_else(|| "–".to_owned(), |cell| format!("{}, {}", delivery(cell), cell.outcome.executed))
}

fn told(cell: &Cell<'_>) -> String {
    let Outcome { verdict, executed, connections, .. } = &cell.outcome;
    let is_race = cell.failure.is_race;
    let mut seen = if is_race { "the end, or a failed write".to_owned() } else { cell.outcome.seen.clone() };
    if !is_race && cell.outcome.is_handed_back {
        seen.push_str(", handed back");
    }
    if *connections > 1 {
        seen.push_str(", on a new connection");
    }
    let mut proves = delivery(cell).to_owned();
    if verdict.is_permanent() {
        proves.push_str(", permanent");
    }
    if verdict.is_stale() {
        proves.push_str(", stale");
    }
    format!("{seen} | {proves} | {executed}")
}

fn delivery(cell: &Cell<'_>) -> &'static str {
    match cell.outcome.verdict.delivery() {
        _ if cell.failure.is_race => "never or maybe sent",
        Some(Delivery::NeverSent) => "never sent",
        Some(Delivery::Refused) => "refused",
        Some(Delivery::MaybeSent) => "maybe sent",
        Some(Delivery::Answered) => "answered",
        _ => "not recognised",
    }
}

/// Compares the text with the committed file, or writes it.
pub(crate) fn compare(text: &str) {
    if env::var_os("TOWER_RECOVERY_BLESS").is_some_and(|value| value == "1") {
        fs::write(FILE, text).expect("the guide can be written");
        return;
    }
    let committed = fs::read_to_string(FILE).unwrap_or_default();
    if committed == text {
        return;
    }
    let removed =
        committed.lines().filter(|line| !text.lines().any(|other| other == *line)).map(|line| format!("- {line}"));
    let added =
        text.lines().filter(|line| !committed.lines().any(|other| other == *line)).map(|line| format!("+ {line}"));
    let difference: Vec<_> = removed.chain(added).collect();
    panic!(
        "{} does not tell what was seen; TOWER_RECOVERY_BLESS=1 writes it anew.\n{}",
        Path::new(FILE).display(),
        difference.join("\n")
    );
}
