//! HTTP/2: the frames are the `h2` crate's, but for those that it would not write.
//!
//! The crate reads and writes a [`Pipe`](pipe::Pipe) in memory, and a [`Pump`](pump::Pump) carries the bytes between that and the socket. So
//! a whole connection can be frozen, frames can be counted, cut, or slipped in, and the connection can be ended at any of them. All of
//! this happens in one task, the connection's, so that nothing of it runs on when that is dropped.

mod answer;
mod connection;
mod frames;
mod pipe;
mod pump;
mod stream;
mod streaming;

use crate::Gate;

/// How a server speaks HTTP/2.
#[derive(Debug)]
pub(super) struct Http2Options {
    pub(super) max_concurrent_streams: Option<u32>,
    /// Nothing is written before it is open.
    pub(super) settings_gate: Gate,
}

impl Default for Http2Options {
    fn default() -> Self {
        let settings_gate = Gate::new();
        settings_gate.open();
        Self { max_concurrent_streams: None, settings_gate }
    }
}
