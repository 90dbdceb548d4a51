//! How many repeats the calls of a client may make together.
//!
//! A cap on attempts bounds one call; when everything fails, it multiplies the load by the cap at the worst moment. A budget bounds the repeats of all
//! calls together to a share of the calls that are answered.
//!
//! # Examples
//!
//! A fifth of the answered calls, nothing in reserve:
//!
//! ```
//! use tower_recovery::{NamedRules, ReadMethods, ReadOnlyRetryLayer, ShareBudget};
//!
//! # fn main() -> Result<(), tower_recovery::InvalidSetting> {
//! let rules = NamedRules::new(|method: &&'static str| *method, ReadMethods::new());
//! let layer = ReadOnlyRetryLayer::new(rules)
//!     .budget(ShareBudget::builder().percent(20).reserve(0).ceiling(1_000).build()?);
//! # let _ = layer;
//! # Ok(())
//! # }
//! ```

mod deposits;
mod foreign;
mod permit;
mod share;

use std::{fmt, sync::Arc};

pub(crate) use self::deposits::Deposits;
pub use self::{
    foreign::TowerBudget,
    permit::RetryPermit,
    share::{ShareBudget, ShareBudgetBuilder},
};

/// Who sells the permits for repeats. Shared by all clones of a stack; share one among several stacks if they call the same peer.
///
/// None of its methods may block.
pub trait RetryBudget: fmt::Debug + Send + Sync {
    /// So many more calls were answered. It is told in batches, so that a call costs no shared write.
    fn deposit(&self, answered: u32);

    /// Sells one permit, if there is enough for one.
    fn withdraw(&self) -> bool;

    /// Takes back a permit that was not used.
    fn give_back(&self);
}

/// One budget for several layers: give each a clone of the `Arc`.
impl<Budget: RetryBudget + ?Sized> RetryBudget for Arc<Budget> {
    fn deposit(&self, answered: u32) {
        (**self).deposit(answered);
    }

    fn withdraw(&self) -> bool {
        (**self).withdraw()
    }

    fn give_back(&self) {
        (**self).give_back();
    }
}
