//! Server-sent events: whatever chunks they come in, on sockets, and what they cost.

mod allocations;
mod auto_traits;
mod chunks;
mod socket;
mod source;
mod written;
