//! A backend that can be killed: this test binary, started once more.

use std::{
    collections::HashMap,
    convert::Infallible,
    env, fs,
    io::{self, Read, Write},
    net::SocketAddr,
    process::{Command, Stdio},
    sync::Arc,
    thread,
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tempfile::TempDir;
use tokio::net::TcpSocket;
use tower_recovery_test::{FaultyServer, faulty::RefusedAddress};

use crate::servers::Process;

const ADDRESS: &str = "REAL_PROXIES_BACKEND_ADDRESS";
const LOG: &str = "REAL_PROXIES_BACKEND_LOG";

/// Between an execution and its answer, so that a kill finds requests there.
const WORK: Duration = Duration::from_millis(5);

/// A backend in a process of its own. What it has executed stands in a file, which outlives it.
pub(crate) struct Backend {
    process: Process,
    directory: TempDir,
    address: RefusedAddress,
}

impl Backend {
    pub(crate) async fn start() -> Self {
        let directory = TempDir::with_prefix("backend").expect("a temporary directory can be made");
        let address = FaultyServer::refused_address().expect("there are free ports");
        let process = spawn(address.address(), &directory);
        let mut backend = Self { process, directory, address };
        backend.wait_until_it_listens().await;
        backend
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address.address()
    }

    /// Kills it and starts it again, at the same address.
    pub(crate) async fn kill_and_restart(&mut self) {
        self.process.kill();
        self.process = spawn(self.address(), &self.directory);
        self.wait_until_it_listens().await;
    }

    /// How often each request was executed, by its id.
    pub(crate) fn executions(&self) -> HashMap<String, usize> {
        let log = fs::read_to_string(self.directory.path().join("executions")).unwrap_or_default();
        let mut executions = HashMap::new();
        for id in log.lines() {
            *executions.entry(id.to_owned()).or_default() += 1;
        }
        executions
    }

    async fn wait_until_it_listens(&mut self) {
        self.process.wait_until_it_listens(self.address.address(), self.directory.path()).await;
    }
}

fn spawn(address: SocketAddr, directory: &TempDir) -> Process {
    let (_crate, path) = module_path!().split_once("::").expect("this module is not the crate");
    let log = fs::File::create(directory.path().join("output.log")).expect("the log can be made");
    let mut command = Command::new(env::current_exe().expect("this program has a path"));
    command
        .args([&format!("{path}::a_backend_if_it_is_started_as_one"), "--exact", "--nocapture"])
        .env(ADDRESS, address.to_string())
        .env(LOG, directory.path().join("executions"))
        // It ends with this end of the pipe, also where the tests are killed.
        .stdin(Stdio::piped())
        .stdout(log.try_clone().expect("a file can be shared"))
        .stderr(log);
    Process::spawn(&mut command)
}

/// The other process: it serves until it is killed. Among the tests, it does nothing.
#[test]
fn a_backend_if_it_is_started_as_one() {
    let (Some(address), Some(log)) = (env::var(ADDRESS).ok(), env::var_os(LOG)) else { return };
    thread::spawn(|| {
        let _ = io::stdin().read(&mut [0]);
        std::process::exit(0);
    });
    let log = fs::OpenOptions::new().create(true).append(true).open(log).expect("the log can be opened");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(serve(address.parse().expect("an address"), Arc::new(log)));
}

async fn serve(address: SocketAddr, log: Arc<fs::File>) {
    let socket = TcpSocket::new_v4().expect("a socket");
    // The parent has reserved the port, and connections of the process before may linger.
    socket.set_reuseaddr(true).expect("the option is known");
    socket.bind(address).expect("the port is reserved for this process");
    let listener = socket.listen(1024).expect("nobody else listens there");
    loop {
        let (stream, _) = listener.accept().await.expect("there are descriptors enough");
        let log = Arc::clone(&log);
        let execute = service_fn(move |request| execute(request, Arc::clone(&log)));
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), execute));
    }
}

async fn execute(request: Request<Incoming>, log: Arc<fs::File>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    if body.collect().await.is_ok() {
        let id = head.headers["x-request-id"].to_str().expect("ids are ASCII");
        // One write of one line: it is there wholly or not at all, whenever the process is killed.
        (&*log).write_all(format!("{id}\n").as_bytes()).expect("the disk is not full");
        tokio::time::sleep(WORK).await;
    }
    Ok(Response::new(Full::from("done")))
}
