//! What the driver polls by hand.

use std::{pin::Pin, sync::Arc};

use crate::{flag::Flag, record::Outcome};

/// A call or a refresh under way.
pub(crate) struct Task {
    pub(crate) future: Pin<Box<dyn Future<Output = Outcome> + Send>>,
    pub(crate) woken: Arc<Flag>,
    pub(crate) held: bool,
    pub(crate) refreshes: bool,
}
