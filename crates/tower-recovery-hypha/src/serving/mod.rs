//! What this client offers to others.

mod answering;
mod built_in;
mod local_service;
mod offers;
mod services;

pub use self::local_service::{Invocation, LocalService, Visibility};
pub(crate) use self::{
    answering::{is_for_a_service, serve},
    built_in::registration as built_in_registration,
    local_service::{NONCE, map},
    services::Services,
};
