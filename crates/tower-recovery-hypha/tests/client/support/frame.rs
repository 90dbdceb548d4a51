//! Frames, written and read without the crate's own code for it.

use tower_recovery_hypha::Value;

/// A frame of the client's.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) head: Value,
    pub(crate) body: Value,
}

pub(crate) fn map<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value::Map(fields.into_iter().map(|(name, value)| (name.into(), value)).collect())
}

pub(crate) fn packed(values: &[Value]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for value in values {
        rmpv::encode::write_value(&mut bytes, value).unwrap();
    }
    bytes
}

impl Frame {
    pub(crate) fn read(mut bytes: &[u8]) -> Self {
        let head = rmpv::decode::read_value(&mut bytes).expect("a head");
        let body = match bytes.is_empty() {
            true => Value::Map(Vec::new()),
            false => rmpv::decode::read_value(&mut bytes).expect("a body"),
        };
        assert!(bytes.is_empty(), "{} bytes behind the body", bytes.len());
        Self { head, body }
    }

    /// A field of the head, as a text.
    pub(crate) fn text(&self, name: &str) -> &str {
        field(&self.head, name).and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn method(&self) -> &str {
        self.text("method")
    }

    pub(crate) fn session(&self) -> &str {
        self.text("session")
    }

    pub(crate) fn to(&self) -> &str {
        self.text("to")
    }

    /// A field of the body.
    pub(crate) fn body(&self, name: &str) -> &Value {
        field(&self.body, name).unwrap_or(&Value::Nil)
    }

    pub(crate) fn args(&self) -> &[Value] {
        self.body("args").as_array().map(Vec::as_slice).unwrap_or_default()
    }

    pub(crate) fn arg(&self, position: usize) -> &Value {
        self.args().get(position).unwrap_or(&Value::Nil)
    }

    /// The step of a message in pieces that it is, if it is one.
    pub(crate) fn step(&self) -> &str {
        self.method().strip_prefix("services.built-in.message_cache.").unwrap_or_default()
    }
}

/// A field of a map.
pub(crate) fn field<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    value.as_map()?.iter().find(|(key, _)| key.as_str() == Some(name)).map(|(_, value)| value)
}
