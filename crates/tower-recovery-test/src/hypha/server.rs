//! The server's process.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Mutex,
    time::Duration,
};

use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{Instant, sleep, timeout},
};

use super::{Execution, HyphaServerBuilder, PeerBuilder, PythonError, PythonPeer, environment::python, ledger::Ledger};
use crate::{
    FaultyServer,
    faulty::RefusedAddress,
    lock::lock,
    process::{Process, read_logs},
};

const READY_WITHIN: Duration = Duration::from_secs(30);
const SCRIPTS: [(&str, &str); 3] = [
    ("peer.py", include_str!("peer.py")),
    ("artifact_manager.py", include_str!("artifact_manager.py")),
    ("ledger.py", include_str!("ledger.py")),
];

/// A Hypha server in a process of its own, killed when this is dropped. Its logs, and those of its peers, are in a directory that stays
/// where a test has failed.
#[derive(Debug)]
pub struct HyphaServer {
    // Before `directory`, so that it is gone when its files go.
    process: Mutex<Process>,
    /// Nobody else is given the port, also not between two starts.
    address: RefusedAddress,
    python: PathBuf,
    token: String,
    secret: Mutex<String>,
    variables: Vec<(String, String)>,
    ledger: Ledger,
    directory: TempDir,
}

impl HyphaServer {
    /// Starts one with the usual settings and waits until it is ready; `None` where it is not installed, which it says.
    ///
    /// # Panics
    ///
    /// If it is not ready within 30 s; if it is not installed and the variable `CI` is set.
    pub async fn start() -> Option<Self> {
        Self::builder().start().await
    }

    /// For other settings.
    pub fn builder() -> HyphaServerBuilder {
        HyphaServerBuilder::default()
    }

    pub(super) async fn launch(settings: HyphaServerBuilder) -> Option<Self> {
        let python = python()?;
        let directory = TempDir::with_prefix("hypha").expect("a temporary directory can be made");
        for (name, script) in SCRIPTS {
            fs::write(directory.path().join(name), script).expect("the script can be written");
        }
        let address = FaultyServer::refused_address().expect("there are free ports");
        let (token, secret) = (random_token(), random_token());
        let process = spawn(&python, directory.path(), &address, &token, &secret, &settings.variables);
        let server = Self {
            process: Mutex::new(process),
            address,
            python,
            token,
            secret: Mutex::new(secret),
            variables: settings.variables,
            ledger: Ledger::new(directory.path()),
            directory,
        };
        server.wait_until_ready().await;
        Some(server)
    }

