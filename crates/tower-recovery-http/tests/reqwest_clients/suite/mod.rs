//! The suite, for the version that the module above calls `library`.

mod auto_traits;
mod calls;
mod client;
mod proofs;

use super::{adapter, bounded, door, library, server, streaming, unary};
