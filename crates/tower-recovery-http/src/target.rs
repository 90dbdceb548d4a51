//! What a request says of where it goes.

use http::{HeaderMap, HeaderValue, Method, header, uri::Authority};
use tower_recovery::{Failure, Verdict};

/// A request with the method CONNECT asks for a tunnel to another host, which a handle of one origin does not make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("CONNECT asks for a tunnel to another host, which a handle of one origin does not make")]
#[non_exhaustive]
pub struct TunnelRefused;

/// Refuses a CONNECT before it is sent: its target would be lost, since requests go to the origin.
pub(crate) fn refuse_tunnel(method: &Method) -> Result<(), Failure> {
    if *method == Method::CONNECT {
        return Err(Failure::new(Verdict::never_sent().permanent(), TunnelRefused));
    }
    Ok(())
}

/// The `Host` of a request cannot be sent as the `:authority` of HTTP/2: it is none, or there are several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the header `host` must be one host, with a port or without, and no credentials")]
#[non_exhaustive]
pub struct InvalidHost;

/// Takes the virtual host that the caller named, if it named one.
pub(crate) fn take_host(headers: &mut HeaderMap) -> Result<Option<(HeaderValue, Authority)>, Failure> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let Some(host) = hosts.next().cloned() else { return Ok(None) };
    let authority = Authority::try_from(host.as_bytes()).ok().filter(|authority| !authority.as_str().contains('@'));
    match (authority, hosts.next()) {
        (Some(authority), None) => {
            headers.remove(header::HOST);
            Ok(Some((host, authority)))
        }
        _ => Err(Failure::new(Verdict::never_sent().permanent(), InvalidHost)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(hosts: &[&'static str]) -> (Option<Option<String>>, usize) {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(header::HOST, HeaderValue::from_static(host));
        }
        let taken = take_host(&mut headers).ok();
        (taken.map(|taken| taken.map(|(_, authority)| authority.to_string())), headers.len())
    }

    #[test]
    fn one_host_that_is_an_authority_is_taken_and_anything_else_is_refused() {
        assert_eq!(taken(&["artifacts.example:8080"]), (Some(Some("artifacts.example:8080".to_owned())), 0));
        assert_eq!(taken(&[]), (Some(None), 0));
        assert_eq!(taken(&["a.example", "b.example"]), (None, 2));
        assert_eq!(taken(&["not a host"]), (None, 1));
        assert_eq!(taken(&["user:secret@a.example"]), (None, 1));
        assert_eq!(taken(&[""]), (None, 1));
    }

    #[test]
    fn a_tunnel_is_refused_and_no_other_method() {
        let refused = refuse_tunnel(&Method::CONNECT).unwrap_err();
        assert_eq!(refused.verdict(), Verdict::never_sent().permanent());
        assert!(refuse_tunnel(&Method::POST).is_ok());
    }
}