    /// `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        self.address.origin()
    }

    /// The token of root, whose workspace is `ws-user-root`, and which is good for no other one.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Kills it, as a crash would.
    pub fn kill(&self) {
        lock(&self.process).kill();
    }

    /// Stops it as it stands: its connections stay open, and nobody reads from them.
    ///
    /// # Panics
    ///
    /// If it has ended.
    pub fn freeze(&self) {
        lock(&self.process).freeze();
    }

    /// Lets it go on.
    ///
    /// # Panics
    ///
    /// If it has ended.
    pub fn thaw(&self) {
        lock(&self.process).thaw();
    }

    /// Kills it, if it runs, starts it again at the same address with the same token and secret, and waits until it is ready. It has
    /// forgotten all services; reconnection tokens are good still.
    ///
    /// # Panics
    ///
    /// If it is not ready within 30 s.
    pub async fn restart(&self) {
        self.start_again();
        self.wait_until_ready().await;
    }

    /// The same with another secret: tokens for coming back, and those that root has given, are good for nothing any more.
    ///
    /// # Panics
    ///
    /// If it is not ready within 30 s.
    pub async fn restart_with_another_secret(&self) {
        *lock(&self.secret) = random_token();
        self.restart().await;
    }

    /// Waits until it says that it is ready.
    ///
    /// # Panics
    ///
    /// If it ends before, or takes longer than 30 s, with its logs.
    pub async fn wait_until_ready(&self) {
        let deadline = Instant::now() + READY_WITHIN;
        while !self.is_ready().await {
            let ended = lock(&self.process).has_ended();
            if ended || Instant::now() > deadline {
                panic!("the Hypha server is not ready; ended: {ended}\n{}", self.logs());
            }
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// A Python client in a process of its own, connected under this id in the workspace of root.
    ///
    /// # Errors
    ///
    /// What the server said to the connect.
    ///
    /// # Panics
    ///
    /// If it takes longer than 90 s.
    pub async fn peer(&self, client_id: &str) -> Result<PythonPeer, PythonError> {
        self.peer_builder(client_id).start().await
    }

    /// A Python client in another workspace, or with another token.
    pub fn peer_builder(&self, client_id: &str) -> PeerBuilder<'_> {
        PeerBuilder::new(self, client_id)
    }

    /// A [`peer`](Self::peer) that has registered the artifact manager in the workspace of root. In another workspace, take
    /// [`PythonPeer::register_artifact_manager`].
    ///
    /// # Errors
    ///
    /// What the server said to the connect or to the registration.
    ///
    /// # Panics
    ///
    /// If it takes longer than 90 s.
    pub async fn artifact_manager(&self, client_id: &str) -> Result<PythonPeer, PythonError> {
        let peer = self.peer(client_id).await?;
        peer.register_artifact_manager().await?;
        Ok(peer)
    }

    /// All that was executed by services of peers, in order, written before it took effect.
    ///
    /// # Panics
    ///
    /// If it cannot be read.
    #[must_use]
    pub fn ledger(&self) -> Vec<Execution> {
        self.ledger.executed()
    }

    /// All that came to services of peers, also what was never executed.
    ///
    /// # Panics
    ///
    /// If it cannot be read.
    #[must_use]
    pub fn received(&self) -> Vec<Execution> {
        self.ledger.received()
    }

    /// Waits until a method was executed so often.
    ///
    /// # Panics
    ///
    /// If it takes longer than 90 s.
    pub async fn wait_until_executed(&self, method: &str, times: usize) {
        self.ledger.wait_until("executed", method, times).await;
    }

    /// Waits until a method was received so often: it is delayed, hangs, or was executed.
    ///
    /// # Panics
    ///
    /// If it takes longer than 90 s.
    pub async fn wait_until_received(&self, method: &str, times: usize) {
        self.ledger.wait_until("received", method, times).await;
    }

    /// How many views of this artifact, or of this list, were counted.
    ///
    /// # Panics
    ///
    /// If the ledger cannot be read.
    #[must_use]
    pub fn views(&self, artifact_id: &str) -> usize {
        let ledger = self.ledger();
        ledger.iter().filter(|one| one.view && one.artifact_id.as_deref() == Some(artifact_id)).count()
    }

    /// What the server and its peers have logged.
    #[must_use]
    pub fn logs(&self) -> String {
        read_logs(self.directory())
    }

    pub(super) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// A process of the peers' script, which logs to this file.
    pub(super) fn spawn_peer(&self, log: &str) -> Process {
        let mut command = Command::new(&self.python);
        command.arg("peer.py").args([&self.url(), &self.token]).arg(self.ledger.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        prepare(&mut command, self.directory(), log);
        Process::spawn(&mut command)
    }

    fn start_again(&self) {
        let mut process = lock(&self.process);
        process.kill();
        *process =
            spawn(&self.python, self.directory(), &self.address, &self.token, &lock(&self.secret), &self.variables);
    }

    async fn is_ready(&self) -> bool {
        let answer = timeout(Duration::from_secs(2), async {
            let mut stream = TcpStream::connect(self.address.address()).await?;
            let request = "GET /health/readiness HTTP/1.1\r\nhost: hypha\r\nconnection: close\r\n\r\n";
            stream.write_all(request.as_bytes()).await?;
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).await?;
            std::io::Result::Ok(answer)
        });
        matches!(answer.await, Ok(Ok(answer)) if answer.starts_with(b"HTTP/1.1 200"))
    }
}

impl Drop for HyphaServer {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.directory.disable_cleanup(true);
            eprintln!("the logs are in {}", self.directory().display());
        }
    }
}

fn spawn(
    python: &Path,
    directory: &Path,
    address: &RefusedAddress,
    token: &str,
    secret: &str,
    variables: &[(String, String)],
) -> Process {
    let mut command = Command::new(python);
    let port = address.address().port().to_string();
    command.args([
        "-m",
        "hypha.server",
        "--host",
        "127.0.0.1",
        "--port",
        &port,
        "--root-token",
        token,
        "--server-id",
        "s1",
    ]);
    command.env("HYPHA_JWT_SECRET", secret);
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null());
    prepare(&mut command, directory, "server.log");
    // Its standard output is little and belongs with its log.
    let log = open_log(directory, "server.log");
    command.stdout(log);
    Process::spawn(&mut command)
}

fn prepare(command: &mut Command, directory: &Path, log: &str) {
    command.current_dir(directory).stderr(open_log(directory, log)).env("PYTHONUNBUFFERED", "1");
    // What it leaves behind there goes with the directory.
    command.env("TMPDIR", directory);
}

fn open_log(directory: &Path, name: &str) -> fs::File {
    let path = directory.join(name);
    fs::File::options().append(true).create(true).open(path).expect("the log can be made")
}

/// 64 characters: the server refuses shorter ones that contain a word by chance.
fn random_token() -> String {
    std::iter::repeat_with(fastrand::alphanumeric).take(64).collect()
}
