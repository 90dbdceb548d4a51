//! The head of a request, and what it says about the body and the connection.

use bytes::{Buf, BytesMut};
use http::{HeaderMap, Method, Request, Version, header};

use super::wire::Broken;

/// Heads above this size end the connection.
pub(super) const HEAD_LIMIT: usize = 64 * 1024;

const HEADERS_LIMIT: usize = 128;

/// The head of a request.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) request: Request<()>,
    pub(super) framing: Framing,
    /// Whether the client allows another request on this connection.
    pub(super) keep_alive: bool,
    /// Whether the client holds its body back until it is told to go on.
    pub(super) expects_continue: bool,
}

/// How the end of a body is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    Length(usize),
    Chunked,
}

impl Head {
    /// Takes a head off the front of the buffer, once it is there to its end.
    pub(super) fn take(buffer: &mut BytesMut) -> Result<Option<Self>, Broken> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_LIMIT];
        let mut parsed = httparse::Request::new(&mut headers);
        let length = match parsed.parse(buffer)? {
            httparse::Status::Complete(length) if length <= HEAD_LIMIT => length,
            httparse::Status::Partial if buffer.len() <= HEAD_LIMIT => return Ok(None),
            _ => return Err(Broken),
        };
        let request = request_of(&parsed)?;
        buffer.advance(length);
        Ok(Some(Self {
            framing: framing_of(request.headers())?,
            keep_alive: request.version() == Version::HTTP_11
                && !names_token(request.headers(), header::CONNECTION, "close"),
            expects_continue: names_token(request.headers(), header::EXPECT, "100-continue"),
            request,
        }))
    }
}

fn request_of(parsed: &httparse::Request<'_, '_>) -> Result<Request<()>, Broken> {
    let method = parsed.method.ok_or(Broken)?;
    let version = match parsed.version {
        Some(1) => Version::HTTP_11,
        _ => Version::HTTP_10,
    };
    let mut request = Request::builder()
        .method(Method::from_bytes(method.as_bytes()).map_err(|_| Broken)?)
        .uri(parsed.path.ok_or(Broken)?)
        .version(version);
    for header in &*parsed.headers {
        request = request.header(header.name, header.value);
    }
    request.body(()).map_err(|_| Broken)
}

/// A head that says two things about its length is refused, as it must be: it may come from an attempt to smuggle a request.
fn framing_of(headers: &HeaderMap) -> Result<Framing, Broken> {
    let mut lengths = headers.get_all(header::CONTENT_LENGTH).iter();
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    match (lengths.next(), codings.next()) {
        (None, None) => Ok(Framing::Length(0)),
        (Some(length), None) if lengths.next().is_none() => {
            let digits = length.to_str().map_err(|_| Broken)?;
            digits.parse().map(Framing::Length).map_err(|_| Broken)
        }
        (None, Some(coding)) if codings.next().is_none() => {
            let chunked = coding.as_bytes().eq_ignore_ascii_case(b"chunked");
            chunked.then_some(Framing::Chunked).ok_or(Broken)
        }
        _ => Err(Broken),
    }
}

/// Whether a header with a comma-separated list names this token.
pub(super) fn names_token(headers: &HeaderMap, name: header::HeaderName, token: &str) -> bool {
    headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|named| named.trim().eq_ignore_ascii_case(token))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(text: &str) -> Result<Option<Head>, Broken> {
        Head::take(&mut BytesMut::from(text))
    }

    #[test]
    fn a_head_is_taken_once_it_is_whole_and_what_follows_stays() {
        let text = "PUT /orders?page=2 HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\nbookGET";
        for end in 0..text.len() - "bookGET".len() {
            assert!(take(&text[..end]).unwrap().is_none(), "{end} bytes");
        }
        let mut buffer = BytesMut::from(text);
        let head = Head::take(&mut buffer).unwrap().unwrap();
        assert_eq!(head.request.method(), Method::PUT);
        assert_eq!(head.request.uri().path(), "/orders");
        assert_eq!(head.framing, Framing::Length(4));
        assert!(head.keep_alive);
        assert_eq!(buffer, "bookGET");
    }

    #[test]
    fn connection_close_and_http_1_0_end_the_connection() {
        let close = take("GET / HTTP/1.1\r\nConnection: keep-alive, Close\r\n\r\n");
        assert!(!close.unwrap().unwrap().keep_alive);
        let old = take("GET / HTTP/1.0\r\n\r\n");
        assert!(!old.unwrap().unwrap().keep_alive);
    }

    #[test]
    fn the_framing_is_read_from_the_head() {
        let chunked = take("POST / HTTP/1.1\r\ntransfer-encoding: Chunked\r\n\r\n");
        assert_eq!(chunked.unwrap().unwrap().framing, Framing::Chunked);
        let nothing = take("POST / HTTP/1.1\r\n\r\n");
        assert_eq!(nothing.unwrap().unwrap().framing, Framing::Length(0));
    }

    #[test]
    fn an_ambiguous_length_is_refused() {
        for headers in [
            "content-length: 4\r\ntransfer-encoding: chunked",
            "content-length: 4\r\ncontent-length: 5",
            "content-length: -4",
            "transfer-encoding: gzip",
        ] {
            let head = take(&format!("POST / HTTP/1.1\r\n{headers}\r\n\r\n"));
            assert!(head.is_err(), "{headers}");
        }
    }

    #[test]
    fn an_oversized_head_is_refused_whole_or_not() {
        let unended = format!("GET / HTTP/1.1\r\nx: {}", "x".repeat(HEAD_LIMIT));
        assert!(take(&unended).is_err());
        assert!(take(&format!("{unended}\r\n\r\n")).is_err());
    }
}
