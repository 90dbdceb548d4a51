//! Who is compared.

use tower_recovery_http::sse::SseVerdict;

use super::{by_hand, case::Case, recovering};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contender {
    /// hyper-util's client reads what comes.
    None,
    /// The same, again after whatever went wrong, and what comes then is put behind what has come: what people write.
    Append,
    /// Our stack; the answer is handed out when it is complete.
    Recovery,
    /// Our stack; words are handed out as they come, with a mark where they begin anew.
    RecoveryMarked,
}

/// What a contender has in the end.
#[derive(Default)]
pub(crate) struct Told {
    /// What was handed out, and not taken back.
    pub(crate) text: String,
    /// What the model said instead, where the contender knows it for a no.
    pub(crate) verdict: Option<SseVerdict>,
    /// How often it called again, by its own account.
    pub(crate) replacements: usize,
}

impl Contender {
    pub(crate) const ALL: [Self; 4] = [Self::None, Self::Append, Self::Recovery, Self::RecoveryMarked];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Append => "append",
            Self::Recovery => "recovery",
            Self::RecoveryMarked => "recovery_marked",
        }
    }

    pub(crate) fn is_ours(self) -> bool {
        matches!(self, Self::Recovery | Self::RecoveryMarked)
    }

    pub(crate) async fn ask(self, case: Case, origin: &str) -> Told {
        match self {
            Self::None => by_hand::ask(case, origin, 0).await,
            Self::Append => by_hand::ask(case, origin, super::MAX_REPLACEMENTS).await,
            Self::Recovery => recovering::ask(case, origin).await,
            Self::RecoveryMarked => recovering::ask_marked(case, origin).await,
        }
    }
}
