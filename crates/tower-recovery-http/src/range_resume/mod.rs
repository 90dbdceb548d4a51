//! [`RangeResume`]: the rest of a body is asked for by its bytes.

mod rest;
mod resume;
mod served;
#[cfg(test)]
mod tests;

pub use self::resume::RangeResume;
