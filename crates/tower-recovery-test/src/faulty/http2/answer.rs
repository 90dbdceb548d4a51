//! The answer on HTTP/2.

use bytes::Bytes;
use http::{HeaderName, Method, Response, Version, header};

use super::super::answer::{carries_body, is_bodiless};

/// Headers that belong to an HTTP/1 connection, which are malformed here, and those by which the server says how long the body is.
const REMOVED: [HeaderName; 6] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::CONTENT_LENGTH,
];

/// The head, and a body that is empty where none is allowed. The head says a length of `promised` at the least, however long the body is.
pub(super) fn answer(response: Response<Bytes>, method: &Method, promised: usize) -> (Response<()>, Bytes) {
    let length = response.body().len().max(promised);
    with_length(response, method, Some(length.try_into().expect("no address has more than 64 bits")))
}

/// As [`answer`]; the head says this length, however long the body is.
pub(super) fn with_length(response: Response<Bytes>, method: &Method, length: Option<u64>) -> (Response<()>, Bytes) {
    let (mut parts, body) = response.into_parts();
    parts.version = Version::HTTP_2;
    for name in REMOVED {
        parts.headers.remove(name);
    }
    if let Some(length) = length.filter(|_| !is_bodiless(parts.status)) {
        parts.headers.insert(header::CONTENT_LENGTH, length.into());
    }
    let body = if carries_body(parts.status, method) { body } else { Bytes::new() };
    (Response::from_parts(parts, ()), body)
}
