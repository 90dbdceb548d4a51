//! The error of a setting that is out of its bounds.

use std::fmt;

/// A setting is out of its bounds: which one, what it was set to, and what it must be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {value}, but it must be {bound}")]
#[non_exhaustive]
pub struct InvalidSetting {
    /// The name of the setting.
    pub field: &'static str,
    /// What it was set to.
    pub value: String,
    /// What it must be.
    pub bound: String,
}

impl InvalidSetting {
    /// Says that this field must be so, and is not. For builders of adapters too.
    pub fn new(field: &'static str, value: impl fmt::Display, bound: impl Into<String>) -> Self {
        Self { field, value: value.to_string(), bound: bound.into() }
    }
}
