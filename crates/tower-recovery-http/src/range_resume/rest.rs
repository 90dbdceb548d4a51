//! Whether an answer is the rest that was asked for.

use http::{StatusCode, header, response::Parts};
use tower_recovery::stream_replacement::ResumeRefused;

use super::served::{Extent, Served, encoding, only, refused};

/// Whether this head begins the bytes of `served` from this offset on, all of them, and nothing else.
///
/// A server may send a smaller part than what was asked for (RFC 9110 §15.3.7). It is refused: its clean end would look like that of the whole.
pub(super) fn check(head: &Parts, served: &Served, offset: u64) -> Result<(), ResumeRefused> {
    match head.status {
        StatusCode::PARTIAL_CONTENT => {}
        StatusCode::OK => {
            return Err(refused(
                "the whole was sent in the place of the rest: it has changed, or its server serves no ranges",
            ));
        }
        StatusCode::RANGE_NOT_SATISFIABLE => return Err(refused("the rest was not there any more")),
        status => return Err(refused(format!("status {} came in the place of the rest", status.as_u16()))),
    }
    let rest = Extent::partial(head)?;
    if rest.bytes != (offset..served.extent.bytes.end) {
        return Err(refused("another range was sent than the one that was asked for"));
    }
    if rest.complete != served.extent.complete {
        return Err(refused("the whole has another length than before"));
    }
    if only(&head.headers, header::ETAG) != Some(&served.etag) {
        return Err(refused("the rest has another entity tag than what it is the rest of"));
    }
    // A 206 to an `If-Range` says again what has changed or must be there, and should leave out the rest (RFC 9110 §15.3.7): under one strong tag there is one encoding.
    let encoding = encoding(&head.headers);
    if !encoding.is_empty() && encoding != served.encoding {
        return Err(refused("the rest is encoded in another way than what it is the rest of"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{super::served::tests::head, *};

    type Headers<'text> = &'text [(&'text str, &'text str)];

    const FIRST: Headers<'static> = &[("etag", "\"7\""), ("content-length", "10")];
    const REST: Headers<'static> = &[("etag", "\"7\""), ("content-length", "6"), ("content-range", "bytes 4-9/10")];

    /// The rest with one header in another way, or with one more.
    fn with<'text>(name: &'text str, value: &'text str) -> Vec<(&'text str, &'text str)> {
        let mut headers: Vec<_> = REST.iter().copied().filter(|(other, _)| *other != name).collect();
        headers.push((name, value));
        headers
    }

    fn checked(status: u16, headers: Headers<'_>) -> Result<(), ResumeRefused> {
        check(&head(status, headers), &Served::by(&head(200, FIRST)).unwrap(), 4)
    }

    #[test]
    fn only_the_very_rest_is_accepted() {
        checked(206, REST).unwrap();
        checked(206, &with("content-type", "text/plain")).unwrap();
        for (status, headers, reason) in [
            (200, FIRST.to_vec(), "the whole was sent"),
            (416, with("content-range", "bytes */3"), "not there any more"),
            (304, REST.to_vec(), "status 304"),
            (503, REST.to_vec(), "status 503"),
            (206, with("content-range", "bytes 3-8/10"), "another range"),
            (206, with("content-range", "bytes 0-5/10"), "another range"),
            (206, with("content-range", "bytes 4-9/11"), "another length"),
            (206, with("content-range", "bytes 4-9/*"), "another length"),
            (206, with("content-range", "bytes */10"), "which one range"),
            (206, with("content-range", "bytes=4-9/10"), "which one range"),
            (206, with("content-range", "bytes 4-9/8"), "which one range"),
            (206, with("content-range", "bytes 9-4/10"), "which one range"),
            (206, with("content-type", "multipart/byteranges; boundary=x"), "several ranges"),
            (206, with("content-length", "5"), "as long as its range"),
            (206, with("transfer-encoding", "chunked"), "how long"),
            (206, with("etag", "\"8\""), "another entity tag"),
            (206, with("etag", "W/\"7\""), "another entity tag"),
            (206, with("content-encoding", "gzip"), "encoded in another way"),
        ] {
            let refused = checked(status, &headers).unwrap_err();
            assert!(refused.reason.contains(reason), "{status} {headers:?}: {refused}");
        }
    }

    #[test]
    fn a_part_of_the_rest_is_not_the_rest() {
        let headers = [("etag", "\"7\""), ("content-length", "5"), ("content-range", "bytes 4-8/10")];
        assert!(checked(206, &headers).unwrap_err().reason.contains("another range"));
    }

    #[test]
    fn a_rest_without_its_tag_is_none_and_one_without_its_encoding_has_that_of_the_tag() {
        let untagged: Vec<_> = REST.iter().copied().filter(|(name, _)| *name != "etag").collect();
        assert!(checked(206, &untagged).is_err());
        let encoded = [FIRST, &[("content-encoding", "br")]].concat();
        let served = Served::by(&head(200, &encoded)).unwrap();
        check(&head(206, &with("content-encoding", "br")), &served, 4).unwrap();
        check(&head(206, REST), &served, 4).unwrap();
        check(&head(206, &with("content-encoding", "gzip")), &served, 4).unwrap_err();
        check(&head(206, &with("etag", "\"8\"")), &served, 4).unwrap_err();
    }
}
