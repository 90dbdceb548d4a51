//! A list of reads as it stands in a file.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor, value::MapAccessDeserializer},
};

use crate::{Access, InvalidSetting, ReadMethods};

/// The methods that only read, each by its name alone or as a record.
#[derive(Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent, rename = "ReadMethods")]
struct ReadsRecord(Vec<Entry>);

/// `"search"`, or `{ method = "read", silent = true }`.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Entry(MethodRecord);

/// A method that only reads.
#[derive(Deserialize, Serialize, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename = "ReadMethod")]
struct MethodRecord {
    /// Its exact name.
    method: Box<str>,
    /// Whether it can be asked to leave a counter alone.
    #[serde(default)]
    silent: bool,
}

impl TryFrom<ReadsRecord> for ReadMethods {
    type Error = InvalidSetting;

    fn try_from(record: ReadsRecord) -> Result<Self, InvalidSetting> {
        record.0.into_iter().try_fold(Self::new(), |reads, Entry(MethodRecord { method, silent })| {
            if reads.access(&method) != Access::Write {
                return Err(InvalidSetting::new(
                    "reads",
                    format_args!("{method:?} twice"),
                    "a list of each method once",
                ));
            }
            Ok(if silent { reads.silent(method) } else { reads.read(method) })
        })
    }
}

impl From<&ReadMethods> for ReadsRecord {
    fn from(reads: &ReadMethods) -> Self {
        let entry = |(method, access): (&str, Access)| {
            Entry(MethodRecord { method: method.into(), silent: access == Access::SilentRead })
        };
        let mut entries: Vec<_> = reads.listed().map(entry).collect();
        // One list is written in one way.
        entries.sort_unstable();
        Self(entries)
    }
}

// By hand, because what serde says of an untagged enum names neither the field nor the fault.
impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntryVisitor;

        impl<'de> Visitor<'de> for EntryVisitor {
            type Value = Entry;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("the name of a method, or a record with `method` and `silent`")
            }

            fn visit_str<E>(self, method: &str) -> Result<Entry, E> {
                Ok(Entry(MethodRecord { method: method.into(), silent: false }))
            }

            fn visit_map<Map: MapAccess<'de>>(self, map: Map) -> Result<Entry, Map::Error> {
                MethodRecord::deserialize(MapAccessDeserializer::new(map)).map(Entry)
            }
        }

        deserializer.deserialize_any(EntryVisitor)
    }
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            MethodRecord { method, silent: false } => method.serialize(serializer),
            silent => silent.serialize(serializer),
        }
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Entry {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ReadEntry".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let record = generator.subschema_for::<MethodRecord>();
        schemars::json_schema!({ "anyOf": [{ "type": "string" }, record] })
    }
}

impl<'de> Deserialize<'de> for ReadMethods {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ReadsRecord::deserialize(deserializer)?.try_into().map_err(serde::de::Error::custom)
    }
}

impl Serialize for ReadMethods {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        ReadsRecord::from(self).serialize(serializer)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for ReadMethods {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        ReadsRecord::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        ReadsRecord::json_schema(generator)
    }
}
