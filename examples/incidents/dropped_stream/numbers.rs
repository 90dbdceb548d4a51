//! What is counted.

use tower_recovery_http::sse::VerdictKind;

use super::{
    case::{Case, Kind},
    contender::Told,
    model::{FIRST_ANSWER, Model, SECOND_ANSWER},
};

/// What one contender came to in one case. At most one of the three results holds; none does where the model has said no, and nothing came of
/// asking again.
#[derive(Clone, serde::Serialize)]
pub(crate) struct Numbers {
    /// By the model's log, without the probes.
    pub(crate) calls_seen_by_server: usize,
    /// The result is one answer to its end, which the model has sent like that.
    pub(crate) result_complete: bool,
    /// The result holds parts of two answers.
    pub(crate) result_spliced: bool,
    /// There is no result, or only the beginning of one, though the model did not say no.
    pub(crate) result_lost: bool,
    /// By the contender's own account.
    pub(crate) replacements: usize,
    /// The model said no, and was asked again.
    pub(crate) verdict_retried: bool,
    /// By the model's log.
    pub(crate) health_probes: usize,
    /// Not part of the table: what the contender knows of the no.
    #[serde(skip)]
    pub(crate) verdict: Option<VerdictKind>,
}

impl Numbers {
    pub(crate) async fn count(case: Case, told: &Told, model: &Model) -> Self {
        let calls = model.calls();
        let is_verdict = case.fault.kind() == Kind::Verdict;
        let result_complete = told.text == SECOND_ANSWER.concat() && model.has_sent_the_second_answer().await;
        let result_spliced = ![FIRST_ANSWER, SECOND_ANSWER].iter().any(|one| one.concat().starts_with(&told.text));
        Self {
            calls_seen_by_server: calls,
            result_complete,
            result_spliced,
            result_lost: !result_complete && !result_spliced && !is_verdict,
            replacements: told.replacements,
            verdict_retried: is_verdict && calls > 1,
            health_probes: model.health_probes(),
            verdict: told.verdict.as_ref().map(|verdict| verdict.kind),
        }
    }

    /// What became of the answer, in a word.
    pub(crate) fn result(&self) -> &'static str {
        match self {
            Self { result_complete: true, .. } => "complete",
            Self { result_spliced: true, .. } => "spliced",
            Self { result_lost: true, .. } => "lost",
            Self { verdict: Some(_), .. } => "verdict",
            _ => "nothing",
        }
    }
}
