//! Processes of other programs: started, frozen, thawed and killed, and where their programs are.

use std::{
    collections::BTreeSet,
    env, fs,
    io::{self, Write},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::Mutex,
    time::Duration,
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use tokio::{
    net::TcpStream,
    time::{Instant, sleep},
};

use crate::lock::lock;

const READY_WITHIN: Duration = Duration::from_secs(20);

/// A process that is killed when this is dropped, frozen or not; and also when this whole process is killed, or interrupted at the keyboard.
#[derive(Debug)]
pub struct Process {
    child: Child,
    watchdog: Child,
}

/// Ends when its input does, which is when this process ends, however that comes; and kills the child then, which may be frozen and would never notice.
const WATCHDOG: &str = r#"trap "" INT TERM HUP; while read -r _; do :; done; kill -KILL "$0""#;

impl Process {
    /// Starts it.
    ///
    /// # Panics
    ///
    /// If it does not start.
    #[must_use]
    pub fn spawn(command: &mut Command) -> Self {
        let spawn = |command: &mut Command| {
            command.spawn().unwrap_or_else(|error| panic!("{command:?} does not start: {error}"))
        };
        let child = spawn(command);
        let mut watchdog = Command::new("sh");
        watchdog.args(["-c", WATCHDOG, &child.id().to_string()]);
        watchdog.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Self { child, watchdog: spawn(&mut watchdog) }
    }

    /// The process's number.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its standard input and output, if they are piped and were not taken yet.
    pub fn take_pipes(&mut self) -> Option<(ChildStdin, ChildStdout)> {
        Some((self.child.stdin.take()?, self.child.stdout.take()?))
    }

    /// Whether it has ended.
    ///
    /// # Panics
    ///
    /// If the system does not know it.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("it is a child of this process").is_some()
    }

    /// Kills it at once, as a crash would, and waits until it is gone.
    pub fn kill(&mut self) {
        // Each fails if it has ended already. The watchdog first: the child's number may be another process's once it was waited for.
        let _ = self.watchdog.kill();
        let _ = self.watchdog.wait();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Stops it as it stands, and waits until it does: its sockets stay open, and nobody reads from them.
    ///
    /// # Panics
    ///
    /// If it has ended.
    pub fn freeze(&mut self) {
        self.signal(Signal::STOP);
        // Its end is left for `kill` to take.
        let options = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(Pid::from_child(&self.child)), options).expect("it is a child of this process");
    }

    /// Lets it go on after [`freeze`](Self::freeze).
    ///
    /// # Panics
    ///
    /// If it has ended.
    pub fn thaw(&mut self) {
        self.signal(Signal::CONT);
    }

    /// Waits until it listens there. There is no event to wait for in another process, so this asks until it is there.
    ///
    /// # Panics
    ///
    /// If it ends before, or takes longer than 20 s, with the text of all files `*.log` in the directory `logs`.
    pub async fn wait_until_it_listens(&mut self, address: SocketAddr, logs: &Path) {
        let deadline = Instant::now() + READY_WITHIN;
        while TcpStream::connect(address).await.is_err() {
            let ended = self.child.try_wait().expect("it is a child of this process");
            if ended.is_some() || Instant::now() > deadline {
                panic!("nobody listens at {address}; status: {ended:?}\n{}", read_logs(logs));
            }
            sleep(Duration::from_millis(10)).await;
        }
    }

    /// Only for a child that was not waited for: its number is nobody else's.
    fn signal(&mut self, signal: Signal) {
        assert!(!self.has_ended(), "process {} has ended", self.id());
        kill_process(Pid::from_child(&self.child), signal).expect("it is a child of this process");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Where the program is; distributions keep servers out of the `PATH` of ordinary users.
///
/// `None` where it is not installed, and says so.
///
/// # Panics
///
/// If it is not installed and the variable `CI` is set: there, no test may be left out unseen.
#[must_use]
pub fn installed(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from));
    let found = folders.map(|folder| folder.join(program)).find(|file| file.is_file());
    if found.is_none() {
        skip(&format!(
            "{program} is not installed: `apt-get install --no-install-recommends {program}`, as .ci/install does"
        ));
    }
    found
}

/// Says that a test is left out, which is a fault under CI. Once, and past the output that the test harness keeps of a test that passes.
pub(crate) fn skip(missing: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    assert!(env::var_os("CI").is_none(), "{missing}");
    if lock(&SAID).insert(missing.to_owned()) {
        // Where nobody reads it, nobody is told.
        let _ = writeln!(io::stderr(), "skipped: {missing}");
    }
}

pub(crate) fn read_logs(directory: &Path) -> String {
    let files = fs::read_dir(directory).into_iter().flatten().flatten();
    files
        .filter(|file| file.path().extension().is_some_and(|extension| extension == "log"))
        .map(|file| fs::read_to_string(file.path()).unwrap_or_default())
        .collect()
}
