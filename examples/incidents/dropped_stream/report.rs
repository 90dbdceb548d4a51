//! What is shown, and what must hold.

use std::fmt;

use serde_json::{Map, Value, json};
use tower_recovery_http::sse::VerdictKind;

use super::{Case, Contender, GRACE, IDLE, KEEP_ALIVE_IDLE, MAX_REPLACEMENTS, Numbers, PATIENCE, case::Kind};

pub(crate) struct Report {
    rows: Vec<(Case, Contender, Numbers)>,
}

impl Report {
    pub(crate) fn new(rows: Vec<(Case, Contender, Numbers)>) -> Self {
        Self { rows }
    }

    /// `<case>.<contender>`.
    pub(crate) fn to_json(&self) -> Value {
        let of = |wanted: Case| -> Map<String, Value> {
            self.of(wanted).map(|(contender, numbers)| (contender.name().to_owned(), json!(numbers))).collect()
        };
        Case::all().map(|case| (case.name(), Value::Object(of(case)))).collect()
    }

    fn of(&self, wanted: Case) -> impl Iterator<Item = (Contender, &Numbers)> {
        let rows = self.rows.iter().filter(move |(case, ..)| *case == wanted);
        rows.map(|(_, contender, numbers)| (*contender, numbers))
    }

    /// What this example exists to show, and did not.
    pub(crate) fn broken_promises(&self) -> Vec<String> {
        let mut broken = Vec::new();
        for (case, contender, numbers) in self.rows.iter().filter(|(_, contender, _)| contender.is_ours()) {
            for (holds, what) in promises(*case, numbers) {
                if !holds {
                    broken.push(format!("{} under {}: {what}", contender.name(), case.name()));
                }
            }
        }
        let any = |contender, shows: fn(&Numbers) -> bool| {
            self.rows.iter().any(|(_, of, numbers)| *of == contender && shows(numbers))
        };
        if !any(Contender::None, |numbers| numbers.result_lost) {
            broken.push("none: who reads what comes loses an answer".to_owned());
        }
        if !any(Contender::Append, |numbers| numbers.result_spliced) {
            broken.push("append: who repeats by hand splices two answers".to_owned());
        }
        broken
    }
}

/// What our stack promises of this case.
fn promises(case: Case, numbers: &Numbers) -> Vec<(bool, &'static str)> {
    let calls = numbers.calls_seen_by_server;
    let may_replace = MAX_REPLACEMENTS as usize;
    let mut promises = vec![
        (!numbers.result_spliced, "no two answers are spliced"),
        (!numbers.result_lost, "no answer is lost"),
        (calls == 1 + numbers.replacements, "the server sees one call and its replacements"),
        (numbers.replacements <= may_replace, "no stream is replaced more often than it may be"),
    ];
    match case.fault.kind() {
        Kind::Drop => promises.push((numbers.result_complete, "a broken stream is replaced")),
        Kind::Silence => promises.extend([
            (numbers.result_complete, "a silent stream is replaced"),
            (numbers.health_probes > 0, "a silent stream is replaced after a probe"),
        ]),
        Kind::Verdict => promises.extend([
            (!numbers.verdict_retried, "a verdict is final"),
            (numbers.verdict == Some(VerdictKind::Overloaded), "a verdict is handed out as what it is"),
        ]),
    }
    promises
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            formatter,
            "The dropped stream: a model's answer breaks off, falls silent, or is a no; the second call is served whole."
        )?;
        writeln!(
            formatter,
            "By hand: patience {PATIENCE:?}. Recovery: idle {IDLE:?}, with pings {KEEP_ALIVE_IDLE:?}, grace {GRACE:?}, {MAX_REPLACEMENTS} replacement."
        )?;
        writeln!(formatter, "The result, the calls that the server saw, and the health probes.")?;
        for (kind, title) in KINDS {
            writeln!(formatter, "\n{title}")?;
            write!(formatter, "  {:<28}", "")?;
            for contender in Contender::ALL {
                write!(formatter, "{:>18}", contender.name())?;
            }
            writeln!(formatter)?;
            for case in Case::all().filter(|case| case.fault.kind() == kind) {
                write!(formatter, "  {:<28}", case.name())?;
                for (_, numbers) in self.of(case) {
                    write!(formatter, "{:>18}", cell(numbers))?;
                }
                writeln!(formatter)?;
            }
        }
        Ok(())
    }
}

const KINDS: [(Kind, &str); 3] = [
    (Kind::Drop, "the answer breaks off"),
    (Kind::Silence, "the answer falls silent"),
    (Kind::Verdict, "the answer is a no"),
];

fn cell(numbers: &Numbers) -> String {
    let Numbers { calls_seen_by_server: calls, health_probes: probes, .. } = numbers;
    let probes = if *probes == 0 { String::new() } else { format!(" + {probes}") };
    format!("{} {calls}{probes}", numbers.result())
}
