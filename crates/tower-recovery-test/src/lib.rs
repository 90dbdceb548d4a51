//! A test kit for clients that must recover, and must not do a thing twice.
//!
//! | To stand in for | take |
//! |---|---|
//! | a server that dies at the worst moment, on a real socket | [`FaultyServer`] |
//! | one that streams its answers, and cuts them or falls silent | [`FaultyServer`], with [streams] |
//! | a network that loses a connection after any byte | [`CuttingProxy`] |
//! | one that refuses streams or goes away, on HTTP/2 (feature `http2`) | [`FaultyServer`], with acts of HTTP/2 |
//! | one with a bad certificate, or a handshake that is cut (feature `tls`) | [`FaultyServer`], with a certificate of an own [authority] |
//! | a registry that answers, fails, hangs or panics by a script | [`ScriptedResolver`] |
//! | a server that is a program of its own, to be frozen and killed (feature `process`) | `process::Process` |
//! | Hypha: the real server, Python clients, an artifact manager (feature `hypha`) | `hypha::HyphaServer` |
//! | a registry in memory | [`Registry`] |
//! | a handle without a network | [`ScriptedService`] |
//! | an event stream without a network | [`ScriptedStream`] |
//! | a service that minds being called unready | [`ReadinessProbe`] |
//! | a service that is slow to become ready | [`ScriptedReadiness`] |
//!
//! [authority]: faulty#tls
//! [streams]: faulty#streams
//!
//! Everything that happens is an event that a test can wait for (`wait_until_…`), or one that it lets happen itself (a [`Gate`], a
//! [`thaw`](FaultyServer::thaw)): no test needs to sleep.
//!
//! # Examples
//!
//! A server that executes a request and dies before it answers. The client sees nothing of an answer, and the log shows that there is
//! one execution all the same:
//!
//! ```
//! use tokio::io::{AsyncReadExt, AsyncWriteExt};
//! use tower_recovery_test::{Act, FaultyServer};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! let server = FaultyServer::builder().script([Act::RunThenClose]).start().await?;
//!
//! let mut client = tokio::net::TcpStream::connect(server.address()).await?;
//! let request = b"POST /orders HTTP/1.1\r\nhost: orders\r\nx-request-id: order-7\r\ncontent-length: 0\r\n\r\n";
//! client.write_all(request).await?;
//!
//! let mut seen = Vec::new();
//! client.read_to_end(&mut seen).await?;
//! assert!(seen.is_empty());
//! assert_eq!(server.executed("order-7"), 1);
//! # Ok(())
//! # }
//! ```
//!
//! A resolver that first names an instance, then keeps its callers waiting until the test lets it answer:
//!
//! ```
//! use tower::ServiceExt;
//! use tower_recovery_test::{Gate, ScriptedResolver, Step};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let gate = Gate::new();
//! let resolver = ScriptedResolver::new([
//!     Step::resolved("instance-1", "old handle"),
//!     Step::resolved("instance-2", "new handle").behind(&gate),
//! ]);
//!
//! let first = resolver.clone().oneshot("orders").await.unwrap();
//! assert_eq!(first.handle, "old handle");
//!
//! let second = tokio::spawn(resolver.clone().oneshot("orders"));
//! resolver.wait_until_in_flight(1).await;
//! gate.open();
//! assert_eq!(second.await.unwrap().unwrap().handle, "new handle");
//! # }
//! ```

mod counter;
pub mod cutting;
pub mod faulty;
mod gate;
#[cfg(feature = "hypha")]
pub mod hypha;
mod listening;
mod lock;
#[cfg(feature = "process")]
pub mod process;
pub mod readiness;
pub mod registry;
pub mod resolver;
mod script;
pub mod service;
pub mod step;
pub mod stream;

pub use crate::{
    cutting::CuttingProxy,
    faulty::{Act, ConnectionAct, FaultyServer},
    gate::Gate,
    readiness::{ReadinessCounts, ReadinessProbe, ReadyStep, ScriptedReadiness},
    registry::{NotRegistered, Registry, RegistryResolver},
    resolver::ScriptedResolver,
    script::ScriptedFuture,
    service::ScriptedService,
    step::{BoxError, Step},
    stream::{ScriptedStream, StreamHandle},
};
