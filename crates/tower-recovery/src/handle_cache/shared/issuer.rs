//! The cache as its leases see it.

use std::sync::Arc;

use futures_util::FutureExt;

use super::Shared;
use crate::{
    Acquire, Generation, RecoveryEvent,
    handle_cache::state::LiveHandle,
    lease::Issuer,
    suspicion::{
        tick::{Tick, Turn},
        watch::{Current, Suspected},
    },
    sync::{Ordering, lock},
};

impl<Handle: Clone + Send + 'static> Issuer for Shared<Handle> {
    fn evict(&self, generation: Generation) -> bool {
        let has_served = self.served.load(Ordering::Relaxed) == generation.get();
        let mut core = lock(&self.core);
        let evicted = core.machine.evict(generation, has_served);
        self.publish(&core);
        drop(core);
        let Some(LiveHandle { identity, handle, .. }) = evicted else { return false };
        drop(handle);
        let name = Arc::clone(&self.settings.name);
        self.settings.reporter.report(&RecoveryEvent::HandleEvicted { name, identity, generation });
        true
    }

    fn has_served(&self, generation: Generation) {
        // Nothing else is read by what it says, so it orders nothing.
        self.served.fetch_max(generation.get(), Ordering::Relaxed);
    }

    fn current(self: Arc<Self>) -> Current {
        named(Acquire::new(self))
    }

    /// Whoever is due during a look-up shares it. Whoever begins one is heard.
    fn suspect(self: Arc<Self>, generation: Generation, due: u64) -> Suspected {
        let mut core = lock(&self.core);
        let Some(live) = core.machine.live_handle().filter(|live| live.generation == generation) else {
            // The registry has named another handle, or is asked for one.
            drop(core);
            return Suspected::Asking(self.current());
        };
        let identity = live.identity.clone();
        let begins = core.flight.is_none();
        if begins {
            match self.settings.suspicion.as_ref().map_or(Turn::Settled, |tick| tick.turn(due)) {
                Turn::Ask => {}
                Turn::Settled => return Suspected::Confirmed,
                Turn::Later(next) => return Suspected::Later(next),
            }
        }
        let joined = core.machine.look_up();
        let waiting = self.board(&mut core, joined);
        drop(core);
        let asking = Suspected::Asking(named(Acquire::seated(Arc::clone(&self), waiting)));
        if begins {
            let name = Arc::clone(&self.settings.name);
            self.settings.reporter.report(&RecoveryEvent::HandleSuspected { name, identity, generation });
        }
        asking
    }

    fn tick(&self) -> Option<&Arc<Tick>> {
        self.settings.suspicion.as_ref()
    }
}

/// Waits for a handle, and keeps only how it is named.
fn named<Handle: Clone + Send + 'static>(acquire: Acquire<Handle>) -> Current {
    acquire.map(|held| held.map(|held| (held.lease.generation(), held.lease.identity().clone()))).boxed()
}
