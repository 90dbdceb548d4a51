//! A place for one value of any type that can be emptied through a shared reference.

use std::any::Any;

use crate::sync::{Mutex, lock};

/// The mutex makes what it holds `Sync` whatever its type, and lets it be taken out of an error that somebody else's error wraps.
pub(crate) struct Slot(Mutex<Option<Box<dyn Any + Send>>>);

impl Slot {
    pub(crate) fn empty() -> Self {
        Self(Mutex::new(None))
    }

    pub(crate) fn holding<Value: Send + 'static>(value: Value) -> Self {
        Self::holding_erased(Box::new(value))
    }

    pub(crate) fn holding_erased(value: Box<dyn Any + Send>) -> Self {
        Self(Mutex::new(Some(value)))
    }

    /// Puts a value in, in the place of what was there.
    pub(crate) fn fill<Value: Send + 'static>(&self, value: Value) {
        *lock(&self.0) = Some(Box::new(value));
    }

    /// Takes the value if it is of this type, and leaves any other where it is.
    pub(crate) fn take<Value: 'static>(&self) -> Option<Value> {
        let mut slot = lock(&self.0);
        match slot.take()?.downcast() {
            Ok(value) => Some(*value),
            Err(other) => {
                *slot = Some(other);
                None
            }
        }
    }

    /// Moves whatever is held into a slot of its own.
    pub(crate) fn empty_out(&self) -> Self {
        Self(Mutex::new(lock(&self.0).take()))
    }
}
