//! The policies as they stand in a file: read here, checked by the builders.

mod reads;
mod route;
mod stream;
mod time;

pub(super) use self::{route::RouteRecord, stream::StreamRecord};
