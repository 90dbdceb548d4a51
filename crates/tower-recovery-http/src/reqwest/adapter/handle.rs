//! A handle: one origin, and a client of its own.

use std::{
    fmt,
    sync::Arc,
    task::{Context, Poll},
};

use tower::util::MapResult;
use tower_service::Service;

use super::{
    ReqwestBuildError,
    library::{Body, Client, ClientBuilder, Error, Request, Response, Url, redirect, retry},
    response::opened,
};
use crate::Origin;

/// One instance of a service: its origin and a `reqwest::Client` of its own, whose pool no other handle shares.
///
/// Cloning shares the pool; the pool is closed after the last user. Requests may name any host: they go to the origin.
///
/// In a stack of your own: where reqwest is built with a feature for decompression, which another crate of the build may have asked for, a body does not say that it is at its end.
/// The layer for bodies must be told so ([`CollectLayer::trust_clean_ends`](crate::CollectLayer::trust_clean_ends),
/// [`StreamedLayer::trust_clean_ends`](crate::StreamedLayer::trust_clean_ends)), or it takes every body of HTTP/2 without a length for an incomplete one. The front door does it by
/// itself.
///
/// # Errors
///
/// reqwest's own, as [`HttpClassifier`](crate::HttpClassifier) knows them, without the query of their URL. Nothing is handed back.
#[derive(Clone)]
pub struct ReqwestHandle {
    origin: Origin,
    // Shared, because every attempt has a copy of the handle.
    root: Arc<Url>,
    client: Opening,
}

/// The client, with the answers in the form that the layers know.
type Opening = MapResult<Client, fn(Result<Response, Error>) -> Result<http::Response<Body>, Error>>;

impl ReqwestHandle {
    /// A client for this origin, built from this. Its retries and redirects are switched off.
    ///
    /// # Errors
    ///
    /// An origin that is no URL, or a builder from which reqwest can build no client.
    pub fn new(origin: Origin, client: ClientBuilder) -> Result<Self, ReqwestBuildError> {
        let root = Url::parse(&origin.to_string()).map_err(|_| origin.refuse("a valid URL"))?;
        let open: fn(_) -> _ = |outcome: Result<_, _>| outcome.map(opened).map_err(without_secrets);
        Ok(Self { origin, root: Arc::new(root), client: MapResult::new(build(client)?, open) })
    }

    /// Where the requests go.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The origin's own form of this URL: same path and query, on this instance.
    fn absolute(&self, url: &Url) -> Url {
        let mut absolute = Url::clone(&self.root);
        absolute.set_path(url.path());
        absolute.set_query(url.query());
        absolute
    }
}

/// After whatever else was configured: a repeat and a redirect that the stack does not see would make proofs of nothing.
pub(super) fn build(client: ClientBuilder) -> Result<Client, ReqwestBuildError> {
    client.retry(retry::never()).redirect(redirect::Policy::none()).build().map_err(ReqwestBuildError::Client)
}

/// An error is logged with its URL: its query, and what stands before an `@`, may be credentials.
fn without_secrets(mut error: Error) -> Error {
    if let Some(url) = error.url_mut() {
        url.set_query(None);
        // Refused only by URLs that have neither.
        let _ = url.set_username("").and_then(|()| url.set_password(None));
    }
    error
}

impl Service<Request> for ReqwestHandle {
    type Response = http::Response<Body>;
    type Error = Error;
    type Future = <Opening as Service<Request>>::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.client.poll_ready(context)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        // The rules judged the path as other schemes write it, so it must not become a path of HTTP here: reqwest refuses such a request.
        if matches!(request.url().scheme(), "http" | "https") {
            *request.url_mut() = self.absolute(request.url());
        }
        self.client.call(request)
    }
}

impl fmt::Debug for ReqwestHandle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ReqwestHandle").field("origin", &self.origin).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_keeps_its_path_and_query_on_every_origin() {
        let handle = ReqwestHandle::new("http://[::1]:8080".parse().unwrap(), ClientBuilder::new()).unwrap();
        for (given, sent) in [
            ("http://name/read?id=1", "http://[::1]:8080/read?id=1"),
            ("https://user:secret@name:1", "http://[::1]:8080/"),
            ("http://name//a//b?", "http://[::1]:8080//a//b?"),
            ("http://name/%2e%2E/a%2Fb%3F%23%", "http://[::1]:8080/a%2Fb%3F%23%"),
            ("http://name/a b|^{}\"\\c;d?e=[f]'g h#i", "http://[::1]:8080/a%20b|^%7B%7D%22/c;d?e=[f]%27g%20h"),
        ] {
            assert_eq!(handle.absolute(&Url::parse(given).unwrap()).as_str(), sent);
        }
    }

    #[test]
    fn an_origin_that_is_no_url_is_refused_by_name() {
        let refused = ReqwestHandle::new("http://10.0.0.300".parse().unwrap(), ClientBuilder::new()).unwrap_err();
        assert_eq!(refused.to_string(), "origin is http://10.0.0.300, but it must be a valid URL");
    }
}
