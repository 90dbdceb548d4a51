//! How the proxies are configured: HTTP/1 and HTTP/2 in front, HTTP/1 with connections kept alive behind.

use std::{net::SocketAddr, path::Path};

use crate::servers::nginx;

/// Which proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Nginx,
    /// With this `http-reuse`: whether, and when, connections to the backend serve several clients.
    Haproxy {
        reuse: &'static str,
    },
}

impl Kind {
    pub(crate) const HAPROXY: Self = Self::Haproxy { reuse: "always" };

    pub(crate) fn program(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
            Self::Haproxy { .. } => "haproxy",
        }
    }

    pub(crate) fn arguments(self) -> fn(&Path, &Path) -> Vec<String> {
        match self {
            Self::Nginx => nginx::arguments,
            Self::Haproxy { .. } => |file, _| vec!["-db".into(), "-f".into(), file.display().to_string()],
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Addresses {
    pub(crate) http1: SocketAddr,
    pub(crate) http2: SocketAddr,
    pub(crate) backend: SocketAddr,
}

pub(crate) fn configuration(kind: Kind, addresses: Addresses, directory: &Path) -> String {
    match kind {
        Kind::Nginx => nginx(addresses, directory),
        Kind::Haproxy { reuse } => haproxy(addresses, reuse),
    }
}

fn nginx(Addresses { http1, http2, backend }: Addresses, directory: &Path) -> String {
    let http = format!(
        "access_log {}/access.log;
        upstream backend {{
            server {backend} max_fails=0;
            keepalive 32;
        }}
        server {{
            listen {http1};
            listen {http2} http2;
            location / {{
                proxy_pass http://backend;
                proxy_http_version 1.1;
                proxy_set_header connection \"\";
            }}
        }}",
        directory.display()
    );
    nginx::configuration(directory, &http)
}

/// Without pauses before it says that nobody listens behind it; everything else is as it comes.
fn haproxy(Addresses { http1, http2, backend }: Addresses, reuse: &str) -> String {
    format!(
        "defaults
            mode http
            timeout connect 2s
            timeout client 30s
            timeout server 30s
            retries 0
        frontend front
            bind {http1}
            bind {http2} proto h2
            default_backend back
        backend back
            http-reuse {reuse}
            server only {backend}\n"
    )
}
