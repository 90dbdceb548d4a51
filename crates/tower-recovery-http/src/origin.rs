//! The address of one instance.

use std::{fmt, str::FromStr};

use http::{
    Uri,
    uri::{Authority, PathAndQuery, Scheme},
};
use tower_recovery::Resolved;

/// Scheme and authority: where one instance of a service is reached, as a registry names it.
///
/// # Examples
///
/// ```
/// use tower_recovery_http::Origin;
///
/// let origin: Origin = "http://10.0.0.7:8080".parse()?;
/// assert_eq!(origin.to_string(), "http://10.0.0.7:8080");
///
/// let refused = "http://10.0.0.7/base".parse::<Origin>().unwrap_err();
/// assert_eq!(refused.to_string(), "origin is http://10.0.0.7/base, but it must be without a path");
/// # Ok::<(), tower_recovery_http::InvalidOrigin>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    scheme: Scheme,
    authority: Authority,
}

/// Text, or a URI, that names no origin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("origin is {origin}, but it must be {bound}")]
#[non_exhaustive]
pub struct InvalidOrigin {
    /// What was given, without what stands before an `@`, which may be a password.
    pub origin: String,
    /// What it must be.
    pub bound: &'static str,
}

impl Origin {
    /// Whether it is reached over TLS.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.scheme == Scheme::HTTPS
    }

    /// Host and port, as requests name them.
    #[must_use]
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    pub(crate) fn uri(&self) -> Uri {
        self.absolute(Uri::default())
    }

    /// Why this origin cannot be used.
    pub(crate) fn refuse(&self, bound: &'static str) -> InvalidOrigin {
        InvalidOrigin { origin: self.to_string(), bound }
    }

    /// The origin's own form of this URI: same path and query, on this instance.
    pub(crate) fn absolute(&self, uri: Uri) -> Uri {
        self.absolute_as(None, uri)
    }

    /// The same, under the name of a virtual host if there is one.
    pub(crate) fn absolute_as(&self, host: Option<Authority>, uri: Uri) -> Uri {
        let mut parts = uri.into_parts();
        parts.scheme = Some(self.scheme.clone());
        parts.authority = Some(host.unwrap_or_else(|| self.authority.clone()));
        parts.path_and_query.get_or_insert_with(|| PathAndQuery::from_static("/"));
        Uri::from_parts(parts).expect("a URI with scheme, authority and path is whole")
    }
}

impl TryFrom<Uri> for Origin {
    type Error = InvalidOrigin;

    fn try_from(uri: Uri) -> Result<Self, InvalidOrigin> {
        let refuse = |bound| Err(InvalidOrigin { origin: without_credentials(&uri.to_string()), bound });
        let (Some(scheme), Some(authority)) = (uri.scheme(), uri.authority()) else {
            return refuse("a scheme and an authority");
        };
        if *scheme != Scheme::HTTP && *scheme != Scheme::HTTPS {
            return refuse("of the scheme http or https");
        }
        if authority.as_str().contains('@') {
            return refuse("without credentials");
        }
        if authority.host().is_empty() {
            return refuse("with a host");
        }
        // `http` takes any digits for a port, and hyper-util goes to the default port where they are none.
        let says_port = authority.as_str().len() > authority.host().len();
        if says_port && authority.port_u16().is_none_or(|port| port == 0) {
            return refuse("with a port from 1 to 65535, or none");
        }
        if !matches!(uri.path_and_query().map(PathAndQuery::as_str), None | Some("" | "/")) {
            return refuse("without a path");
        }
        Ok(Self { scheme: scheme.clone(), authority: authority.clone() })
    }
}

impl FromStr for Origin {
    type Err = InvalidOrigin;

    fn from_str(text: &str) -> Result<Self, InvalidOrigin> {
        let uri = text
            .parse::<Uri>()
            .map_err(|_| InvalidOrigin { origin: without_credentials(text), bound: "a valid URI" })?;
        Self::try_from(uri)
    }
}

/// The identity is the origin itself: for registries that know their instances by address.
impl From<Origin> for Resolved<Origin> {
    fn from(origin: Origin) -> Self {
        Self::new(origin.to_string(), origin)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}://{}", self.scheme, self.authority)
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// Neither what stands before an `@` nor a query, which may be a token.
pub(crate) fn without_credentials(text: &str) -> String {
    let text = text.split(['?', '#']).next().unwrap_or_default();
    match (text.split_once("://"), text.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://{rest}"),
        (None, Some((_, rest))) => rest.to_owned(),
        (_, None) => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_origin_is_refused_with_its_bound() {
        for (text, bound) in [
            ("/path", "a scheme and an authority"),
            ("10.0.0.7:80", "a scheme and an authority"),
            ("ftp://10.0.0.7/", "of the scheme http or https"),
            ("http://10.0.0.7:99999/", "with a port from 1 to 65535, or none"),
            ("http://10.0.0.7:0/", "with a port from 1 to 65535, or none"),
            ("http://10.0.0.7:/", "with a port from 1 to 65535, or none"),
            ("http://:80/", "with a host"),
            ("http://10.0.0.7/base/", "without a path"),
            ("http://10.0.0.7/base", "without a path"),
            ("http://[::1", "a valid URI"),
            ("", "a valid URI"),
        ] {
            let refused = text.parse::<Origin>().unwrap_err();
            assert_eq!((refused.origin.as_str(), refused.bound), (text, bound));
        }
    }

    #[test]
    fn a_password_is_neither_taken_nor_told() {
        let refused = "http://user:secret@10.0.0.7".parse::<Origin>().unwrap_err();
        assert_eq!(refused.to_string(), "origin is http://10.0.0.7/, but it must be without credentials");
        let refused = "http://user:secret@[::1".parse::<Origin>().unwrap_err();
        assert_eq!(refused.to_string(), "origin is http://[::1, but it must be a valid URI");
    }

    #[test]
    fn an_origin_says_what_it_is() {
        for (text, is_https) in [("http://10.0.0.7:8080", false), ("https://artifacts.example", true)] {
            let origin: Origin = text.parse().unwrap();
            assert_eq!(origin.is_https(), is_https, "{text}");
            assert_eq!((origin.to_string(), format!("{origin:?}")), (text.to_owned(), text.to_owned()));
            assert_eq!(origin.uri().to_string(), format!("{text}/"));
        }
    }

    #[test]
    fn a_request_keeps_its_path_and_query_on_every_origin() {
        let origin: Origin = "http://[::1]:8080".parse().unwrap();
        for (given, sent) in [
            ("/read?id=1", "http://[::1]:8080/read?id=1"),
            ("http://artifact-manager/read", "http://[::1]:8080/read"),
            ("https://artifact-manager", "http://[::1]:8080/"),
            ("*", "http://[::1]:8080*"),
        ] {
            assert_eq!(origin.absolute(given.parse().unwrap()).to_string(), sent);
        }
    }
}
