//! Hypha for [`tower_recovery`]: an RPC client over Hypha's websocket as tower services.

#[cfg(fuzzing)]
pub mod fuzzing;
mod remote_error;
// Until the client reads and writes with it.
#[allow(dead_code, unused_imports)]
mod wire;

pub use remote_error::RemoteError;
pub use wire::MalformedFrame;
