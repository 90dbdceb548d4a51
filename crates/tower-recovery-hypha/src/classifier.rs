//! What a call's error proves.

use std::error::Error;

use rmpv::Value;
use tower_recovery::{Classify, RegistrationMonitor, Verdict, sources};

use crate::CallError;

/// Classifies calls of Hypha's services by where their errors arose.
///
/// | where | what | proves | indicts the handle |
/// |---|---|---|---|
/// | [send](crate::Place::Send) | closed, no connection, too long, a piece that was not taken | never sent | a piece that was not taken because the callee has gone |
/// | [routing](crate::Place::Routing) | the callee is not connected; the server has closed its end | refused | the callee is not connected |
/// | | anything else that the server says | maybe sent | |
/// | [registry](crate::Place::Registry) | no such service | maybe sent | yes |
/// | [execution](crate::Place::Execution) | what the method raised | answered | |
/// | | no such method | answered | yes |
/// | [no answer](crate::Place::Unanswered) | silence, the callee has left | maybe sent | yes |
/// | | the connection was lost, an answer that cannot be read | maybe sent | |
///
/// Results are answers, whatever they say.
#[derive(Clone, Debug, Default)]
pub struct HyphaClassifier {
    monitor: Option<RegistrationMonitor>,
}

impl HyphaClassifier {
    /// The classifier.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Tells this probe where a call learns that the server has forgotten the very client that calls.
    #[must_use]
    pub fn reporting_to(mut self, monitor: RegistrationMonitor) -> Self {
        self.monitor = Some(monitor);
        self
    }
}

impl Classify<Value> for HyphaClassifier {
    fn response(&self, _: &Value) -> Option<Verdict> {
        None
    }

    fn error(&self, error: &(dyn Error + 'static)) -> Verdict {
        let Some(error) = sources(error).find_map(|error| error.downcast_ref()) else { return Verdict::unrecognised() };
        if let Some(monitor) = &self.monitor
            && is_own_eviction(error)
        {
            monitor.own_eviction_seen();
        }
        verdict(error)
    }
}

fn verdict(error: &CallError) -> Verdict {
    match error {
        CallError::Closed | CallError::NotConnected { .. } => Verdict::never_sent(),
        CallError::Refused(_) | CallError::TooLong { .. } => Verdict::never_sent().permanent(),
        CallError::Upload(inner) => {
            let inner = verdict(inner);
            let verdict = stale_if(inner.is_stale(), Verdict::never_sent());
            if inner.is_permanent() { verdict.permanent() } else { verdict }
        }
        CallError::PeerNotConnected { .. } => Verdict::refused().stale(),
        CallError::OwnConnectionClosed { .. } => Verdict::refused(),
        CallError::Remote(_) | CallError::UnexpectedAnswer { .. } => Verdict::answered(),
        CallError::MethodNotFound { .. } => Verdict::answered().stale(),
        CallError::ServiceNotFound { .. } | CallError::PeerDisconnected { .. } | CallError::TimedOut { .. } => {
            Verdict::maybe_sent().stale()
        }
        CallError::Assembly(inner) => stale_if(verdict(inner).is_stale(), Verdict::maybe_sent()),
        CallError::Routing { .. } | CallError::ConnectionLost { .. } | CallError::MalformedAnswer(_) => {
            Verdict::maybe_sent()
        }
    }
}

/// Also where it ended the sending of a piece.
fn is_own_eviction(error: &CallError) -> bool {
    match error {
        CallError::OwnConnectionClosed { .. } => true,
        CallError::Upload(inner) | CallError::Assembly(inner) => is_own_eviction(inner),
        _ => false,
    }
}

fn stale_if(is_stale: bool, verdict: Verdict) -> Verdict {
    if is_stale { verdict.stale() } else { verdict }
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, sync::Arc, time::Duration};

    use tokio::time::timeout;
    use tower_recovery::{
        Delivery, RegistrationProbe,
        registration::{Presence, Registrar},
    };

    use super::*;
    use crate::{ConnectError, MalformedFrame, Place, RemoteError};

