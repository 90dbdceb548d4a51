//! What services were asked for, and what they did.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::Deserialize;
use tokio::time::{Instant, sleep};

/// A method of a service as it was executed, or received.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Execution {
    event: String,
    /// Under which id its process was connected.
    pub client_id: String,
    /// Its process.
    pub pid: u32,
    /// The name of the method.
    pub method: String,
    /// What the caller gave as the keyword `request_id`.
    pub request_id: Option<String>,
    /// Who called it, as `workspace/client`.
    pub caller: Option<String>,
    /// Of the artifact manager: the artifact, or the collection, that it was about.
    pub artifact_id: Option<String>,
    /// Of the artifact manager: whether the caller asked not to be counted.
    #[serde(default)]
    pub silent: bool,
    /// Of the artifact manager: whether it counted a view.
    #[serde(default)]
    pub view: bool,
    /// The class of the error that it was told to raise instead of its work.
    pub raised: Option<String>,
}

/// The file that the processes of a server write to.
#[derive(Debug)]
pub(super) struct Ledger(PathBuf);

const WITHIN: Duration = Duration::from_secs(60);

impl Ledger {
    pub(super) fn new(directory: &Path) -> Self {
        Self(directory.join("ledger"))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    pub(super) fn executed(&self) -> Vec<Execution> {
        self.read("executed")
    }

    pub(super) fn received(&self) -> Vec<Execution> {
        self.read("received")
    }

    /// Asks until it is so: there is no event to wait for in a file.
    pub(super) async fn wait_until(&self, event: &str, method: &str, times: usize) {
        let deadline = Instant::now() + WITHIN;
        loop {
            let seen = self.read(event);
            if seen.iter().filter(|one| one.method == method).count() >= times {
                return;
            }
            assert!(Instant::now() < deadline, "{method} was not {event} {times} times within {WITHIN:?}: {seen:#?}");
            sleep(Duration::from_millis(10)).await;
        }
    }

    fn read(&self, event: &str) -> Vec<Execution> {
        let text = match fs::read_to_string(&self.0) {
            Ok(text) => text,
            // Nobody has written yet.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => panic!("the ledger cannot be read: {error}"),
        };
        // A line whose end is not there yet is not written yet.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let lines = whole.lines().map(|line| {
            serde_json::from_str::<Execution>(line).unwrap_or_else(|error| panic!("{error} in the ledger: {line}"))
        });
        lines.filter(|line| line.event == event).collect()
    }
}
