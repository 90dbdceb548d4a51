//! What the registry knows: the truth.

/// One id, and who serves under it.
#[derive(Default)]
pub(super) struct Registry {
    /// It takes a new connection in place of what is left of an old one.
    pub(super) works: bool,
    made: u32,
    /// Those of this process that the registry takes for alive.
    connections: Vec<u32>,
    owner: Option<Owner>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Process { connection: u32 },
    Another,
}

impl Registry {
    /// A connection, unless one is there.
    pub(super) fn accept(&mut self) -> Option<u32> {
        if self.works {
            std::mem::take(&mut self.connections).into_iter().for_each(|left| self.end(left));
        }
        if !self.connections.is_empty() {
            return None;
        }
        self.made += 1;
        self.connections.push(self.made);
        Some(self.made)
    }

    /// Takes nothing from another owner, and nothing over a connection that ended.
    pub(super) fn register(&mut self, connection: u32) -> Option<()> {
        if self.owner == Some(Owner::Another) || !self.connections.contains(&connection) {
            return None;
        }
        self.owner = Some(Owner::Process { connection });
        Some(())
    }

    pub(super) fn end(&mut self, connection: u32) {
        self.connections.retain(|&left| left != connection);
        if self.serves(connection) {
            self.owner = None;
        }
    }

    pub(super) fn forget_process(&mut self) {
        if let Some(Owner::Process { .. }) = self.owner {
            self.owner = None;
        }
    }

    pub(super) fn repair(&mut self, connection: u32) {
        if self.owner.is_none() {
            self.connections = vec![connection];
            self.owner = Some(Owner::Process { connection });
        }
    }

    /// Ends the connections that nobody holds.
    pub(super) fn reap(&mut self, held: &[u32]) {
        let left: Vec<u32> = self.connections.iter().copied().filter(|left| !held.contains(left)).collect();
        left.into_iter().for_each(|left| self.end(left));
    }

    pub(super) fn another(&mut self, comes: bool) {
        if comes {
            self.owner = Some(Owner::Another);
        } else if self.serves_another() {
            self.owner = None;
        }
    }

    pub(super) fn serves(&self, connection: u32) -> bool {
        self.owner == Some(Owner::Process { connection })
    }

    pub(super) fn serves_another(&self) -> bool {
        self.owner == Some(Owner::Another)
    }

    pub(super) fn connections(&self) -> usize {
        self.connections.len()
    }
}
