//! What may be sent, shared and cloned, whatever the requests and responses are.

use std::cell::Cell;

use tower_recovery::Resolved;
use tower_recovery_test::{
    CuttingProxy, FaultyServer, Gate, ReadinessCounts, ReadinessProbe, Registry, RegistryResolver, ScriptedFuture,
    ScriptedReadiness, ScriptedResolver, ScriptedService, ScriptedStream, Step, StreamHandle,
    cutting::{CuttingProxyBuilder, Direction, Disturbance, Plan, Side},
    faulty::{
        Act, ConnectionAct, Execution, FaultyServerBuilder, GoAway, RefusedAddress, RequestContext, StreamEnd,
        StreamEnding, StreamScript, StreamedAnswer, Until,
    },
};

/// `Send`, and neither `Sync` nor `Clone`.
struct OnlySend(#[expect(dead_code)] Cell<u8>);

fn is_shared<Type: Clone + Send + Sync + 'static>() {}
fn is_send_and_sync<Type: Send + Sync + 'static>() {}
fn is_send<Type: Send + Unpin + 'static>() {}

#[test]
fn mocks_are_clone_send_and_sync_whatever_they_carry() {
    is_shared::<ScriptedService<OnlySend, OnlySend>>();
    is_shared::<ScriptedResolver<OnlySend>>();
    is_shared::<Registry<OnlySend>>();
    is_shared::<RegistryResolver<OnlySend>>();
    is_shared::<Step<Resolved<OnlySend>>>();
    is_shared::<ReadinessProbe<ScriptedReadiness<ScriptedService<OnlySend, u8>, OnlySend>>>();
    is_shared::<ReadinessCounts>();
    is_shared::<Gate>();
    is_send::<ScriptedFuture<OnlySend>>();
    is_shared::<StreamHandle<OnlySend>>();
    is_send::<ScriptedStream<OnlySend>>();
}

#[test]
fn the_server_and_its_parts_are_send_and_sync() {
    is_send_and_sync::<FaultyServer>();
    is_send_and_sync::<RefusedAddress>();
    is_shared::<Execution>();
    is_shared::<RequestContext>();
    is_shared::<Act>();
    is_shared::<ConnectionAct>();
    is_shared::<GoAway>();
    is_shared::<Until>();
    is_shared::<StreamScript>();
    is_shared::<StreamEnding>();
    is_shared::<StreamedAnswer>();
    is_shared::<StreamEnd>();
    #[cfg(feature = "tls")]
    {
        is_shared::<tower_recovery_test::faulty::CertificateAuthority>();
        is_send_and_sync::<tower_recovery_test::faulty::Certificate>();
    }
    is_send::<FaultyServerBuilder>();
}

#[test]
fn the_proxy_and_its_parts_are_send_and_sync() {
    is_send_and_sync::<CuttingProxy>();
    is_shared::<Plan>();
    is_shared::<Disturbance>();
    is_shared::<Direction>();
    is_shared::<Side>();
    is_send::<CuttingProxyBuilder>();
}
