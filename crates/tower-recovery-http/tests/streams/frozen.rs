//! An instance that freezes while its sockets stay open: the first incident, met by a stream.

use std::time::Duration;

use tower::ServiceExt;
use tower_recovery::{StreamMode, StreamPolicy, stream_replacement::ReplacementBasis};
use tower_recovery_test::FaultyServer;

use super::support::{Model, Wire, bounded, complete, question, texts};

/// The probe goes to the instance that the stream waits for. Its own attempt times out there and evicts it, so it is repeated on the next one, which answers: and
/// there the stream is replaced, and so is whatever comes after it.
#[tokio::test]
async fn a_probe_that_a_frozen_instance_does_not_answer_evicts_it_and_the_stream_goes_on_at_the_next() {
    for wire in Wire::all() {
        let model = Model::streaming(wire, complete(["1", "2"])).await;
        let frozen = frozen(wire).await;
        model.registry.register("model", "frozen", frozen.origin().parse().unwrap());
        let policy = StreamPolicy::builder(StreamMode::RetryOnHealthyProbe)
            .idle(Duration::from_millis(200))
            .probe_timeout(Duration::from_secs(3))
            .recovery_grace(Duration::from_millis(50))
            .build()
            .unwrap();
        let chat = model.chat(policy).whole(1 << 20);

        let moves = async {
            frozen.wait_until_held(1).await;
            model.registry.register("model", "next", model.server.origin().parse().unwrap());
        };
        let (whole, ()) = bounded(async { tokio::join!(chat.clone().oneshot(question()), moves) }).await;
        let whole = whole.unwrap();
        assert_eq!(texts(&whole.items), ["1", "2", "[DONE]"], "{wire:?}");
        let basis = ReplacementBasis::HealthySideCallAndNoActivityThroughGrace;
        assert_eq!((whole.report.attempts, whole.report.discarded[0].basis), (2, basis));
        assert_eq!((model.calls(), model.probes()), (1, 1));

        assert_eq!(frozen.requests_read(), 2, "the chat, and the probe");

        let next = bounded(chat.oneshot(question())).await.unwrap();
        assert_eq!(next.report.attempts, 1, "the frozen handle is gone");
        assert_eq!(frozen.requests_read(), 2, "and nobody was sent there again");
    }
}

/// Reads requests, and holds them.
async fn frozen(wire: Wire) -> FaultyServer {
    let server = FaultyServer::builder();
    let server = match wire {
        Wire::Http1 => server,
        #[cfg(feature = "http2")]
        Wire::Http2 => server.http2(),
    };
    let server = server.start().await.expect("a port is free");
    server.freeze();
    server
}
