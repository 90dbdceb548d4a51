//! The connection to the server: made, kept alive, made again.
//!
//! ```text
//!          opened              let in, and what is offered is registered
//!   Closed ───────▶ Connecting ─────────────────────────────────────────▶ Connected
//!     ▲               ▲   ▲ │                                              │    │
//!     │               │   │ │ refused for good                        lost │    │
//!     │    a longest  │   │ └─────────▶ Refused                            │    │
//!     │    pause later└───┼───────────────┘                                │    │
//!     │                   └────────────────────────────────────────────────┘    │
//!     └───────────────── Closing ◀──────────────────────────────────────────────┘
//!                                 closed, from everywhere
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
mod wanted;
mod writing;

pub(crate) use self::{
    endpoint::Endpoint,
    keep_alive::Heard,
    open::Admission,
    pacing::Pace,
    reading::take,
    status::Milestones,
    supervisor::{Reconnect, supervise},
    tls::Tls,
    tokens::Tokens,
    wanted::Wanted,
    writing::Outgoing,
};
pub use self::{endpoint::InvalidServerUrl, status::ConnectionStatus};
