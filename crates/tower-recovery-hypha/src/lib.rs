//! Hypha for [`tower_recovery`]: an RPC client over Hypha's websocket as tower services, with what recovers its calls and its registration.
//!
//! [Hypha](https://github.com/amun-ai/hypha) passes calls between clients that register services with it. A client here is a [`HyphaClient`], over one websocket that it keeps alive and makes again. Three things stand on it:
//!
//! | what | for |
//! |---|---|
//! | [`Recovery::hypha`](HyphaFrontDoor::hypha) | calls of somebody else's service, recovered: the stack whose handle is a [`RemoteService`] |
//! | [`LocalService`] | offering a service, to Rust, Python and JavaScript alike |
//! | [`HyphaRegistrar`] | a [`RegistrationProbe`](tower_recovery::RegistrationProbe) over what is offered |
//!
//! A handle points at one client of a service, and not at its name. When that client comes back under another id, or freezes while the registry still lists it, the stack evicts the handle and finds another client, once, however many
//! callers wait; a call that may have executed is repeated only if its method reads. [`artifact_manager`] has the methods of Hypha's own.
//!
//! # Examples
//!
//! ```no_run
//! use std::time::Duration;
//! use tower::{Service, ServiceExt};
//! use tower_recovery::{Recovery, RegistrationProbe};
//! use tower_recovery_hypha::{Call, HyphaClient, HyphaFrontDoor, HyphaRegistrar, LocalService, ServiceId, Value};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! let client = HyphaClient::builder("https://hypha.example").token("a token").client_id("worker-7").connect().await?;
//!
//! // What this process offers, and the probe that keeps it registered.
//! client.offer(LocalService::new("worker")?.method("status", |_| async { Ok(Value::from("busy")) })).await?;
//! let (registrar, connection) = HyphaRegistrar::new(client.clone());
//! let probe = RegistrationProbe::builder(registrar).connection(connection).build()?;
//! let monitor = probe.monitor();
//! tokio::spawn(client.report_to(monitor.clone()));
//! tokio::spawn(probe.run());
//!
//! // What it calls.
//! let id: ServiceId = "public/artifact-manager".parse()?;
//! let mut artifacts = Recovery::hypha(&client, id)
//!     .artifact_manager()
//!     .suspect_after(Duration::from_secs(2))
//!     .reporting_to(monitor)
//!     .build()?;
//! let read = Call::new("read").arg("public/my-artifact").keyword("stage", true);
//! println!("{}", artifacts.ready().await?.call(read).await?);
//! # Ok(())
//! # }
//! ```
//!
//! # What an error proves
//!
//! A [`CallError`] says where it arose, and [`HyphaClassifier`] has the table of what follows from that. Hypha itself tells of what its server refused only in words; two of its sentences are matched, as a whole and for
//! this call's callee alone, on frames that no client can forge. What a callee raises is its answer, whatever it says.
//!
//! Over Hypha's HTTP API an answer proves less: [`http_verdict`] has its table.
//!
//! # What it does not speak
//!
//! Payloads that are encrypted from end to end; and values that stand for something else than data. A function, a generator, an array of numpy comes, and goes, as the map by which Hypha describes it (`_rtype`). A map with other keys than texts and bytes is sent as it is, but
//! `hypha-rpc` leaves out a frame that holds one: the call is never answered.
//!
//! TLS is the feature `rustls`.

mod announcing;
pub mod artifact_manager;
mod call;
mod calls;
mod classifier;
mod client;
mod connection;
mod error;
mod front_door;
#[cfg(fuzzing)]
pub mod fuzzing;
mod http_answer;
mod manager;
mod registrar;
mod remote_error;
mod remote_service;
mod resolver;
mod rules;
mod secret;
mod service_id;
mod serving;
mod text;
mod wire;

pub use rmpv::{Value, ext::from_value};

pub use crate::{
    call::{Call, UnencodableValue},
    classifier::HyphaClassifier,
    client::{BuildError, CallFuture, HyphaClient, HyphaClientBuilder, PeerCall, StartError, WeakHyphaClient},
    connection::{ConnectionStatus, InvalidServerUrl},
    error::{CallError, ConnectError, Place},
    front_door::{HyphaFrontDoor, HyphaRecovery, HyphaStack},
    http_answer::http_verdict,
    manager::ServiceInfo,
    registrar::{HyphaRegistrar, OpenClient},
    remote_error::RemoteError,
    remote_service::RemoteService,
    resolver::{HyphaResolver, ResolveServiceError, ServiceQuery},
    rules::HyphaRules,
    service_id::{InvalidServiceId, SelectionMode, ServiceId},
    serving::{Invocation, LocalService, Visibility},
    wire::MalformedFrame,
};
