//! tower layers that recover calls without ever repeating a write.

mod resolved;

pub use crate::resolved::{Identity, Resolved};
