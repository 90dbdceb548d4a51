//! The answer as bytes.

use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderMap, Method, Response, StatusCode, header};

use super::head::names_token;

/// An encoded answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) head: Bytes,
    /// Empty where none is allowed.
    pub(super) body: Bytes,
    /// Whether another request may follow on the connection.
    pub(super) keep_alive: bool,
}

/// What an answer depends on besides the response.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms<'request> {
    pub(super) method: &'request Method,
    /// Whether the client allows another request on this connection.
    pub(super) keep_alive: bool,
    /// What the content length says at the least, however long the body is.
    pub(super) promised: usize,
}

/// What the head says of the body's length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    Known(u64),
    Chunked,
    /// Nothing: the close of the connection is its end.
    UntilClose,
}

impl Answer {
    pub(super) fn new(response: Response<Bytes>, terms: Terms<'_>) -> Self {
        let length = response.body().len().max(terms.promised);
        let length = Length::Known(length.try_into().expect("no address has more than 64 bits"));
        Self::with_length(response, terms, length)
    }

    /// The head says this length, however long the body is.
    pub(super) fn with_length(response: Response<Bytes>, terms: Terms<'_>, length: Length) -> Self {
        let (parts, body) = response.into_parts();
        let bodiless = is_bodiless(parts.status);
        let keep_alive = terms.keep_alive && (bodiless || length != Length::UntilClose);
        let says_close = names_token(&parts.headers, header::CONNECTION, "close");

        let mut head = BytesMut::new();
        put_status(&mut head, parts.status);
        put_headers(&mut head, &parts.headers);
        match length {
            _ if bodiless => {}
            Length::Known(bytes) => put_line(&mut head, b"content-length", bytes.to_string().as_bytes()),
            Length::Chunked => put_line(&mut head, b"transfer-encoding", b"chunked"),
            Length::UntilClose => {}
        }
        if !keep_alive && !says_close {
            put_line(&mut head, b"connection", b"close");
        }
        head.put_slice(b"\r\n");

        Self {
            head: head.freeze(),
            body: if carries_body(parts.status, terms.method) { body } else { Bytes::new() },
            keep_alive: keep_alive && !says_close,
        }
    }
}

/// Whether an answer of this status carries no body, nor a word about its length.
pub(super) fn is_bodiless(status: StatusCode) -> bool {
    status == StatusCode::NO_CONTENT || status == StatusCode::NOT_MODIFIED || status.is_informational()
}

/// Whether an answer of this status to this method carries a body.
pub(super) fn carries_body(status: StatusCode, method: &Method) -> bool {
    !is_bodiless(status) && method != Method::HEAD
}

fn put_status(head: &mut BytesMut, status: StatusCode) {
    head.put_slice(b"HTTP/1.1 ");
    head.put_slice(status.as_str().as_bytes());
    head.put_u8(b' ');
    head.put_slice(status.canonical_reason().unwrap_or_default().as_bytes());
    head.put_slice(b"\r\n");
}

/// The application's headers, but for those by which the server says how long the body is.
pub(super) fn put_headers(head: &mut BytesMut, headers: &HeaderMap) {
    for (name, value) in headers {
        if name != header::CONTENT_LENGTH && name != header::TRANSFER_ENCODING {
            put_line(head, name.as_str().as_bytes(), value.as_bytes());
        }
    }
}

fn put_line(head: &mut BytesMut, name: &[u8], value: &[u8]) {
    head.put_slice(name);
    head.put_slice(b": ");
    head.put_slice(value);
    head.put_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: Terms<'_> = Terms { method: &Method::GET, keep_alive: true, promised: 0 };

    fn book(status: u16) -> Response<Bytes> {
        let response = Response::builder().status(status).header("etag", "\"7\"");
        response.body(Bytes::from_static(b"book")).unwrap()
    }

    #[test]
    fn the_server_writes_the_length() {
        let mut response = book(200);
        let lie = header::HeaderValue::from_static("99");
        response.headers_mut().insert(header::CONTENT_LENGTH, lie);
        let answer = Answer::new(response, TERMS);
        let head = "HTTP/1.1 200 OK\r\netag: \"7\"\r\ncontent-length: 4\r\n\r\n";
        assert_eq!(answer.head, head);
        assert_eq!(answer.body, "book");
        assert!(answer.keep_alive);
    }

    #[test]
    fn no_content_and_not_modified_carry_neither_body_nor_length() {
        for status in [204, 304] {
            let answer = Answer::new(book(status), TERMS);
            assert!(answer.body.is_empty());
            assert!(!answer.head.windows(6).any(|part| part == b"length"));
        }
    }

    #[test]
    fn an_answer_to_head_carries_the_length_and_no_body() {
        let method = &Method::HEAD;
        let answer = Answer::new(book(200), Terms { method, ..TERMS });
        assert!(answer.body.is_empty());
        assert!(answer.head.ends_with(b"content-length: 4\r\n\r\n"));
    }

    #[test]
    fn a_close_is_said_once_whoever_wants_it() {
        let said_by_application = {
            let mut response = book(200);
            let close = header::HeaderValue::from_static("close");
            response.headers_mut().insert(header::CONNECTION, close);
            response
        };
        for (response, keep_alive) in
            [(book(200), false), (said_by_application.clone(), true), (said_by_application, false)]
        {
            let terms = Terms { keep_alive, ..TERMS };
            let answer = Answer::new(response, terms);
            let head = String::from_utf8(answer.head.to_vec()).unwrap();
            assert_eq!(head.matches("connection: close\r\n").count(), 1);
            assert!(!answer.keep_alive);
        }
    }
}
