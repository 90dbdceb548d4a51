//! The suite, for the version that the module above calls `library`.

mod auto_traits;
mod calls;
mod client;
mod ends;
mod proofs;
mod streams;

use super::{SEES_ENDS, adapter, bounded, door, library, server, streaming, unary, wire};
