//! Which clean ends prove that a body is whole.

use http::{HeaderMap, Method, StatusCode, Version, header, response::Parts};
use tower::BoxError;

use super::{EndedEarly, UnprovenEnd, Unterminated, promised_length};

/// What a clean end must have for it, by the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// Nothing: there is no body, or the transport reports each end that is none.
    Nothing,
    /// That many bytes, by a head of this version.
    Length(u64, Version),
    /// The body's own word that it is at its end; else this is what ended it.
    Mark(UnprovenEnd),
}

/// What of a request decides whether its answer has a body. Kept in the place of the method, whose copy may allocate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Head,
    Connect,
    Other,
}

/// Which ends are believed beside those that are proven.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Trust {
    #[default]
    Proof,
    CloseDelimited,
    CleanEnds,
}

impl Awaited {
    pub(crate) fn of(head: &Parts, asked: Asked, trust: Trust) -> Self {
        if has_no_body(head.status, asked) {
            return Self::Nothing;
        }
        if let Some(length) = promised_length(head) {
            return Self::Length(length, head.version);
        }
        match head.version {
            Version::HTTP_2 if trust < Trust::CleanEnds => Self::Mark(UnprovenEnd::Reset),
            Version::HTTP_09 | Version::HTTP_10 | Version::HTTP_11
                if trust < Trust::CloseDelimited && !is_chunked(&head.headers) =>
            {
                Self::Mark(UnprovenEnd::ConnectionClosed)
            }
            _ => Self::Nothing,
        }
    }

    /// What a clean end after so many bytes is, if it is none.
    pub(crate) fn missing(self, received: u64, is_marked: bool) -> Option<BoxError> {
        match self {
            Self::Length(promised, version) if received < promised => {
                Some(EndedEarly { received, promised, version }.into())
            }
            Self::Mark(end) if !is_marked => Some(Unterminated { received, end }.into()),
            _ => None,
        }
    }

    /// Whether a body that says that it is at its end may be believed.
    pub(crate) fn may_end(self, received: u64) -> bool {
        !matches!(self, Self::Length(promised, _) if received < promised)
    }

    /// How long the body is to be.
    pub(crate) fn length(self) -> Option<u64> {
        match self {
            Self::Length(promised, _) => Some(promised),
            Self::Nothing | Self::Mark(_) => None,
        }
    }
}

impl From<&Method> for Asked {
    fn from(method: &Method) -> Self {
        match *method {
            Method::HEAD => Self::Head,
            Method::CONNECT => Self::Connect,
            _ => Self::Other,
        }
    }
}

/// RFC 9110 §6.4.1, RFC 9112 §6.3.
fn has_no_body(status: StatusCode, asked: Asked) -> bool {
    asked == Asked::Head
        || (asked == Asked::Connect && status.is_success())
        || status.is_informational()
        || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
}

/// Whether the last coding is chunks. hyper, too, reads any other body to the end of its connection.
fn is_chunked(headers: &HeaderMap) -> bool {
    let last = headers.get_all(header::TRANSFER_ENCODING).iter().next_back();
    let codings = last.and_then(|codings| codings.to_str().ok()).unwrap_or_default();
    codings.rsplit(',').next().is_some_and(|coding| coding.trim().eq_ignore_ascii_case("chunked"))
}

#[cfg(test)]
mod tests {
    use http::Response;

    use super::*;

    const CLOSED: Awaited = Awaited::Mark(UnprovenEnd::ConnectionClosed);
    const RESET: Awaited = Awaited::Mark(UnprovenEnd::Reset);

    fn head(version: Version, status: u16, headers: &[(&str, &str)]) -> Parts {
        let mut response = Response::builder().version(version).status(status);
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        response.body(()).unwrap().into_parts().0
    }

    fn awaited(version: Version, status: u16, headers: &[(&str, &str)], method: Method) -> Awaited {
        Awaited::of(&head(version, status, headers), Asked::from(&method), Trust::Proof)
    }

