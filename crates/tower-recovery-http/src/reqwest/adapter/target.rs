//! Where a request goes, as text.

use super::library::Url;

/// Stands where the instance's host will be (RFC 6761 §6.4: it never resolves).
const PLACEHOLDER: &str = "http://service.invalid";

/// Text that names no path on a service.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("path is {path:?}, but it must be {bound}")]
#[non_exhaustive]
pub struct InvalidTarget {
    /// What was given, up to its query, which may hold a token; without what stands before an `@`, which may be a password.
    pub path: String,
    /// What it must be.
    pub bound: &'static str,
}

/// A path with its query, or an absolute URL, whose host stands for nothing.
pub(super) fn target(text: &str) -> Result<Url, InvalidTarget> {
    let refuse = |bound| InvalidTarget { path: crate::origin::without_credentials(text), bound };
    // Elsewhere, two slashes begin the name of a host, and URLs of the web may lean in either direction.
    if text.starts_with("//") || text.starts_with("/\\") {
        return Err(refuse("with one slash at its beginning"));
    }
    let is_path = text.starts_with('/');
    let url = if is_path { Url::parse(&format!("{PLACEHOLDER}{text}")) } else { Url::parse(text) };
    match url {
        Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(url),
        _ => Err(refuse("a path that begins with a slash, or a URL of the scheme http or https")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_and_a_url_of_any_host_are_targets() {
        for (text, url) in [
            ("/", "http://service.invalid/"),
            ("/files?x=1", "http://service.invalid/files?x=1"),
            ("/a//b/../c d", "http://service.invalid/a//c%20d"),
            ("/@evil:1/http://x", "http://service.invalid/@evil:1/http://x"),
            ("https://name:1/files", "https://name:1/files"),
        ] {
            assert_eq!(target(text).unwrap().as_str(), url, "{text}");
        }
    }

    #[test]
    fn what_is_neither_is_refused_with_its_bound_and_without_its_secrets() {
        for (text, told) in [
            ("", ""),
            ("files", "files"),
            ("?x=1", ""),
            ("http://[::1", "http://[::1"),
            ("http://", "http://"),
            ("ftp://name/files?token=1", "ftp://name/files"),
            ("data:text/plain,x", "data:text/plain,x"),
            ("http://user:secret@[::1", "http://[::1"),
            ("//evil", "//evil"),
            ("//user:secret@evil/x?token=1", "evil/x"),
            ("/\\evil", "/\\evil"),
        ] {
            let refused = target(text).unwrap_err();
            assert_eq!(refused.path, told);
            assert_eq!(refused.bound.contains("one slash"), text.starts_with('/'), "{refused}");
        }
    }
}
