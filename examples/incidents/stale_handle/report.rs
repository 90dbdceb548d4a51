//! What is shown, and what must hold.

use std::{fmt, time::Duration};

use serde_json::{Map, Value, json};

use super::{Contender, DEADLINE, END, Fault, Numbers, SUSPECT_AFTER, THAW, TIMEOUT, WRITES_IN_FLIGHT};

/// What a look-up, the repeat and the tick may take beyond the wait.
const ALLOWANCE: Duration = Duration::from_millis(250);
/// One for the frozen handle. Where the machine is so busy that reads on the new one wait for long, one more each time as long as they wait.
const MOST_LOOK_UPS: usize = 2 + (END.as_millis() / SUSPECT_AFTER.as_millis()) as usize;

#[derive(Default)]
pub(crate) struct Report {
    rows: Vec<(Fault, Contender, Numbers)>,
}

impl Report {
    pub(crate) fn add(&mut self, fault: Fault, contender: Contender, numbers: Numbers) {
        self.rows.push((fault, contender, numbers));
    }

    /// `<freezes|refuses>.<contender>`.
    pub(crate) fn to_json(&self) -> Value {
        let of = |wanted: Fault| -> Map<String, Value> {
            let rows = self.rows.iter().filter(|(fault, ..)| *fault == wanted);
            rows.map(|(_, contender, numbers)| (contender.name().to_owned(), json!(numbers))).collect()
        };
        Fault::ALL.into_iter().map(|fault| (fault.name().to_owned(), Value::Object(of(fault)))).collect()
    }

    /// What this example exists to show, and did not.
    pub(crate) fn broken_promises(&self) -> Vec<String> {
        let mut broken = Vec::new();
        for (fault, contender, numbers) in &self.rows {
            let mut promise = |holds: bool, what: &str| {
                if !holds {
                    broken.push(format!("{} under {}: {what}", contender.name(), fault.name()));
                }
            };
            promise(numbers.writes_in_flight_at_fault >= WRITES_IN_FLIGHT, "enough writes in flight at the fault");
            promise(numbers.status_failed == 0, "the status stays green");
            promise(numbers.contradictions == 0, "what a caller is told of its write is true");
            if contender.is_ours() {
                promise(numbers.reads_failed == 0, "no read fails");
                promise(numbers.writes_executed_twice == 0, "no write is executed twice");
                promise(numbers.views_counted_twice == 0, "no view is counted twice");
                promise(numbers.resolves_per_eviction == 1, "one eviction causes one resolve");
                let first_read = numbers.first_read_ms.unwrap_or(u128::MAX);
                promise(first_read < THAW.as_millis(), "reads are answered before the old address thaws");
            }
            promise(numbers.writes_abandoned == 0, "no write is given up before it has failed");
            promise(numbers.calls_suspected_twice == 0, "no call is suspected twice");
            if *contender == Contender::RecoverySuspicion && *fault == Fault::Freezes {
                let first_read = numbers.first_read_ms.unwrap_or(u128::MAX);
                promise(
                    first_read <= (SUSPECT_AFTER + ALLOWANCE).as_millis(),
                    "a read suspects a frozen handle in time",
                );
                let (look_ups, given_up) = (numbers.look_ups_by_suspicion, numbers.reads_given_up);
                promise(given_up > 0, "reads are given up on a frozen handle");
                promise((1..=MOST_LOOK_UPS).contains(&look_ups), "reads that wait share their look-ups");
            }
            if *contender == Contender::RetryAll && *fault == Fault::Freezes {
                promise(numbers.writes_executed_twice > 0, "who retries and hopes executes writes twice");
            }
        }
        broken
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            formatter,
            "The stale handle: an artifact manager registers anew, and its old address freezes or refuses."
        )?;
        writeln!(
            formatter,
            "1,000 callers; timeout {TIMEOUT:?} (recovery_deadline: deadline {DEADLINE:?}; recovery_suspicion: after {SUSPECT_AFTER:?}); the frozen address thaws after {THAW:?}."
        )?;
        for fault in Fault::ALL {
            writeln!(formatter, "\nthe old address {}", fault.name())?;
            write!(formatter, "  {:<28}", "")?;
            for contender in Contender::ALL {
                write!(formatter, "{:>20}", contender.name())?;
            }
            writeln!(formatter)?;
            for (label, number) in ROWS {
                write!(formatter, "  {label:<28}")?;
                for (_, _, numbers) in self.rows.iter().filter(|(of, ..)| *of == fault) {
                    write!(formatter, "{:>20}", number(numbers))?;
                }
                writeln!(formatter)?;
            }
        }
        Ok(())
    }
}

type Row = (&'static str, fn(&Numbers) -> String);

const ROWS: [Row; 14] = [
    ("reads", |numbers| numbers.reads.to_string()),
    ("writes", |numbers| numbers.writes.to_string()),
    ("writes in flight at fault", |numbers| numbers.writes_in_flight_at_fault.to_string()),
    ("status calls failed", |numbers| numbers.status_failed.to_string()),
    ("reads failed", |numbers| numbers.reads_failed.to_string()),
    ("writes uncertain", |numbers| numbers.writes_uncertain.to_string()),
    ("writes abandoned", |numbers| numbers.writes_abandoned.to_string()),
    ("writes executed twice", |numbers| numbers.writes_executed_twice.to_string()),
    ("views counted twice", |numbers| numbers.views_counted_twice.to_string()),
    ("resolves per eviction", |numbers| numbers.resolves_per_eviction.to_string()),
    ("look-ups by suspicion", |numbers| numbers.look_ups_by_suspicion.to_string()),
    ("reads given up", |numbers| numbers.reads_given_up.to_string()),
    ("first read answered, ms", |numbers| numbers.first_read_ms.map_or_else(|| "never".into(), |ms| ms.to_string())),
    ("no read answered for, ms", |numbers| numbers.unavailable_ms.to_string()),
];
