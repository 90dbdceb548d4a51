//! The fields of a map, taken out one by one.

use rmpv::Value;

use super::MalformedFrame;
use crate::text::beginning;

/// What is left of a map.
pub(super) struct Fields(Vec<(Value, Value)>);

impl Fields {
    pub(super) fn empty() -> Self {
        Self(Vec::new())
    }

    /// The fields of `value`, which errors call `name`.
    pub(super) fn of(value: Value, name: &'static str) -> Result<Self, MalformedFrame> {
        match value {
            Value::Map(fields) => Ok(Self(fields)),
            other => Err(wrong_type(name, "a map", &other)),
        }
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key.as_str() == Some(name))
    }

    /// The value of a field; nil counts as none. Of fields with the same name the last one, as in Python.
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        let (_, value) = self.0.iter_mut().rev().find(|(key, _)| key.as_str() == Some(name))?;
        Some(std::mem::replace(value, Value::Nil)).filter(|value| !value.is_nil())
    }

    pub(super) fn take_text(&mut self, name: &'static str) -> Result<Option<String>, MalformedFrame> {
        self.take(name).map(|value| text(name, value)).transpose()
    }

    pub(super) fn require_text(&mut self, name: &'static str) -> Result<String, MalformedFrame> {
        self.take_text(name)?.ok_or(MalformedFrame::MissingField { field: name })
    }
}

/// Of a name: what is longer is nobody's, and would be sent back in every answer.
const LONGEST_NAME: usize = 1024;
const LONGEST_SHOWN: usize = 64;

fn text(name: &'static str, value: Value) -> Result<String, MalformedFrame> {
    match value {
        Value::String(text) if text.as_bytes().len() > LONGEST_NAME => {
            Err(MalformedFrame::NameTooLong { field: name, length: text.as_bytes().len(), limit: LONGEST_NAME })
        }
        Value::String(text) => text.into_str().ok_or(MalformedFrame::WrongType {
            field: name,
            expected: "a text",
            found: "a text that is not UTF-8",
        }),
        other => Err(wrong_type(name, "a text", &other)),
    }
}

/// What a stranger wrote, as it can be logged: in one line, and of a length that can be kept.
pub(super) fn shown(text: &str) -> String {
    beginning(text, LONGEST_SHOWN).escape_debug().to_string()
}

pub(super) fn wrong_type(field: &'static str, expected: &'static str, found: &Value) -> MalformedFrame {
    MalformedFrame::WrongType { field, expected, found: kind_of(found) }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Nil => "nil",
        Value::Boolean(_) => "a boolean",
        Value::Integer(_) => "an integer",
        Value::F32(_) | Value::F64(_) => "a float",
        Value::String(_) => "a text",
        Value::Binary(_) => "bytes",
        Value::Array(_) => "an array",
        Value::Map(_) => "a map",
        Value::Ext(..) => "an extension",
    }
}
