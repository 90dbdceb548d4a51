//! What is shown, and what must hold.

use std::fmt;

use serde_json::{Map, Value, json};

use super::{Contender, EVICTED, HEALTHY, INTERVAL, Numbers, PROCESSES, REBUILD, SPREAD};

pub(crate) struct Report {
    /// What each process came to.
    rows: Vec<(Contender, Vec<Numbers>)>,
}

impl Report {
    pub(crate) fn new(rows: Vec<(Contender, Vec<Numbers>)>) -> Self {
        Self { rows }
    }

    /// `<echo|recovery>`, the worst process of each.
    pub(crate) fn to_json(&self) -> Value {
        let worst = self.worst();
        worst.map(|(contender, numbers)| (contender.name().to_owned(), json!(numbers))).collect::<Map<_, _>>().into()
    }

    fn worst(&self) -> impl Iterator<Item = (Contender, Numbers)> {
        self.rows.iter().map(|(contender, processes)| {
            let (first, others) = processes.split_first().expect("each contender has processes");
            (*contender, others.iter().fold(first.clone(), Numbers::or_worse))
        })
    }

    /// What this example exists to show, and did not.
    pub(crate) fn broken_promises(&self) -> Vec<String> {
        let mut broken = Vec::new();
        for (contender, processes) in &self.rows {
            let mut promise = |what: &str, holds: &dyn Fn(&Numbers) -> bool| {
                let count = processes.iter().filter(|numbers| !holds(numbers)).count();
                if count > 0 {
                    broken.push(format!("{}: {what} ({count} of {PROCESSES} processes)", contender.name()));
                }
            };
            promise("a consumer is served until the eviction", &|numbers| numbers.served_until_eviction);
            promise("a consumer misses what was evicted", &|numbers| numbers.missing_s > 0.0);
            promise("an echo over an open socket stays green", &|numbers| numbers.red_echoes == 0);
            promise("no work is cancelled", &|numbers| numbers.work_cancelled == 0);
            promise("nothing condemns the process", &|numbers| !numbers.condemned);
            match contender {
                Contender::Echo => {
                    promise("who trusts an echo never comes back", &|numbers| !numbers.back && numbers.rebuilds == 0);
                    let to_the_end = |numbers: &Numbers| {
                        numbers.echo_green_while_missing_s + 1.5 * INTERVAL.as_secs_f64() > numbers.missing_s
                    };
                    promise("the echo is green for as long as the id is missing", &to_the_end);
                    promise("who trusts an echo asks no registry", &|numbers| numbers.lookups_per_interval == 0);
                }
                Contender::Recovery => {
                    let longest = (INTERVAL + SPREAD + REBUILD).as_secs_f64();
                    let in_time = |numbers: &Numbers| numbers.back && numbers.missing_s <= longest;
                    promise("back within an interval, the spread and a rebuild", &in_time);
                    promise("one eviction causes one rebuild", &|numbers| numbers.rebuilds == 1);
                    let once = |numbers: &Numbers| {
                        (numbers.fewest_lookups_per_interval, numbers.lookups_per_interval) == (1, 1)
                    };
                    promise("one look-up an interval while all is well", &once);
                }
            }
        }
        broken
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            formatter,
            "The evicted registration: a registry forgets {PROCESSES} processes at one moment, and every socket stays open."
        )?;
        writeln!(
            formatter,
            "Interval {INTERVAL:?}, spread up to {SPREAD:?}; {HEALTHY} intervals in health, {EVICTED} after the eviction. The worst process."
        )?;
        write!(formatter, "\n  {:<28}", "")?;
        for contender in Contender::ALL {
            write!(formatter, "{:>18}", contender.name())?;
        }
        writeln!(formatter)?;
        for (label, number) in ROWS {
            write!(formatter, "  {label:<28}")?;
            for (_, numbers) in self.worst() {
                write!(formatter, "{:>18}", number(&numbers))?;
            }
            writeln!(formatter)?;
        }
        Ok(())
    }
}

type Row = (&'static str, fn(&Numbers) -> String);

const ROWS: [Row; 7] = [
    ("echo green while missing, s", |numbers| format!("{:.2}", numbers.echo_green_while_missing_s)),
    ("missing, s", |numbers| format!("{:.2}", numbers.missing_s)),
    ("served again", |numbers| if numbers.back { "yes" } else { "never" }.to_owned()),
    ("rebuilds", |numbers| numbers.rebuilds.to_string()),
    ("look-ups per interval", |numbers| numbers.lookups_per_interval.to_string()),
    ("work cancelled", |numbers| numbers.work_cancelled.to_string()),
    ("condemned", |numbers| if numbers.condemned { "yes" } else { "no" }.to_owned()),
];
