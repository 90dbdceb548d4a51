//! What all tasks of one proxy share.

use std::net::SocketAddr;

use super::{CuttingScript, Direction};
use crate::counter::Counter;

pub(super) struct Shared {
    pub(super) upstream: SocketAddr,
    pub(super) script: Box<dyn CuttingScript>,
    pub(super) counts: Counts,
}

#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) connections: Counter,
    pub(super) open: Counter,
    pub(super) cuts: Counter,
    /// Freezes that wait for a thaw.
    pub(super) frozen: Counter,
    pub(super) thaws: Counter,
    bytes_to_server: Counter,
    bytes_to_client: Counter,
}

impl Counts {
    pub(super) fn bytes(&self, direction: Direction) -> &Counter {
        match direction {
            Direction::ToServer => &self.bytes_to_server,
            Direction::ToClient => &self.bytes_to_client,
        }
    }
}
