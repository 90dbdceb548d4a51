//! A directory of files that nginx serves.

use std::{
    fs,
    net::SocketAddr,
    path::PathBuf,
    time::{Duration, SystemTime},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tower_recovery_test::{FaultyServer, faulty::RefusedAddress};

use crate::servers::{Program, Server, nginx};

/// nginx with files.
pub(crate) struct Files {
    server: Server,
    address: RefusedAddress,
}

/// What a file is, at some time.
pub(crate) struct Version<'contents> {
    pub(crate) contents: &'contents [u8],
    /// When it was written. nginx makes its entity tag of this second and of the length: two versions of one length and one second have the same.
    pub(crate) second: u64,
}

impl Files {
    /// Serves files, by these directives besides the usual ones; `None` where nginx is not installed and need not be.
    pub(crate) async fn serve(directives: &str) -> Option<Self> {
        let address = FaultyServer::refused_address().expect("there are free ports");
        let program = Program {
            name: "nginx",
            configuration: |directory: &std::path::Path| {
                let http = format!(
                    "log_format asked '$http_x_request_id $status $http_range';
                    server {{
                        listen {};
                        access_log {1}/asked asked;
                        root {1}/files;
                        {directives}
                    }}",
                    address.address(),
                    directory.display()
                );
                fs::create_dir(directory.join("files")).expect("the directory is new");
                nginx::configuration(directory, &http)
            },
            arguments: nginx::arguments,
        };
        let server = Server::start(program, &[address.address()]).await?;
        Some(Self { server, address })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address.address()
    }

    /// Puts a file there, in the place of the one before: who has that one open reads on in it.
    pub(crate) fn put(&self, name: &str, version: &Version<'_>) {
        let beside = self.path("beside");
        fs::write(&beside, version.contents).expect("the disk is not full");
        let file = fs::File::options().write(true).open(&beside).expect("it was just written");
        let written = SystemTime::UNIX_EPOCH + Duration::from_secs(version.second);
        file.set_modified(written).expect("the file is ours");
        fs::rename(beside, self.path(name)).expect("they are in one directory");
    }

    pub(crate) fn remove(&self, name: &str) {
        fs::remove_file(self.path(name)).expect("it is there");
    }

    /// The statuses and the ranges of the requests with this id that nginx has answered or given up.
    pub(crate) fn asked_for(&self, id: &str) -> Vec<(String, String)> {
        let log = fs::read_to_string(self.server.directory().join("asked")).expect("nginx writes it");
        let of_the_id = log.lines().filter_map(|line| line.strip_prefix(id)?.strip_prefix(' '));
        of_the_id.filter_map(|line| line.split_once(' ')).map(|(status, range)| (status.into(), range.into())).collect()
    }

    /// How many bytes come before the body.
    pub(crate) async fn head_length(&self, name: &str) -> u64 {
        let mut stream = TcpStream::connect(self.address()).await.expect("nginx listens");
        let request = format!("HEAD /{name} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", self.address());
        stream.write_all(request.as_bytes()).await.expect("nginx reads");
        let mut head = Vec::new();
        stream.read_to_end(&mut head).await.expect("nginx closes in order");
        // Those for which it keeps its connections say so.
        let said = head.windows(17).any(|part| part == b"Connection: close");
        head.len() as u64 + if said { "keep-alive".len() as u64 - "close".len() as u64 } else { 0 }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.server.directory().join("files").join(name)
    }
}

/// As many bytes as that, the same ones for the same seed.
pub(crate) fn random_bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    fastrand::Rng::with_seed(seed).fill(&mut bytes);
    bytes
}
