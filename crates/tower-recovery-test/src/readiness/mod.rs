//! Who calls only what was readied, and services that are slow to become ready.
//!
//! A tower service may be called once for each time that its `poll_ready` gave `Ready(Ok(()))`, and a clone does not inherit that. Most
//! services do not mind when a caller gets it wrong, so the mistake is found in production, by the first one that does. A
//! [`ReadinessProbe`] minds: it panics. A [`ScriptedReadiness`] keeps its caller waiting, or fails it, before it is ready.
//!
//! # Examples
//!
//! ```
//! use tower::{Service, ServiceExt, service_fn};
//! use tower_recovery_test::ReadinessProbe;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let mut probe = ReadinessProbe::new(service_fn(|name: &str| {
//!     std::future::ready(Ok::<_, std::io::Error>(format!("hello {name}")))
//! }));
//! let counts = probe.counts();
//!
//! let answer = probe.ready().await.unwrap().call("Ada").await.unwrap();
//! assert_eq!(answer, "hello Ada");
//! assert_eq!((counts.readied(), counts.called()), (1, 1));
//! # }
//! ```
//!
//! With readiness that comes at the third poll, and then not at all until the test opens a gate:
//!
//! ```
//! use tower::{Service, ServiceExt};
//! use tower_recovery_test::{Gate, ReadinessProbe, ReadyStep, ScriptedReadiness, ScriptedService, Step};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let gate = Gate::new();
//! let service = ScriptedService::<&str, u16>::new([Step::answer(200)]);
//! let readiness = [ReadyStep::Pending { times: 2 }, ReadyStep::Until(gate.clone())];
//! let mut probe = ReadinessProbe::new(ScriptedReadiness::new(service, readiness));
//!
//! assert_eq!(probe.ready().await.unwrap().call("GET /").await.unwrap(), 200);
//! gate.open();
//! assert_eq!(probe.ready().await.unwrap().call("GET /").await.unwrap(), 200);
//! # }
//! ```

mod probe;
mod scripted;
#[cfg(test)]
mod tests;

pub use self::{
    probe::{ReadinessCounts, ReadinessProbe},
    scripted::{ReadyStep, ScriptedReadiness},
};
