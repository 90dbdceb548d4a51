//! Servers that are programs of their own: found, started at free ports, and killed with the value that stands for them.
//!
//! Where a program is not installed, the tests that need it say so and pass; under CI they fail.

pub(crate) mod nginx;

use std::{
    fs,
    net::SocketAddr,
    path::Path,
    process::{Command, Stdio},
};

use tempfile::TempDir;
use tower_recovery_test::process;
pub(crate) use tower_recovery_test::process::Process;

/// A server that runs. Its configuration and its logs are in a directory of its own, which stays where a test has failed.
pub(crate) struct Server {
    // Before `directory`, so that it is gone when its files go.
    _process: Process,
    directory: TempDir,
}

/// What is run, and how it is told.
pub(crate) struct Program<'name, Configuration> {
    pub(crate) name: &'name str,
    /// What its configuration file says, for this directory.
    pub(crate) configuration: Configuration,
    /// Its arguments, for that file and this directory.
    pub(crate) arguments: fn(&Path, &Path) -> Vec<String>,
}

impl Server {
    /// Starts a program that is to listen at these addresses; `None` where it is not installed and need not be.
    pub(crate) async fn start<Configuration>(
        program: Program<'_, Configuration>,
        addresses: &[SocketAddr],
    ) -> Option<Self>
    where
        Configuration: FnOnce(&Path) -> String,
    {
        let Program { name, configuration, arguments } = program;
        let executable = process::installed(name)?;
        let directory = TempDir::with_prefix(name).expect("a temporary directory can be made");
        let path = directory.path();
        let file = path.join("configuration");
        fs::write(&file, configuration(path)).expect("the configuration can be written");

        let log = fs::File::create(path.join("output.log")).expect("the log can be made");
        let mut command = Command::new(executable);
        command.args(arguments(&file, path));
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("a file can be shared")).stderr(log);
        let mut process = Process::spawn(&mut command);
        for address in addresses {
            process.wait_until_it_listens(*address, path).await;
        }
        Some(Self { _process: process, directory })
    }

    #[allow(dead_code, reason = "not every server has files that a test looks at")]
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.directory.disable_cleanup(true);
            eprintln!("the logs are in {}", self.directory.path().display());
        }
    }
}
