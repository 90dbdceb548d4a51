//! What goes wrong, and where it arose.

mod call;
mod connect;

pub use self::{
    call::{CallError, Place},
    connect::ConnectError,
};
