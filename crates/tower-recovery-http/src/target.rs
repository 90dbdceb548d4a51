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

/// Takes the virtual host that the caller named, if it is one that can stand in a URI.
pub(crate) fn take_host(headers: &mut HeaderMap) -> Option<(HeaderValue, Authority)> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let (host, None) = (hosts.next()?.clone(), hosts.next()) else { return None };
    let authority = Authority::try_from(host.as_bytes()).ok().filter(|authority| !authority.as_str().contains('@'))?;
    headers.remove(header::HOST);
    Some((host, authority))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tunnel_alone_is_refused_and_by_every_instance() {
        let refused = refuse_tunnel(&Method::CONNECT).unwrap_err();
        assert_eq!(refused.verdict(), Verdict::never_sent().permanent());
        assert!(refuse_tunnel(&Method::GET).is_ok());
    }

    fn taken(hosts: &[&'static str]) -> (Option<String>, usize) {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(header::HOST, HeaderValue::from_static(host));
        }
        (take_host(&mut headers).map(|(_, authority)| authority.to_string()), headers.len())
    }

    #[test]
    fn one_host_that_is_an_authority_is_taken_and_anything_else_stays() {
        assert_eq!(taken(&["artifacts.example:8080"]), (Some("artifacts.example:8080".to_owned()), 0));
        assert_eq!(taken(&[]), (None, 0));
        assert_eq!(taken(&["a.example", "b.example"]), (None, 2));
        assert_eq!(taken(&["not a host"]), (None, 1));
        assert_eq!(taken(&["user:secret@a.example"]), (None, 1));
        assert_eq!(taken(&[""]), (None, 1));
    }
}
