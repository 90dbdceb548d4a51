//! Hypha for [`tower_recovery`]: an RPC client over Hypha's websocket as tower services.

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
mod manager;
mod registrar;
mod remote_error;
mod remote_service;
mod resolver;
mod rules;
mod service_id;
mod serving;
mod wire;

pub use rmpv::{Value, ext::from_value};

pub use crate::{
    call::{Call, UnencodableValue},
    classifier::HyphaClassifier,
    client::{BuildError, CallFuture, HyphaClient, HyphaClientBuilder, PeerCall, StartError},
    connection::{ConnectionStatus, InvalidServerUrl},
    error::{CallError, ConnectError, Place},
    front_door::{HyphaFrontDoor, HyphaRecovery, HyphaStack},
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
