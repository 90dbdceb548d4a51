//! What the first answer says of the bytes that it serves.

use std::ops::Range;

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header, response::Parts};
use http_content_range::ContentRange;
use tower_recovery::stream_replacement::ResumeRefused;

use crate::body_end::promised_length;

/// Bytes of a representation that is known well enough to ask for more of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Served {
    pub(super) etag: HeaderValue,
    pub(super) encoding: Vec<HeaderValue>,
    pub(super) extent: Extent,
}

/// Which bytes of how many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) bytes: Range<u64>,
    /// The length of the whole representation, where it is known.
    pub(super) complete: Option<u64>,
}

impl Served {
    pub(super) fn by(head: &Parts) -> Result<Self, ResumeRefused> {
        let extent = match head.status {
            StatusCode::OK => Extent::whole(length(head)?),
            StatusCode::PARTIAL_CONTENT => Extent::partial(head)?,
            status => {
                return Err(refused(format!(
                    "an answer with status {} serves no bytes of a known place",
                    status.as_u16()
                )));
            }
        };
        if head.headers.get_all(header::ACCEPT_RANGES).iter().any(|units| units == "none") {
            return Err(refused("its server serves no ranges"));
        }
        Ok(Self { etag: strong_etag(&head.headers)?, encoding: encoding(&head.headers), extent })
    }
}

impl Extent {
    fn whole(length: u64) -> Self {
        Self { bytes: 0..length, complete: Some(length) }
    }

    /// Of one range alone, as long as the body is to be.
    pub(super) fn partial(head: &Parts) -> Result<Self, ResumeRefused> {
        if is_multipart(&head.headers) {
            return Err(refused("the answer has several ranges"));
        }
        let range =
            only(&head.headers, header::CONTENT_RANGE).and_then(|range| ContentRange::parse_bytes(range.as_bytes()));
        let (first, last, complete) = match range {
            Some(ContentRange::Bytes(range)) => (range.first_byte, range.last_byte, Some(range.complete_length)),
            Some(ContentRange::UnboundBytes(range)) => (range.first_byte, range.last_byte, None),
            Some(ContentRange::Unsatisfied(_)) | None => {
                return Err(refused("the answer does not say which one range of bytes it has"));
            }
        };
        let Some(end) = last.checked_add(1) else { return Err(refused("the range of the answer is out of bounds")) };
        if length(head)? != end - first {
            return Err(refused("the answer is not as long as its range"));
        }
        Ok(Self { bytes: first..end, complete })
    }
}

/// A client that decompresses takes the length off the head, and what it gives is not what the offsets count.
fn length(head: &Parts) -> Result<u64, ResumeRefused> {
    promised_length(head).ok_or_else(|| refused("the answer does not say how long it is"))
}

/// The one validator under which bytes may be put together (RFC 9110 §8.8.1). A date is one only for who knows the server's clock (§8.8.2.2).
fn strong_etag(headers: &HeaderMap) -> Result<HeaderValue, ResumeRefused> {
    let etag = only(headers, header::ETAG).filter(|etag| is_strong(etag.as_bytes()));
    etag.cloned().ok_or_else(|| refused("the answer has no strong entity tag"))
}

fn is_strong(etag: &[u8]) -> bool {
    matches!(etag, [b'"', opaque @ .., b'"'] if !opaque.contains(&b'"'))
}

pub(super) fn encoding(headers: &HeaderMap) -> Vec<HeaderValue> {
    headers.get_all(header::CONTENT_ENCODING).iter().cloned().collect()
}

/// The value of a header that is there once.
pub(super) fn only(headers: &HeaderMap, name: HeaderName) -> Option<&HeaderValue> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    values.next().is_none().then_some(value)
}

