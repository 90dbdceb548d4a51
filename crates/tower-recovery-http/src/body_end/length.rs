//! The length that a head promises.

use http::{header, response::Parts};

/// How long the head of an answer that has a body says that it is (RFC 9110 §8.6). Several equal values are one.
pub(crate) fn promised_length(head: &Parts) -> Option<u64> {
    if head.headers.contains_key(header::TRANSFER_ENCODING) {
        return None;
    }
    let text = head.headers.get(header::CONTENT_LENGTH)?.to_str().ok()?;
    text.split(',').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use http::Response;

    use super::*;

    fn promised(headers: &[(&str, &str)]) -> Option<u64> {
        let mut response = Response::builder();
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        promised_length(&response.body(()).unwrap().into_parts().0)
    }

    #[test]
    fn a_length_is_promised_where_it_delimits_the_body() {
        assert_eq!(promised(&[("content-length", "1064")]), Some(1064));
        assert_eq!(promised(&[("content-length", "7, 7")]), Some(7));
        assert_eq!(promised(&[("content-length", "7"), ("transfer-encoding", "chunked")]), None);
        assert_eq!(promised(&[("content-length", "seven")]), None);
        assert_eq!(promised(&[]), None);
    }
}
