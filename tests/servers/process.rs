//! Processes, and where their programs are.

use std::{
    env, fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command},
    time::Duration,
};

use tokio::{
    net::TcpStream,
    time::{Instant, sleep},
};

const READY_WITHIN: Duration = Duration::from_secs(20);

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
pub(super) fn installed(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from));
    let found = folders.map(|folder| folder.join(program)).find(|file| file.is_file());
    if found.is_none() {
        let missing = format!(
            "{program} is not installed: `apt-get install --no-install-recommends {program}`, as .ci/install does"
        );
        assert!(env::var_os("CI").is_none(), "{missing}");
        eprintln!("skipped: {missing}");
    }
    found
}