    fn of_every_kind() -> Vec<CallError> {
        let peer: Arc<str> = "ws/manager".into();
        let gone = || CallError::PeerNotConnected { peer: Arc::clone(&peer) };
        let lost = || CallError::ConnectionLost { reason: "reset".into() };
        vec![
            CallError::Closed,
            CallError::NotConnected { waited: Duration::from_secs(1), last: None },
            CallError::Refused(Arc::new(ConnectError::Unauthenticated { message: "expired".into() })),
            CallError::TooLong { bytes: 2, bound: 1 },
            CallError::Upload(Box::new(gone())),
            CallError::Upload(Box::new(lost())),
            gone(),
            CallError::OwnConnectionClosed { client: "ws/worker".into() },
            CallError::Routing { message: "Redis is away".into() },
            CallError::ServiceNotFound { id: "ws/*:manager@*".into() },
            CallError::UnexpectedAnswer { method: "get_service_info".into() },
            CallError::Remote(RemoteError::new("KeyError", "'Service not found: ws/*:manager@*'")),
            CallError::MethodNotFound { peer: Arc::clone(&peer), method: "services.manager.read".into() },
            lost(),
            CallError::PeerDisconnected { peer: Arc::clone(&peer) },
            CallError::TimedOut { silent: Duration::from_secs(30) },
            CallError::Assembly(Box::new(CallError::Remote(RemoteError::new("KeyError", "'x'")))),
            CallError::MalformedAnswer(MalformedFrame::Encrypted),
        ]
    }

    #[test]
    fn an_error_proves_what_follows_from_where_it_arose() {
        use Delivery::{Answered, MaybeSent, NeverSent, Refused};
        let found: Vec<_> = of_every_kind()
            .iter()
            .map(|error| {
                let verdict = HyphaClassifier::new().error(error);
                (verdict.delivery().unwrap(), verdict.is_permanent(), verdict.is_stale())
            })
            .collect();
        assert_eq!(
            found,
            [
                (NeverSent, false, false),
                (NeverSent, false, false),
                (NeverSent, true, false),
                (NeverSent, true, false),
                (NeverSent, false, true),
                (NeverSent, false, false),
                (Refused, false, true),
                (Refused, false, false),
                (MaybeSent, false, false),
                (MaybeSent, false, true),
                (Answered, false, false),
                (Answered, false, false),
                (Answered, false, true),
                (MaybeSent, false, false),
                (MaybeSent, false, true),
                (MaybeSent, false, true),
                (MaybeSent, false, false),
                (MaybeSent, false, false),
            ]
        );
    }

    #[test]
    fn the_error_itself_and_its_verdict_agree_on_what_was_not_executed() {
        for error in of_every_kind() {
            let is_send_side = HyphaClassifier::new().error(&error).delivery().is_some_and(Delivery::is_send_side);
            assert_eq!(error.is_send_side(), is_send_side, "{error:?}");
            assert_eq!(
                error.place() == Place::Send,
                matches!(HyphaClassifier::new().error(&error).delivery(), Some(Delivery::NeverSent))
            );
        }
    }

    /// Registered, whenever it is asked.
    struct Registered;

    impl Registrar for Registered {
        type Connection = ();
        type Error = Infallible;

        async fn look_up(&mut self, _: Option<&()>) -> Result<Presence, Infallible> {
            Ok(Presence::Ours)
        }

        async fn close(&mut self, (): ()) {}

        async fn connect(&mut self) -> Result<(), Infallible> {
            Ok(())
        }

        async fn register(&mut self, (): &()) -> Result<(), Infallible> {
            Ok(())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_probe_is_told_where_the_server_has_forgotten_the_caller_and_nowhere_else() {
        let forgotten = || CallError::OwnConnectionClosed { client: "ws/worker".into() };
        let told = [forgotten(), CallError::Upload(Box::new(forgotten())), CallError::Assembly(Box::new(forgotten()))];
        let is_own = |error: &CallError| matches!(error, CallError::OwnConnectionClosed { .. });
        let silent = of_every_kind().into_iter().filter(|error| !is_own(error));
        for (error, is_told) in told.into_iter().map(|error| (error, true)).chain(silent.map(|error| (error, false))) {
            let interval = Duration::from_secs(60);
            let probe = RegistrationProbe::builder(Registered).connection(()).interval(interval).build().unwrap();
            let mut monitor = probe.monitor();
            let classifier = HyphaClassifier::new().reporting_to(probe.monitor());
            let probing = tokio::spawn(probe.run());
            // Once of its own accord, and then not for a whole interval.
            monitor.wait_until(|status| status.look_ups == 1).await.unwrap();
            assert_eq!(classifier.error(&error), HyphaClassifier::new().error(&error));
            let soon = timeout(interval / 6, monitor.wait_until(|status| status.look_ups == 2)).await;
            assert_eq!(soon.is_ok(), is_told, "{error:?}");
            probing.abort();
        }
    }

    #[test]
    fn an_error_of_something_else_is_not_recognised() {
        assert_eq!(HyphaClassifier::new().error(&std::fmt::Error), Verdict::unrecognised());
    }
}
