//! Where the server is.

use http::Uri;

/// The address of the server's websocket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) is_secure: bool,
    pub(crate) host: Box<str>,
    pub(crate) port: u16,
    /// The whole, as the websocket's handshake names it.
    pub(crate) uri: Uri,
}

/// This is not the address of a Hypha server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the server's URL is {url:?}, but it must {bound}")]
#[non_exhaustive]
pub struct InvalidServerUrl {
    /// What was given.
    pub url: String,
    /// What it must do.
    pub bound: &'static str,
}

impl Endpoint {
    /// Reads what users know a server by: `https://hypha.example`, or the address of its websocket, `wss://hypha.example/ws`.
    pub(crate) fn parse(url: &str) -> Result<Self, InvalidServerUrl> {
        // What is in front of an @ may be a password, and in a query a token.
        let shown = if url.contains(['@', '?', '#']) { "…" } else { url };
        let refused = |bound| InvalidServerUrl { url: shown.to_owned(), bound };
        let uri: Uri = url.trim_end_matches('/').parse().map_err(|_| refused("be a URL"))?;
        let is_secure = match uri.scheme_str() {
            Some("http" | "ws") => false,
            Some("https" | "wss") => true,
            _ => return Err(refused("begin with http://, https://, ws:// or wss://")),
        };
        let authority = uri.authority().ok_or_else(|| refused("name a host"))?;
        if authority.as_str().contains('@') {
            return Err(refused("hold no user name: a token is given apart"));
        }
        if uri.query().is_some() {
            return Err(refused("hold no query: a token is given apart"));
        }
        let path = uri.path().trim_end_matches('/');
        let path = if path.ends_with("/ws") { path.to_owned() } else { format!("{path}/ws") };
        let scheme = if is_secure { "wss" } else { "ws" };
        let port = authority.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
        let host = authority.host().into();
        let uri = format!("{scheme}://{authority}{path}").parse().map_err(|_| refused("be a URL"))?;
        Ok(Self { is_secure, host, port, uri })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_known_by_its_url_or_by_that_of_its_websocket() {
        for (url, uri, port, is_secure) in [
            ("http://127.0.0.1:9527", "ws://127.0.0.1:9527/ws", 9527, false),
            ("https://hypha.example/", "wss://hypha.example/ws", 443, true),
            ("ws://hypha.example/ws", "ws://hypha.example/ws", 80, false),
            ("wss://hypha.example:444/behind/proxy/ws/", "wss://hypha.example:444/behind/proxy/ws", 444, true),
            ("https://[::1]:8/hypha", "wss://[::1]:8/hypha/ws", 8, true),
        ] {
            let endpoint = Endpoint::parse(url).unwrap();
            assert_eq!((endpoint.uri.to_string().as_str(), endpoint.port, endpoint.is_secure), (uri, port, is_secure));
        }
    }

    #[test]
    fn what_is_no_address_is_refused_and_a_password_is_not_repeated() {
        for url in ["", "hypha.example", "ftp://hypha.example", "http://", "http://a b", "http://host?token=1"] {
            Endpoint::parse(url).unwrap_err();
        }
        for url in ["https://user:secret@hypha.example", "https://hypha.example?token=secret", "secret?", "a#secret"] {
            let error = Endpoint::parse(url).unwrap_err();
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }
}
