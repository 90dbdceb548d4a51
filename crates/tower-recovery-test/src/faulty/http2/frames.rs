//! The frames of HTTP/2 as bytes, as far as the server must know them. See RFC 9113, sections 4.1 and 6.

use super::super::ErrorCode;

const HEADER_LENGTH: usize = 9;
const HEADERS: u8 = 0x1;
const RST_STREAM: u8 = 0x3;
const GOAWAY: u8 = 0x7;
/// Stream ids and lengths of GOAWAY have a reserved bit.
const STREAM_ID: u32 = u32::MAX >> 1;

/// A frame, with its header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'bytes>(&'bytes [u8]);

/// The whole frames at the front of some bytes.
pub(super) fn frames(mut bytes: &[u8]) -> impl Iterator<Item = Frame<'_>> {
    std::iter::from_fn(move || {
        let length =
            HEADER_LENGTH + usize::try_from(number(&[0, *bytes.first()?, *bytes.get(1)?, *bytes.get(2)?])).ok()?;
        let (frame, rest) = bytes.split_at_checked(length)?;
        bytes = rest;
        Some(Frame(frame))
    })
}

impl Frame<'_> {
    pub(super) fn length(self) -> usize {
        self.0.len()
    }

    /// Where a cut leaves the header, and half of what comes after it.
    pub(super) fn middle(self) -> usize {
        HEADER_LENGTH + (self.length() - HEADER_LENGTH) / 2
    }

    pub(super) fn is_head_of(self, stream: u32) -> bool {
        self.kind() == HEADERS && number(&self.0[5..]) & STREAM_ID == stream
    }

    pub(super) fn refuses_a_stream(self) -> bool {
        self.kind() == RST_STREAM && number(&self.0[HEADER_LENGTH..]) == ErrorCode::REFUSED_STREAM.0
    }

    fn kind(self) -> u8 {
        self.0[3]
    }
}

/// A `GOAWAY` frame without debug data.
pub(super) fn go_away(last_stream: u32, code: ErrorCode) -> [u8; HEADER_LENGTH + 8] {
    let mut frame = [0; HEADER_LENGTH + 8];
    frame[2] = 8;
    frame[3] = GOAWAY;
    frame[HEADER_LENGTH..HEADER_LENGTH + 4].copy_from_slice(&(last_stream & STREAM_ID).to_be_bytes());
    frame[HEADER_LENGTH + 4..].copy_from_slice(&code.0.to_be_bytes());
    frame
}

/// The first four bytes as a number.
fn number(bytes: &[u8]) -> u32 {
    bytes.iter().take(4).fold(0, |number, byte| number << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_told_apart_and_what_is_not_whole_is_left() {
        let mut bytes = go_away(3, ErrorCode::NO_ERROR).to_vec();
        bytes.extend([0, 0, 4, RST_STREAM, 0, 0, 0, 0, 5, 0, 0, 0, 7]);
        bytes.extend([0, 0, 1, HEADERS, 4, 0x80, 0, 0, 7, 0x88]);
        let whole: Vec<_> = frames(&bytes).collect();
        assert_eq!(whole.iter().map(|frame| frame.length()).collect::<Vec<_>>(), [17, 13, 10]);
        assert_eq!(whole.iter().map(|frame| frame.refuses_a_stream()).collect::<Vec<_>>(), [false, true, false]);
        assert!(whole[2].is_head_of(7) && !whole[2].is_head_of(5) && !whole[1].is_head_of(5));
        assert_eq!(frames(&bytes[..bytes.len() - 1]).count(), 2);
        assert_eq!(frames(&bytes[..2]).count(), 0);
    }

    #[test]
    fn a_go_away_is_seventeen_bytes_of_stream_zero() {
        let frame = go_away(u32::MAX, ErrorCode::ENHANCE_YOUR_CALM);
        assert_eq!(frame, [0, 0, 8, 7, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0xb]);
    }
}
