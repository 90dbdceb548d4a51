//! What is printed: a line a client, and how often each law was at stake with each.

use std::{fmt, io::Write};

use crate::audit::{evidence::Evidence, laws::Finding, seed::Seed};

/// The result of one client.
pub(crate) struct Result {
    pub(crate) client: &'static str,
    pub(crate) evidence: Evidence,
    pub(crate) findings: Vec<Finding>,
}

pub(crate) struct Report<'results> {
    pub(crate) seed: Seed,
    pub(crate) results: &'results [Result],
}

/// The share of calls, in percent, that must cross a fault, and that must be writes.
const LEAST_DISTURBED: usize = 5;
const LEAST_WRITES: usize = 30;
/// So many breaches of a law are shown.
const SHOWN: usize = 3;

impl Report<'_> {
    /// Not through `println!`, which only shows what fails: how often the laws were at stake belongs to a success, too.
    pub(crate) fn print(&self) {
        write!(std::io::stderr(), "{self}").expect("standard error is there");
    }

    /// Everything that must not be.
    pub(crate) fn complaints(&self) -> Vec<String> {
        self.results.iter().flat_map(Result::complaints).collect()
    }
}

impl Result {
    fn complaints(&self) -> Vec<String> {
        let calls = self.evidence.calls.len();
        let mut complaints = Vec::new();
        for finding in &self.findings {
            let law = finding.law;
            if !finding.is_at_stake_enough(calls) {
                complaints.push(format!("law {law}: {} {} are too few", finding.at_stake, finding.premise));
            }
            if let Some(broken) = finding.broken.len().checked_sub(1) {
                complaints.push(format!("law {law} is broken {} times", broken + 1));
                complaints.extend(finding.broken.iter().take(SHOWN).cloned());
            }
        }
        for (share, least, what) in
            [(self.disturbed(), LEAST_DISTURBED, "cross a fault"), (self.writes(), LEAST_WRITES, "are writes")]
        {
            if share * 100 < least * calls {
                complaints.push(format!("only {share} of {calls} calls {what}"));
            }
        }
        complaints.iter().map(|complaint| format!("{}: {complaint}", self.client)).collect()
    }

    fn disturbed(&self) -> usize {
        self.evidence.count(|call| call.crossed_a_fault())
    }

    fn writes(&self) -> usize {
        self.evidence.count(|call| call.done.call.is_write())
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "\naudit, TOWER_RECOVERY_AUDIT_SEED={}", self.seed.get())?;
        for result in self.results {
            writeln!(formatter, "{result}")?;
        }
        let Some(first) = self.results.first().filter(|first| !first.findings.is_empty()) else { return Ok(()) };
        writeln!(formatter, "at stake, in the order of the clients:")?;
        for (row, finding) in first.findings.iter().enumerate() {
            write!(formatter, "  law {:<6}{:<68}", finding.law, finding.premise)?;
            for result in self.results {
                write!(formatter, "{:>8}", result.findings[row].at_stake)?;
            }
            writeln!(formatter)?;
        }
        Ok(())
    }
}

impl fmt::Display for Result {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let evidence = &self.evidence;
        let calls = evidence.calls.len();
        let percent = |part: usize| part as f64 * 100.0 / calls.max(1) as f64;
        write!(
            formatter,
            "  {:<20} {calls} calls in {:.1} s ({:.0} % writes, {:.1} % crossed a fault): {} answered, {} failed, {} dropped; \
             {} writes executed twice; {} look-ups, {} connections; timers up to {:.0} ms late",
            self.client,
            evidence.took.as_secs_f64(),
            percent(self.writes()),
            percent(self.disturbed()),
            evidence.count(|call| call.is_answered()),
            evidence.count(|call| call.failed().is_some()),
            evidence.count(|call| call.is_dropped()),
            evidence.count(|call| call.done.call.is_write() && call.executed > 1),
            evidence.look_ups.len(),
            evidence.connections,
            evidence.lateness.as_secs_f64() * 1e3,
        )
    }
}
