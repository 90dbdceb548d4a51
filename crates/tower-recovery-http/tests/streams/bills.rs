//! What replaced attempts have cost.

use tower_recovery::{RecoveryEvent, stream_replacement::ReplacementBasis};

use super::support::{Model, Wire, complete, replacing, saying, texts};

const USAGE: &str = r#"{"choices":[],"usage":{"total_tokens":7}}"#;

#[tokio::test]
async fn b86_what_a_replaced_attempt_gave_is_accounted_for_and_not_handed_out() {
    for wire in Wire::all() {
        let model = Model::streaming(wire, [saying(["one", USAGE]).then(wire.reset()), complete(["1", "2"])]).await;
        let whole = model.whole(replacing(1)).await.unwrap();
        assert_eq!(texts(&whole.items), ["1", "2", "[DONE]"]);

        let bytes = ("one".len() + USAGE.len()) as u64;
        assert_eq!(whole.report.attempts, 2);
        let [discarded] = &whole.report.discarded[..] else { panic!("{:?}", whole.report) };
        assert_eq!((discarded.attempt, discarded.items, discarded.bytes), (1, 2, bytes));
        assert_eq!(discarded.basis, ReplacementBasis::RetryableTransportFailure);
        assert_eq!(told_of(&model), [("failed", 1, 2, bytes), ("proposed", 1, 0, 0), ("succeeded", 2, 3, 8)]);
    }
}

/// What became of the attempts, with what they gave.
fn told_of(model: &Model) -> Vec<(&'static str, u32, u64, u64)> {
    model.events.map(|event| match *event {
        RecoveryEvent::PhysicalAttemptFailed { attempt, items, bytes, .. } => Some(("failed", attempt, items, bytes)),
        RecoveryEvent::PhysicalAttemptSucceeded { attempt, items, bytes, .. } => {
            Some(("succeeded", attempt, items, bytes))
        }
        RecoveryEvent::RecoveryReplacementProposed { attempt, duplicate_server_work_possible, .. } => {
            assert!(duplicate_server_work_possible);
            Some(("proposed", attempt, 0, 0))
        }
        _ => None,
    })
}
