//! Hypha for [`tower_recovery`]: an RPC client over Hypha's websocket as tower services.

mod announcing;
mod call;
mod calls;
mod client;
mod connection;
mod error;
mod manager;
mod remote_error;
mod remote_service;
mod service_id;
mod serving;
mod wire;

pub use rmpv::Value;

pub use crate::{
    call::Call,
    client::{BuildError, CallFuture, HyphaClient, HyphaClientBuilder, PeerCall, StartError},
    connection::{ConnectionStatus, InvalidServerUrl},
    error::{CallError, ConnectError, Place},
    manager::ServiceInfo,
    remote_error::RemoteError,
    remote_service::RemoteService,
    service_id::{InvalidServiceId, SelectionMode, ServiceId},
    serving::{Invocation, LocalService, Visibility},
    wire::MalformedFrame,
};
