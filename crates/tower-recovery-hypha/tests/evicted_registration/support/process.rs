//! A worker in a process of its own, which can be frozen: this very test binary, told to run one test.

use std::{
    env,
    io::{self, BufRead, BufReader, Read},
    process::{ChildStdin, Command, Stdio},
    thread,
    time::Duration,
};

use tokio::{sync::watch, time::timeout};
use tower_recovery_test::process::Process;

use super::{Probing, Settings, start};

const SETTINGS: [&str; 3] = ["WORKER_URL", "WORKER_TOKEN", "WORKER_CLIENT_ID"];
const CONFIRMED: &str = "confirmed rebuilds: ";

/// Not a test of its own: what [`spawn`] runs. Started by anybody else it has nothing to do.
#[tokio::test]
async fn the_worker_of_another_test_runs() {
    let [Ok(url), Ok(token), Ok(client_id)] = SETTINGS.map(env::var) else { return };
    // It ends when whoever started it does.
    thread::spawn(|| {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let mut worker = start(&Settings { url, token, client_id, probing: Probing::default() }).await;
    loop {
        println!("{CONFIRMED}{}", worker.monitor.status().confirmed);
        worker.monitor.changed().await.expect("the probe runs");
    }
}

/// A process with a worker, killed when this is dropped.
pub(crate) struct WorkerProcess {
    process: Process,
    confirmed: watch::Receiver<Option<u64>>,
    /// Its end is the worker's.
    _input: ChildStdin,
}

/// Starts it, and waits until it has connected and registered.
pub(crate) async fn spawn(settings: &Settings) -> WorkerProcess {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "support::process::the_worker_of_another_test_runs", "--nocapture"]);
    command.envs(SETTINGS.into_iter().zip([&settings.url, &settings.token, &settings.client_id]));
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut process = Process::spawn(&mut command);
    let (input, output) = process.take_pipes().unwrap();
    let (sender, confirmed) = watch::channel(None);
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if let Some(number) = line.split(CONFIRMED).nth(1) {
                sender.send_replace(Some(number.parse().unwrap()));
            }
        }
    });
    let mut worker = WorkerProcess { process, confirmed, _input: input };
    worker.wait_until_confirmed(0).await;
    worker
}

impl WorkerProcess {
    /// Waits until its probe has seen that so many rebuilds have helped.
    pub(crate) async fn wait_until_confirmed(&mut self, rebuilds: u64) {
        let confirmed = self.confirmed.wait_for(|number| number.is_some_and(|number| number >= rebuilds));
        timeout(Duration::from_secs(30), confirmed).await.expect("it is registered in time").expect("it runs");
    }

    pub(crate) fn freeze(&mut self) {
        self.process.freeze();
    }

    pub(crate) fn thaw(&mut self) {
        self.process.thaw();
    }
}
