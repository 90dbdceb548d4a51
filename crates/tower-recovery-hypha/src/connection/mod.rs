//! The connection to the server: made, kept alive, made again.
//!
//! ```text
//!            opened                        the server lets us in,
//!   Closed ─────────▶ Connecting ────────────────────────────────▶ Connected
//!     ▲                 │    ▲        what is offered is registered     │
//!     │     closed      │    │                                          │
//!     ├─────────────────┘    └──────────────────────────────────────────┤
//!     │                        lost: after a pause that grows           │
//!     └─────────────────────────────────────────────────────────────────┘ closed
//! ```

mod endpoint;
mod keep_alive;
mod open;
mod pacing;
mod reading;
mod session;
mod status;
mod supervisor;
mod tls;
mod tokens;
mod writing;

pub(crate) use self::{
    endpoint::Endpoint,
    keep_alive::Heard,
    open::Admission,
    pacing::Pace,
    reading::take,
    supervisor::{Reconnect, supervise},
    tls::Tls,
    tokens::Tokens,
    writing::{Outbox, Outgoing},
};
pub use self::{endpoint::InvalidServerUrl, status::ConnectionStatus};
