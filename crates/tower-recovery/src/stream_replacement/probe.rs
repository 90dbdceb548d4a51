//! Whether the route of a silent stream still gives answers.

/// What a health probe asks of its service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProbeRequest {
    /// Which probe of this silence it is, from 1.
    pub round: u32,
}

impl ProbeRequest {
    /// The probe of this round, from 1: for who tests a probe of their own.
    #[must_use]
    pub fn new(round: u32) -> Self {
        Self { round }
    }
}

/// What a health probe found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Health {
    /// A real answer came: the route works, and who is silent on it is stuck.
    Healthy,
    /// Something came that is no real answer: a refusal, an error text.
    Refused,
}
