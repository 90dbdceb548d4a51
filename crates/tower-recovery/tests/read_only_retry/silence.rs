//! A repeated read is silenced if, and only if, an earlier attempt of the same call may have been counted.

use tower::ServiceExt;
use tower_recovery_test::ScriptedService;

use super::{
    retrying,
    support::{Call, Fault, Reply, attempts, backend, done, fails},
};

/// The attempts of one call that meets these faults and then succeeds.
async fn attempts_of(call: Call, faults: &[Fault]) -> Vec<Option<bool>> {
    let backend = backend(faults.iter().map(|fault| fails(*fault)).chain([done("a")]));
    let reply = retrying(backend.clone(), attempts(5)).oneshot(call).await.unwrap();
    assert_eq!(reply, Reply::Done("a"));
    silents(&backend)
}

fn silents(backend: &ScriptedService<Call, Reply>) -> Vec<Option<bool>> {
    backend.requests().iter().map(|call| call.silent).collect()
}

/// How often the backend counts a view at the most: each attempt that may have reached it, unless it was silent.
fn counted(silents: &[Option<bool>], faults: &[Fault]) -> usize {
    let reached = faults.iter().map(|fault| *fault == Fault::Lost || *fault == Fault::Garbled).chain([true]);
    silents.iter().zip(reached).filter(|(silent, reached)| **silent != Some(true) && *reached).count()
}

const NOT_SENT: Fault = Fault::NotWritten;
const MAYBE_SENT: Fault = Fault::Garbled;
const REFUSED: Fault = Fault::ReadOnly;
const SILENT: Option<bool> = Some(true);

#[tokio::test(start_paused = true)]
async fn b63_a_read_that_counts_is_silent_after_an_attempt_that_may_have_counted() {
    let sequences: [(&[Fault], &[Option<bool>]); 8] = [
        (&[], &[None]),
        (&[MAYBE_SENT], &[None, SILENT]),
        (&[NOT_SENT], &[None, None]),
        (&[REFUSED], &[None, None]),
        (&[NOT_SENT, MAYBE_SENT], &[None, None, SILENT]),
        (&[MAYBE_SENT, NOT_SENT], &[None, SILENT, SILENT]),
        (&[MAYBE_SENT, MAYBE_SENT, NOT_SENT], &[None, SILENT, SILENT, SILENT]),
        (&[NOT_SENT, REFUSED, MAYBE_SENT, REFUSED], &[None, None, None, SILENT, SILENT]),
    ];
    for (faults, expected) in sequences {
        let silents = attempts_of(Call::counted_read(), faults).await;
        assert_eq!(silents, expected, "{faults:?}");
        assert_eq!(counted(&silents, faults), 1, "{faults:?}: nobody is counted twice");
    }
}

#[tokio::test(start_paused = true)]
async fn b63_a_method_without_the_parameter_is_never_given_it() {
    for faults in [&[MAYBE_SENT][..], &[MAYBE_SENT, NOT_SENT], &[NOT_SENT, MAYBE_SENT]] {
        let silents = attempts_of(Call::read(), faults).await;
        assert!(silents.iter().all(Option::is_none), "{faults:?}");
    }
    let write = attempts_of(Call::write(), &[NOT_SENT, REFUSED]).await;
    assert_eq!(write, [None, None, None]);
}

#[tokio::test(start_paused = true)]
async fn b63_a_value_that_the_caller_set_is_left_alone() {
    // The report would override `false` on a due retry. Law 3 says that a value set explicitly stays, so it stays.
    for set in [true, false] {
        for faults in [&[MAYBE_SENT][..], &[NOT_SENT], &[MAYBE_SENT, NOT_SENT]] {
            let silents = attempts_of(Call::counted_read().with_silent(set), faults).await;
            assert!(silents.iter().all(|silent| *silent == Some(set)), "{set} after {faults:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn b63_a_first_attempt_that_did_not_reach_the_counter_may_leave_it_at_zero() {
    // Undercounting is accepted: nobody can tell whether the lost attempt was counted.
    let silents = attempts_of(Call::counted_read(), &[MAYBE_SENT]).await;
    let never_reached = silents[1..].iter().filter(|silent| **silent != SILENT).count();
    assert_eq!(never_reached, 0);
}

#[tokio::test(start_paused = true)]
async fn silence_ends_with_its_call() {
    let backend = backend([fails(MAYBE_SENT), done("a"), done("a")]);
    let stack = retrying(backend.clone(), attempts(3));
    stack.clone().oneshot(Call::counted_read()).await.unwrap();
    stack.oneshot(Call::counted_read()).await.unwrap();
    assert_eq!(silents(&backend), [None, SILENT, None]);
}

#[tokio::test(start_paused = true)]
async fn b62_the_callers_own_request_is_not_touched() {
    let backend = backend([fails(MAYBE_SENT), done("a"), done("a")]);
    let stack = retrying(backend.clone(), attempts(3));
    let reused = Call::counted_read().with_key(42);
    stack.clone().oneshot(reused.clone()).await.unwrap();
    stack.oneshot(reused.clone()).await.unwrap();

    assert_eq!(reused, Call::counted_read().with_key(42));
    assert_eq!(silents(&backend), [None, SILENT, None]);
    assert!(backend.requests().iter().all(|call| call.key == 42), "what names the request stays the same");
}
