//! A real Hypha server, Python clients of it, and an artifact manager, as processes that a test freezes, kills and starts again.
//!
//! | For | take |
//! |---|---|
//! | the server | [`HyphaServer`] |
//! | a client or a provider on `hypha-rpc`, in a process of its own | [`HyphaServer::peer`] |
//! | the artifact manager: the real one's methods and its rules of `silent` | [`HyphaServer::artifact_manager`] |
//! | methods that are slow, fail, hang or die | [`Behaviour`] |
//! | what was executed, also by processes that are gone | [`HyphaServer::ledger`] |
//!
//! `.ci/hypha` installs server and client into the target directory. Where that is not done, [`HyphaServer::start`] says so and gives
//! `None`; under CI it panics.
//!
//! # Services of a peer
//!
//! [`PythonPeer::register`] registers a service with three methods. Each takes a keyword `request_id`, which the ledger shows.
//!
//! | Method | answers |
//! |---|---|
//! | `echo` | its first argument |
//! | `echo_all` | `{"args": …, "kwargs": …}` |
//! | `write` | `request_id`; it stands for what must not be done twice |
//!
//! The artifact manager keeps artifacts in memory and counts their views. What it knows it reads from the ledger: a new instance goes on
//! where the last was killed. Each `commit` adds a version, so one that is repeated shows.
//!
//! # Examples
//!
//! ```no_run
//! use rmpv::Value;
//! use tower_recovery_test::hypha::{HyphaServer, no_keywords};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let Some(server) = HyphaServer::start().await else { return Ok(()) };
//! let worker = server.peer("worker").await?;
//! let id = worker.register("work").await?;
//!
//! let user = server.peer("user").await?;
//! assert_eq!(user.call(&id, "echo", [Value::from("book")], no_keywords()).await?, Value::from("book"));
//! assert_eq!(server.ledger().len(), 1);
//! # Ok(())
//! # }
//! ```

mod behaviour;
mod environment;
mod ledger;
mod peer;
mod pipe;
mod server;
mod settings;

pub use self::{
    behaviour::Behaviour,
    ledger::Execution,
    peer::{PeerBuilder, PythonHandle, PythonPeer},
    pipe::PythonError,
    server::HyphaServer,
    settings::HyphaServerBuilder,
};

/// No keyword arguments.
#[must_use]
pub const fn no_keywords() -> [(&'static str, rmpv::Value); 0] {
    []
}
