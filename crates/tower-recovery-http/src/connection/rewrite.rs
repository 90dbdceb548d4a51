//! A request as one connection needs it, and as it was.

use http::{HeaderValue, Request, Uri, Version, header};
#[cfg(feature = "http2")]
use tower_recovery::Failure;

#[cfg(feature = "http2")]
use crate::{Origin, target::take_host};

/// What was changed in a request for the sake of one connection: a request that is handed back goes to another one.
#[derive(Debug)]
pub(super) struct Rewritten {
    uri: Uri,
    version: Version,
    host: Host,
}

/// What became of the `Host` header.
#[derive(Debug)]
enum Host {
    Kept,
    Added,
    #[cfg(feature = "http2")]
    Taken(HeaderValue),
}

impl Rewritten {
    /// HTTP/1.1: the path alone (RFC 9112 §3.2.1), and a `Host` where the caller set none.
    pub(super) fn for_http1<Body>(request: &mut Request<Body>, host: &HeaderValue) -> Self {
        let uri = std::mem::take(request.uri_mut());
        let path = uri.path_and_query().cloned().map(Uri::from);
        *request.uri_mut() = path.unwrap_or_default();
        let mut was = Host::Kept;
        if !request.headers().contains_key(header::HOST) {
            request.headers_mut().insert(header::HOST, host.clone());
            was = Host::Added;
        }
        Self { uri, version: std::mem::replace(request.version_mut(), Version::HTTP_11), host: was }
    }

    /// HTTP/2: scheme, authority and path (RFC 9113 §8.3.1). A `Host` that the caller set is the authority: beside another one it would make the request
    /// malformed.
    #[cfg(feature = "http2")]
    pub(super) fn for_http2<Body>(request: &mut Request<Body>, origin: &Origin) -> Result<Self, Failure> {
        let (host, authority) = match take_host(request.headers_mut())? {
            Some((host, authority)) => (Host::Taken(host), Some(authority)),
            None => (Host::Kept, None),
        };
        let uri = request.uri().clone();
        *request.uri_mut() = origin.absolute_as(authority, uri.clone());
        Ok(Self { uri, version: std::mem::replace(request.version_mut(), Version::HTTP_2), host })
    }

    /// The request as it was.
    pub(super) fn undo<Body>(self, mut request: Request<Body>) -> Request<Body> {
        *request.uri_mut() = self.uri;
        *request.version_mut() = self.version;
        match self.host {
            Host::Kept => {}
            Host::Added => drop(request.headers_mut().remove(header::HOST)),
            #[cfg(feature = "http2")]
            Host::Taken(host) => drop(request.headers_mut().insert(header::HOST, host)),
        }
        request
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_changed_for_http1_and_comes_back_as_it_was() {
        let host = HeaderValue::from_static("10.0.0.7:8080");
        for (given, sent) in [
            ("/read?id=1", "/read?id=1"),
            ("http://artifact-manager/read", "/read"),
            ("http://artifact-manager", "/"),
            ("*", "*"),
        ] {
            let mut request = Request::get(given).version(Version::HTTP_2).body(()).unwrap();
            let rewritten = Rewritten::for_http1(&mut request, &host);
            assert_eq!((request.uri().to_string().as_str(), request.version()), (sent, Version::HTTP_11));
            assert_eq!(request.headers()[header::HOST], host);
            let request = rewritten.undo(request);
            assert_eq!((request.uri().to_string(), request.version()), (uri(given), Version::HTTP_2));
            assert!(request.headers().is_empty());
        }
    }

    #[cfg(feature = "http2")]
    #[test]
    fn a_request_is_changed_for_http2_and_comes_back_as_it_was() {
        let origin: Origin = "http://10.0.0.7:8080".parse().unwrap();
        for (given, sent) in [
            ("/read?id=1", "http://10.0.0.7:8080/read?id=1"),
            ("http://artifact-manager/read", "http://10.0.0.7:8080/read"),
            ("http://artifact-manager", "http://10.0.0.7:8080/"),
        ] {
            let mut request = Request::get(given).body(()).unwrap();
            let rewritten = Rewritten::for_http2(&mut request, &origin).unwrap();
            assert_eq!((request.uri().to_string().as_str(), request.version()), (sent, Version::HTTP_2));
            let request = rewritten.undo(request);
            assert_eq!((request.uri().to_string(), request.version()), (uri(given), Version::HTTP_11));
        }
    }

    #[cfg(feature = "http2")]
    #[test]
    fn a_host_that_the_caller_set_is_the_authority_and_comes_back() {
        let origin: Origin = "http://10.0.0.7:8080".parse().unwrap();
        let mut request = Request::get("/read").header(header::HOST, "artifacts.example").body(()).unwrap();
        let rewritten = Rewritten::for_http2(&mut request, &origin).unwrap();
        assert_eq!((request.uri().to_string().as_str(), request.headers().len()), ("http://artifacts.example/read", 0));
        assert_eq!(rewritten.undo(request).headers()[header::HOST], "artifacts.example");
    }

    fn uri(text: &str) -> String {
        text.parse::<Uri>().unwrap().to_string()
    }

    #[test]
    fn a_host_that_the_caller_set_stays() {
        let mut request = Request::get("/").header(header::HOST, "artifacts.example").body(()).unwrap();
        let rewritten = Rewritten::for_http1(&mut request, &HeaderValue::from_static("10.0.0.7"));
        assert_eq!(request.headers()[header::HOST], "artifacts.example");
        assert_eq!(rewritten.undo(request).headers()[header::HOST], "artifacts.example");
    }
}
