//! Who decides what goes wrong.

use super::Plan;

/// Gives each connection its plan.
///
/// Ready-made scripts: a closure `Fn(usize) -> Plan` of the connection's number, counted from 1 in the order of acceptance, and a list of
/// plans, one for each connection, with [`Plan::pass`] for all that come after.
pub trait CuttingScript: Send + Sync + 'static {
    /// The plan of the connection with this number, counted from 1.
    fn plan(&self, connection: usize) -> Plan;
}

impl<Decide> CuttingScript for Decide
where
    Decide: Fn(usize) -> Plan + Send + Sync + 'static,
{
    fn plan(&self, connection: usize) -> Plan {
        self(connection)
    }
}

impl<const LENGTH: usize> CuttingScript for [Plan; LENGTH] {
    fn plan(&self, connection: usize) -> Plan {
        plan_of(self, connection)
    }
}

impl CuttingScript for Vec<Plan> {
    fn plan(&self, connection: usize) -> Plan {
        plan_of(self, connection)
    }
}

fn plan_of(plans: &[Plan], connection: usize) -> Plan {
    plans.get(connection - 1).cloned().unwrap_or_default()
}
