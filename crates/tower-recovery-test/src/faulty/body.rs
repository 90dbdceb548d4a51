//! The body of a request, put together from what arrives.

use bytes::{Buf, Bytes, BytesMut};

use super::{
    head::{Framing, HEAD_LIMIT},
    wire::Broken,
};

/// A body on its way in.
#[derive(Debug)]
pub(super) struct Body {
    received: BytesMut,
    state: State,
    limit: usize,
}

#[derive(Debug)]
enum State {
    Length { left: usize },
    ChunkSize,
    Chunk { left: usize },
    ChunkEnd,
    Trailers { taken: usize },
    Ended,
}

impl Body {
    pub(super) fn new(framing: Framing, limit: usize) -> Result<Self, Broken> {
        let state = match framing {
            Framing::Length(length) if length > limit => return Err(Broken),
            Framing::Length(left) => State::Length { left },
            Framing::Chunked => State::ChunkSize,
        };
        Ok(Self { received: BytesMut::new(), state, limit })
    }

    /// Takes what belongs to the body off the front of the buffer, and gives the body once it is whole.
    pub(super) fn take(&mut self, buffer: &mut BytesMut) -> Result<Option<Bytes>, Broken> {
        while self.advance(buffer)? {
            if let State::Ended = self.state {
                return Ok(Some(self.received.split().freeze()));
            }
        }
        Ok(None)
    }

    /// Makes one step; `false` if that needs more bytes.
    fn advance(&mut self, buffer: &mut BytesMut) -> Result<bool, Broken> {
        match &mut self.state {
            // ## Length => (Length | Ended)
            State::Length { left } => {
                take_up_to(left, buffer, &mut self.received);
                if *left > 0 {
                    return Ok(false);
                }
                self.state = State::Ended;
            }
            // ## ChunkSize => (ChunkSize | Chunk | Trailers)
            State::ChunkSize => {
                let Some((line, size)) = parse_chunk_size(buffer)? else {
                    return Ok(false);
                };
                buffer.advance(line);
                if size > self.limit - self.received.len() {
                    return Err(Broken);
                }
                self.state = match size {
                    0 => State::Trailers { taken: 0 },
                    left => State::Chunk { left },
                };
            }
            // ## Chunk => (Chunk | ChunkEnd)
            State::Chunk { left } => {
                take_up_to(left, buffer, &mut self.received);
                if *left > 0 {
                    return Ok(false);
                }
                self.state = State::ChunkEnd;
            }
            // ## ChunkEnd => (ChunkEnd | ChunkSize)
            State::ChunkEnd => {
                let Some(line) = take_line(buffer)? else {
                    return Ok(false);
                };
                if line > 0 {
                    return Err(Broken);
                }
                self.state = State::ChunkSize;
            }
            // ## Trailers => (Trailers | Ended): they are read and thrown away, up to the empty line.
            State::Trailers { taken } => {
                let Some(line) = take_line(buffer)? else {
                    return Ok(false);
                };
                *taken += line;
                if *taken > HEAD_LIMIT {
                    return Err(Broken);
                }
                if line == 0 {
                    self.state = State::Ended;
                }
            }
            State::Ended => {}
        }
        Ok(true)
    }
}

fn take_up_to(left: &mut usize, buffer: &mut BytesMut, received: &mut BytesMut) {
    let taken = buffer.split_to(buffer.len().min(*left));
    *left -= taken.len();
    received.unsplit(taken);
}

/// The length of the line, and the size that it says.
fn parse_chunk_size(buffer: &BytesMut) -> Result<Option<(usize, usize)>, Broken> {
    match httparse::parse_chunk_size(buffer).map_err(|_| Broken)? {
        httparse::Status::Complete((line, size)) => {
            let size = usize::try_from(size).map_err(|_| Broken)?;
            Ok(Some((line, size)))
        }
        httparse::Status::Partial if buffer.len() > HEAD_LIMIT => Err(Broken),
        httparse::Status::Partial => Ok(None),
    }
}

/// Takes one line off the buffer and gives its length without the line break.
fn take_line(buffer: &mut BytesMut) -> Result<Option<usize>, Broken> {
    match buffer.windows(2).position(|pair| pair == b"\r\n") {
        Some(length) => {
            buffer.advance(length + 2);
            Ok(Some(length))
        }
        None if buffer.len() > HEAD_LIMIT => Err(Broken),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHUNKED: &str = "4\r\nbook\r\nA;name=value\r\n in a shelf\r\n0\r\nx-trailer: yes\r\n\r\n";

    fn whole(framing: Framing, limit: usize, text: &str) -> Result<Option<Bytes>, Broken> {
        Body::new(framing, limit)?.take(&mut BytesMut::from(text))
    }

    #[test]
    fn a_body_of_known_length_ends_there_and_what_follows_stays() {
        let mut buffer = BytesMut::from("bookGET");
        let mut body = Body::new(Framing::Length(4), 4).unwrap();
        assert_eq!(body.take(&mut buffer).unwrap().unwrap(), "book");
        assert_eq!(buffer, "GET");
    }

    #[test]
    fn a_chunked_body_is_put_together_however_it_arrives() {
        let text = CHUNKED.replace("\r\nA;", "\r\nB;");
        for piece in 1..=text.len() {
            let mut body = Body::new(Framing::Chunked, 100).unwrap();
            let mut buffer = BytesMut::new();
            let mut ended = None;
            for bytes in text.as_bytes().chunks(piece) {
                assert!(ended.is_none(), "ended early, in pieces of {piece}");
                buffer.extend_from_slice(bytes);
                ended = body.take(&mut buffer).unwrap();
            }
            assert_eq!(ended.unwrap(), "book in a shelf", "in pieces of {piece}");
            assert!(buffer.is_empty());
        }
    }

    #[test]
    fn a_chunk_longer_than_its_size_is_refused() {
        assert!(whole(Framing::Chunked, 100, CHUNKED).is_err());
    }

    #[test]
    fn a_body_at_the_limit_passes_and_one_above_it_is_refused() {
        assert!(whole(Framing::Length(4), 4, "book").unwrap().is_some());
        assert!(whole(Framing::Length(5), 4, "books").is_err());
        let chunks = "2\r\nbo\r\n2\r\nok\r\n0\r\n\r\n";
        assert!(whole(Framing::Chunked, 4, chunks).unwrap().is_some());
        assert!(whole(Framing::Chunked, 3, chunks).is_err());
    }
}
