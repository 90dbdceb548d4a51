//! Stage: what is shown, and what must hold.

use std::{collections::HashMap, fmt, time::Duration};

use super::{
    readers::Reads,
    stage::{Commit, Stage},
};

/// What one incident came to.
pub(crate) struct Row {
    incident: &'static str,
    happened: String,
    reads: Option<Reads>,
    /// How often the commit was executed.
    executed: Option<usize>,
    resolves: Option<usize>,
    recovered: Duration,
    broken: Vec<String>,
}

impl Row {
    pub(crate) fn new(incident: &'static str, recovered: Duration) -> Self {
        let (happened, broken) = (String::new(), Vec::new());
        Self { incident, happened, reads: None, executed: None, resolves: None, recovered, broken }
    }

    pub(crate) fn happened(mut self, happened: String) -> Self {
        self.happened = happened;
        self
    }

    pub(crate) fn promise(mut self, holds: bool, what: &str) -> Self {
        if !holds {
            self.broken.push(format!("{}: {what}", self.incident));
        }
        self
    }

    pub(crate) fn reads(mut self, reads: Reads, stage: &Stage) -> Self {
        let failures = reads.failures.iter().map(|failure| format!("{}: a read failed: {failure}", self.incident));
        self.broken.extend(failures);
        let mut views = HashMap::new();
        for execution in stage.server.ledger().into_iter().filter(|execution| execution.view) {
            *views.entry(execution.request_id).or_insert(0) += 1;
        }
        let are_counted_once = views.values().all(|views| *views == 1);
        self.reads = Some(reads);
        self.promise(are_counted_once, "no read counts twice")
    }

    pub(crate) fn commit(mut self, id: &str, commit: Commit, stage: &Stage) -> Self {
        let executed = stage.executed(id);
        self.executed = Some(executed);
        self.happened = format!(
            "reads go on; the commit {}",
            match &commit {
                Commit::Done => "is done",
                Commit::MaybeExecuted => "may have been executed",
                Commit::Failed(_) => "failed",
            }
        );
        let row = self.promise(executed <= 1, "the commit was executed once at the most");
        match commit {
            Commit::Failed(failure) => row.promise(false, &format!("the commit is known to be unknown: {failure}")),
            Commit::Done => row.promise(executed >= 1, "a commit that is done was executed"),
            Commit::MaybeExecuted => row,
        }
    }

    pub(crate) fn resolves(mut self, resolves: usize, expected: usize) -> Self {
        self.resolves = Some(resolves);
        self.promise(resolves == expected, &format!("resolved {expected} times, and not {resolves}"))
    }
}

pub(crate) struct Report(Vec<Row>);

impl Report {
    pub(crate) fn new(rows: Vec<Row>) -> Self {
        Self(rows)
    }

    pub(crate) fn broken_promises(&self) -> impl Iterator<Item = &String> {
        self.0.iter().flat_map(|row| &row.broken)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heads = ["incident", "what happened", "reads", "failed", "commit executed", "resolves", "recovered in"];
        let number = |number: Option<usize>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
        let mut cells: Vec<[String; 7]> = vec![heads.map(str::to_owned)];
        for row in &self.0 {
            let (answered, failed) = row.reads.as_ref().map(|reads| (reads.answered, reads.failures.len())).unzip();
            cells.push([
                row.incident.to_owned(),
                row.happened.clone(),
                number(answered),
                number(failed),
                number(row.executed),
                number(row.resolves),
                format!("{:.1} s", row.recovered.as_secs_f64()),
            ]);
        }
        let widths: Vec<usize> = (0..heads.len())
            .map(|column| cells.iter().map(|row| row[column].chars().count()).max().unwrap_or_default())
            .collect();
        for row in &cells {
            let padded: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
            writeln!(formatter, "{}", padded.join("  ").trim_end())?;
        }
        Ok(())
    }
}