fn is_multipart(headers: &HeaderMap) -> bool {
    const MULTIPART: &[u8] = b"multipart/";
    let kind = headers.get(header::CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    kind.get(..MULTIPART.len()).is_some_and(|kind| kind.eq_ignore_ascii_case(MULTIPART))
}

pub(super) fn refused(reason: impl Into<std::borrow::Cow<'static, str>>) -> ResumeRefused {
    ResumeRefused::new(reason)
}

#[cfg(test)]
pub(super) mod tests {
    use http::Response;

    use super::*;

    pub(crate) fn head(status: u16, headers: &[(&str, &str)]) -> Parts {
        let mut response = Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        response.body(()).unwrap().into_parts().0
    }

    type Headers<'text> = &'text [(&'text str, &'text str)];

    const TAG: (&str, &str) = ("etag", "\"7\"");
    const LENGTH: (&str, &str) = ("content-length", "10");

    #[test]
    fn a_whole_answer_serves_all_its_bytes_and_a_part_those_of_its_range() {
        let cases: [(u16, Headers<'_>, Range<u64>, Option<u64>); 5] = [
            (200, &[TAG, LENGTH], 0..10, Some(10)),
            (200, &[TAG, ("content-length", "0")], 0..0, Some(0)),
            (200, &[TAG, LENGTH, ("content-range", "bytes 5-6/9")], 0..10, Some(10)),
            (206, &[TAG, LENGTH, ("content-range", "bytes 5-14/100")], 5..15, Some(100)),
            (206, &[TAG, LENGTH, ("content-range", "bytes 5-14/*"), ("accept-ranges", "bytes")], 5..15, None),
        ];
        for (status, headers, bytes, complete) in cases {
            let served = Served::by(&head(status, headers)).unwrap();
            assert_eq!(served.extent, Extent { bytes, complete }, "{status} {headers:?}");
            assert_eq!((served.etag.as_bytes(), served.encoding.len()), (&b"\"7\""[..], 0));
        }
        let encoded = Served::by(&head(200, &[TAG, LENGTH, ("content-encoding", "gzip")])).unwrap();
        assert_eq!(encoded.encoding, ["gzip"], "its bytes are those of the encoded representation");
    }

    #[test]
    fn what_does_not_say_enough_cannot_be_resumed() {
        let range = ("content-range", "bytes 5-14/100");
        let cases: [(u16, Headers<'_>, &str); 18] = [
            (203, &[TAG, LENGTH], "status 203"),
            (204, &[TAG], "status 204"),
            (200, &[TAG], "how long"),
            (200, &[TAG, LENGTH, ("transfer-encoding", "chunked")], "how long"),
            (200, &[LENGTH], "entity tag"),
            (200, &[LENGTH, ("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT")], "entity tag"),
            (200, &[LENGTH, ("etag", "W/\"7\"")], "entity tag"),
            (200, &[LENGTH, ("etag", "7")], "entity tag"),
            (200, &[LENGTH, ("etag", "\"")], "entity tag"),
            (200, &[LENGTH, ("etag", "\"7\", \"8\"")], "entity tag"),
            (200, &[LENGTH, TAG, ("etag", "\"8\"")], "entity tag"),
            (200, &[LENGTH, TAG, ("accept-ranges", "none")], "no ranges"),
            (206, &[TAG, LENGTH], "which one range"),
            (206, &[TAG, LENGTH, ("content-range", "items 5-14/100")], "which one range"),
            (206, &[TAG, LENGTH, range, range], "which one range"),
            (206, &[TAG, LENGTH, range, ("content-type", "Multipart/byteranges; boundary=x")], "several ranges"),
            (206, &[TAG, range], "how long"),
            (206, &[TAG, ("content-length", "9"), range], "as long as its range"),
        ];
        for (status, headers, reason) in cases {
            let refused = Served::by(&head(status, headers)).unwrap_err();
            assert!(refused.reason.contains(reason), "{status} {headers:?}: {refused}");
        }
        let last = format!("bytes 0-{}/*", u64::MAX);
        assert!(Served::by(&head(206, &[TAG, LENGTH, ("content-range", &last)])).is_err());
    }
}
