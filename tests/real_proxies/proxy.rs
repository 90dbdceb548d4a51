//! A proxy as a process of its own, which ends with the value that stands for it.

use std::{
    env, fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use tempfile::TempDir;
use tokio::{
    net::TcpStream,
    time::{Instant, sleep},
};
use tower_recovery_http::Protocol;
use tower_recovery_test::{FaultyServer, faulty::RefusedAddress};

use super::proxy_config::{Addresses, Kind, command_line, configuration};

const READY_WITHIN: Duration = Duration::from_secs(20);

/// A proxy that runs. Its configuration and its logs are in a directory of its own, which stays where a test has failed.
pub(crate) struct RealProxy {
    process: Process,
    directory: TempDir,
    http1: RefusedAddress,
    http2: RefusedAddress,
}

impl RealProxy {
    /// Starts a proxy before this backend; `None` where it is not installed and need not be.
    pub(crate) async fn start(kind: Kind, backend: SocketAddr) -> Option<Self> {
        let program = installed(kind)?;
        let directory = TempDir::with_prefix(kind.program()).expect("a temporary directory can be made");
        // Nobody else is given these ports before the proxy listens there.
        let [http1, http2] = [(), ()].map(|()| FaultyServer::refused_address().expect("there are free ports"));
        let addresses = Addresses { http1: http1.address(), http2: http2.address(), backend };
        let file = directory.path().join("configuration");
        fs::write(&file, configuration(kind, addresses, directory.path())).expect("the configuration can be written");

        let log = fs::File::create(directory.path().join("output.log")).expect("the log can be made");
        let mut command = Command::new(program);
        command.args(command_line(kind, &file, directory.path()));
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("a file can be shared")).stderr(log);
        let mut proxy = Self { process: Process::spawn(&mut command), directory, http1, http2 };
        for address in [addresses.http1, addresses.http2] {
            proxy.process.wait_until_it_listens(address, proxy.directory.path()).await;
        }
        Some(proxy)
    }

    pub(crate) fn address(&self, protocol: Protocol) -> SocketAddr {
        match protocol {
            Protocol::Http1 => self.http1.address(),
            Protocol::Http2 => self.http2.address(),
            other => panic!("no proxy listens for {other:?}"),
        }
    }
}

impl Drop for RealProxy {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.directory.disable_cleanup(true);
            eprintln!("the logs are in {}", self.directory.path().display());
        }
    }
}

/// A process that is killed when this is dropped.
pub(crate) struct Process(Child);

impl Process {
    pub(crate) fn spawn(command: &mut Command) -> Self {
        Self(command.spawn().unwrap_or_else(|error| panic!("{command:?} does not start: {error}")))
    }

    /// Kills it at once, as a crash would, and waits until it is gone.
    pub(crate) fn kill(&mut self) {
        // Fails if it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    /// There is no event to wait for in another process, so this asks until it is there.
    pub(crate) async fn wait_until_it_listens(&mut self, address: SocketAddr, logs: &Path) {
        let deadline = Instant::now() + READY_WITHIN;
        while TcpStream::connect(address).await.is_err() {
            let ended = self.0.try_wait().expect("it is a child of this process");
            if ended.is_some() || Instant::now() > deadline {
                panic!("nobody listens at {address}; status: {ended:?}\n{}", read_logs(logs));
            }
            sleep(Duration::from_millis(10)).await;
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

fn read_logs(directory: &Path) -> String {
    let files = fs::read_dir(directory).into_iter().flatten().flatten();
    files
        .filter(|file| file.path().extension().is_some_and(|extension| extension == "log"))
        .map(|file| fs::read_to_string(file.path()).unwrap_or_default())
        .collect()
}

/// Where the program is; distributions keep servers out of the `PATH` of ordinary users.
fn installed(kind: Kind) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from));
    let found = folders.map(|folder| folder.join(kind.program())).find(|program| program.is_file());
    if found.is_none() {
        let missing = format!(
            "{0} is not installed: `apt-get install --no-install-recommends {0}`, as .ci/install does",
            kind.program()
        );
        assert!(env::var_os("CI").is_none(), "{missing}");
        eprintln!("skipped: {missing}");
    }
    found
}
