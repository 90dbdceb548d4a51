//! reqwest's `Response` and http's, without loss.

use std::convert::Infallible;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use tower_recovery::Failure;

use super::library::{Body, Response, ResponseBuilderExt};
use crate::{CollectedBody, StreamedBody};

/// As the layers know it. The URL goes into the extensions, where reqwest finds it again; its own conversion drops it.
pub(super) fn opened(response: Response) -> http::Response<Body> {
    let carrier = http::Response::builder().url(response.url().clone()).body(()).expect("a URL alone was set");
    let mut opened = http::Response::from(response);
    opened.extensions_mut().extend(carrier.into_parts().0.extensions);
    opened
}

/// As reqwest knows it, the body still to be read. What breaks it stands in the chain of reqwest's own error.
pub(super) fn closed(response: http::Response<StreamedBody<Body>>) -> Response {
    response.map(Body::wrap).into()
}

/// What was admitted of a stream, as a response that is still to be read: of [`AdmittedBody::of`](crate::streams::AdmittedBody::of) or
/// [`of_whole`](crate::streams::WholeBody::of_whole). What breaks it stands in the chain of reqwest's own error
/// ([`Failure::recover`](tower_recovery::Failure::recover) finds it).
pub fn into_response<Admitted>(response: http::Response<Admitted>) -> Response
where
    Admitted: http_body::Body<Data = Bytes, Error = Failure> + Send + Sync + 'static,
{
    response.map(Body::wrap).into()
}

/// The same, with the body that was collected.
pub(super) fn closed_whole(response: http::Response<CollectedBody>) -> Response {
    response.map(whole).into()
}

fn whole(body: CollectedBody) -> Body {
    let trailers = body.trailers().cloned();
    let data: Bytes = body.to_bytes();
    match trailers {
        Some(trailers) => {
            Body::wrap(Full::new(data).with_trailers(std::future::ready(Some(Ok::<_, Infallible>(trailers)))))
        }
        None => data.into(),
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue, Version};
    use tokio_test::block_on;

    use super::*;

    #[test]
    fn nothing_of_a_response_is_lost_on_the_way_through_the_layers() {
        let url: super::super::library::Url = "http://10.0.0.7/read?id=1".parse().unwrap();
        let trailers = HeaderMap::from_iter([(http::header::ETAG, HeaderValue::from_static("7"))]);
        let last = trailers.clone();
        let body = Full::new(Bytes::from_static(b"whole")).with_trailers(async { Some(Ok::<_, Infallible>(last)) });
        let given =
            http::Response::builder().status(203).version(Version::HTTP_2).header("x-kept", "1").extension(7_u8);
        let given = Response::from(given.url(url.clone()).body(Body::wrap(body)).unwrap());

        let (parts, body) = opened(given).into_parts();
        let collected = block_on(body.collect()).unwrap();
        let response = closed_whole(http::Response::from_parts(parts, collected));

        assert_eq!((response.url(), response.status().as_u16(), response.version()), (&url, 203, Version::HTTP_2));
        assert_eq!(
            (response.headers()["x-kept"].as_bytes(), response.extensions().get()),
            (b"1".as_slice(), Some(&7_u8))
        );
        let body = block_on(http::Response::from(response).into_body().collect()).unwrap();
        assert_eq!(body.trailers(), Some(&trailers));
        assert_eq!(body.to_bytes(), "whole");
    }

    #[test]
    fn a_collected_body_without_trailers_knows_its_length() {
        let collected = block_on(Full::new(Bytes::from_static(b"whole")).collect()).unwrap();
        assert_eq!(closed_whole(http::Response::new(collected)).content_length(), Some(5));
    }
}
