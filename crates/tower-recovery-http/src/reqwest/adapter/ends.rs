//! Whether it can be seen how a body of reqwest's ends.

use http_body::Body as _;

use super::library::{Body, ClientBuilder, Response};

/// Whether reqwest passes on what hyper says of the end and of the length of a body.
///
/// Built with a feature for decompression, which any crate of the build may have asked for, it puts every body into one that says of none that it is at its end, and
/// takes the length off the head of what it decompresses. It tells nobody with which features it was built, but for its `Debug`: with none of them, the list of
/// what it accepts is empty. A version that writes this in another way is taken to decompress.
///
/// The first versions of 0.12 that are supported have such a body whatever their features; there a response of one's own has it, too.
pub(super) fn are_passed_on() -> bool {
    let empty: http::Response<Body> = Response::from(http::Response::new(Body::default())).into();
    empty.body().is_end_stream() && format!("{:?}", ClientBuilder::new()).contains("accepts: Accepts,")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0.12 is built with `gzip` for the tests, and 0.13 without.
    #[test]
    fn a_client_that_may_decompress_is_told_from_one_that_cannot() {
        let version = module_path!().split("::").find(|part| part.starts_with("reqwest")).unwrap();
        assert_eq!(are_passed_on(), version == "reqwest", "{:?}", ClientBuilder::new());
    }
}
