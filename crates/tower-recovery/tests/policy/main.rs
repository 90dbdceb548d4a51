//! Policies as they stand in files: what is read, what is refused, and what the schema says of both.

mod formats;
mod properties;
mod refused;
mod schema;