    #[test]
    fn what_has_no_body_may_end_at_once() {
        for version in [Version::HTTP_10, Version::HTTP_11, Version::HTTP_2] {
            for (status, method) in [
                (200, Method::HEAD),
                (404, Method::HEAD),
                (200, Method::CONNECT),
                (101, Method::GET),
                (204, Method::POST),
                (304, Method::GET),
            ] {
                for headers in [&[][..], &[("content-length", "7")]] {
                    assert_eq!(
                        awaited(version, status, headers, method.clone()),
                        Awaited::Nothing,
                        "{status} {method}"
                    );
                }
            }
            assert_ne!(awaited(version, 407, &[], Method::CONNECT), Awaited::Nothing);
        }
    }

    #[test]
    fn a_length_counts_in_every_version_and_whatever_else_is_believed() {
        for version in [Version::HTTP_10, Version::HTTP_11, Version::HTTP_2, Version::HTTP_3] {
            for trust in [Trust::Proof, Trust::CloseDelimited, Trust::CleanEnds] {
                let head = head(version, 200, &[("content-length", "7")]);
                let awaited = Awaited::of(&head, Asked::Other, trust);
                assert_eq!((awaited, awaited.length()), (Awaited::Length(7, version), Some(7)));
            }
        }
    }

    #[test]
    fn without_a_length_an_end_is_proven_by_chunks_or_a_mark() {
        for (version, headers, wanted) in [
            (Version::HTTP_11, &[][..], CLOSED),
            (Version::HTTP_10, &[], CLOSED),
            (Version::HTTP_11, &[("transfer-encoding", "chunked")], Awaited::Nothing),
            (Version::HTTP_11, &[("transfer-encoding", "gzip, Chunked ")], Awaited::Nothing),
            (Version::HTTP_11, &[("transfer-encoding", "gzip"), ("transfer-encoding", "chunked")], Awaited::Nothing),
            (Version::HTTP_11, &[("transfer-encoding", "gzip")], CLOSED),
            (Version::HTTP_11, &[("transfer-encoding", "chunked, gzip"), ("content-length", "7")], CLOSED),
            (Version::HTTP_11, &[("content-length", "seven")], CLOSED),
            (Version::HTTP_2, &[], RESET),
            (Version::HTTP_3, &[], Awaited::Nothing),
        ] {
            for status in [200, 206, 404, 503] {
                assert_eq!(awaited(version, status, headers, Method::GET), wanted, "{version:?} {headers:?}");
            }
        }
    }

    #[test]
    fn trust_goes_as_far_as_it_was_given() {
        let trusted = |version, trust| Awaited::of(&head(version, 200, &[]), Asked::Other, trust);
        assert_eq!(trusted(Version::HTTP_11, Trust::CloseDelimited), Awaited::Nothing);
        assert_eq!(trusted(Version::HTTP_2, Trust::CloseDelimited), RESET);
        for version in [Version::HTTP_11, Version::HTTP_2] {
            assert_eq!(trusted(version, Trust::CleanEnds), Awaited::Nothing);
        }
    }

    #[test]
    fn an_end_is_missed_below_the_length_and_without_the_mark() {
        let seven = Awaited::Length(7, Version::HTTP_2);
        let early = seven.missing(6, true).unwrap();
        assert_eq!(early.downcast_ref(), Some(&EndedEarly { received: 6, promised: 7, version: Version::HTTP_2 }));
        for (awaited, end) in [(CLOSED, UnprovenEnd::ConnectionClosed), (RESET, UnprovenEnd::Reset)] {
            let missing = awaited.missing(6, false).unwrap();
            assert_eq!(missing.downcast_ref(), Some(&Unterminated { received: 6, end }));
            assert!(awaited.missing(6, true).is_none() && awaited.may_end(0) && awaited.length().is_none());
        }
        for is_marked in [true, false] {
            assert!(seven.missing(7, is_marked).is_none());
            assert!(Awaited::Nothing.missing(0, is_marked).is_none());
        }
        assert!(seven.may_end(7) && !seven.may_end(6) && Awaited::Nothing.may_end(0));
    }
}
