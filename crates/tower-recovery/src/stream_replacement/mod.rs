//! `StreamReplacementLayer`: one admitted stream, replaced within a budget.

mod error;
mod probe;
mod report;
mod resume;
mod rules;
mod supervision;

pub use self::{
    error::{StreamBroken, StreamEnd, WholeTooLong},
    probe::{Health, ProbeRequest},
    report::{DiscardedAttempt, ReplacementBasis, StreamReport},
    resume::{Resume, ResumeRefused},
    rules::{ItemRules, Sight, StreamRules},
    supervision::PreservedBecause,
};
