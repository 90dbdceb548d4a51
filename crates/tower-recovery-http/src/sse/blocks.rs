//! Bytes to blocks: what stands between two blank lines, whatever chunks it came in.

use memchr::memchr2;

use super::EventTooLong;

/// Collects the field lines of one block after the other, bounded, and leaves comments out. Every byte is looked at once.
///
/// Line ends are LF, CR and CRLF (WHATWG HTML §9.2.5); the lines that are kept all end with LF. Of a comment nothing is kept, however long it is.
#[derive(Debug)]
pub(super) struct Blocks {
    // The field lines of the block that has begun.
    block: Vec<u8>,
    line: Line,
    // The line ended with CR: an LF that comes next belongs to it, even in a later chunk.
    after_carriage_return: bool,
    limit: usize,
}

/// What of a line has come.
#[derive(Clone, Copy, Debug)]
enum Line {
    /// Nothing of the first line but so many bytes of a byte order mark.
    First {
        mark: usize,
    },
    Start,
    Comment,
    Field,
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// What is kept of a large buffer for the next block.
const KEPT_CAPACITY: usize = 64 << 10;

impl Blocks {
    pub(super) fn new(limit: usize) -> Self {
        Self { block: Vec::new(), line: Line::First { mark: 0 }, after_carriage_return: false, limit }
    }

    pub(super) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Takes bytes until a block is whole; `false` when all of them were taken before. A whole block is to be [cleared](Self::clear).
    pub(super) fn take(&mut self, input: &mut &[u8]) -> Result<bool, EventTooLong> {
        while let Some(&next) = input.first() {
            if std::mem::take(&mut self.after_carriage_return) && next == b'\n' {
                *input = &input[1..];
                continue;
            }
            match self.line {
                Line::First { mark } => self.begin(mark, next, input)?,
                Line::Start if matches!(next, b'\r' | b'\n') => {
                    self.end_line(next, &input[1..], input);
                    if self.has_begun() {
                        return Ok(true);
                    }
                }
                Line::Start if next == b':' => self.line = Line::Comment,
                Line::Start => self.line = Line::Field,
                Line::Comment => {
                    self.rest_of_line(input);
                }
                Line::Field => {
                    let (part, ended) = self.rest_of_line(input);
                    self.keep(part)?;
                    if ended {
                        self.keep(b"\n")?;
                    }
                }
            }
        }
        Ok(false)
    }

    /// Whether something of a block has come.
    pub(super) fn has_begun(&self) -> bool {
        !self.block.is_empty()
    }

    /// How many bytes of a block have come.
    pub(super) fn len(&self) -> usize {
        self.block.len()
    }

    /// The field lines of the block.
    pub(super) fn block(&self) -> &[u8] {
        &self.block
    }

    pub(super) fn clear(&mut self) {
        self.block.clear();
        self.block.shrink_to(KEPT_CAPACITY);
    }

    /// The first bytes of the stream: a byte order mark is not part of it, and half a one is a field's name.
    fn begin(&mut self, mark: usize, next: u8, input: &mut &[u8]) -> Result<(), EventTooLong> {
        if next == BYTE_ORDER_MARK[mark] {
            *input = &input[1..];
            let mark = mark + 1;
            self.line = if mark == BYTE_ORDER_MARK.len() { Line::Start } else { Line::First { mark } };
            return Ok(());
        }
        self.line = if mark == 0 { Line::Start } else { Line::Field };
        self.keep(&BYTE_ORDER_MARK[..mark])
    }

    /// Takes what has come of the line, and says whether that was all of it.
    fn rest_of_line<'input>(&mut self, input: &mut &'input [u8]) -> (&'input [u8], bool) {
        let bytes = *input;
        let Some(end) = memchr2(b'\r', b'\n', bytes) else {
            *input = &[];
            return (bytes, false);
        };
        self.end_line(bytes[end], &bytes[end + 1..], input);
        (&bytes[..end], true)
    }

    fn end_line<'input>(&mut self, end: u8, rest: &'input [u8], input: &mut &'input [u8]) {
        self.line = Line::Start;
        self.after_carriage_return = end == b'\r';
        *input = rest;
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), EventTooLong> {
        // A limit may have been set that is smaller than what has come.
        if bytes.len() > self.limit.saturating_sub(self.block.len()) {
            return Err(EventTooLong { limit: self.limit });
        }
        self.block.extend_from_slice(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The blocks that these chunks hold, and what is left of one.
    fn blocks(chunks: &[&[u8]]) -> (Vec<String>, String) {
        let (mut blocks, mut found) = (Blocks::new(1 << 10), Vec::new());
        let text = |blocks: &Blocks| String::from_utf8_lossy(blocks.block()).into_owned();
        for chunk in chunks {
            let mut input = *chunk;
            while blocks.take(&mut input).unwrap() {
                found.push(text(&blocks));
                blocks.clear();
            }
        }
        (found, text(&blocks))
    }

    #[test]
    fn blocks_are_the_same_in_whatever_chunks_they_come() {
        for (text, whole, left) in [
            ("a\n\nb\n\n", vec!["a\n", "b\n"], ""),
            ("a\r\rb\r\r", vec!["a\n", "b\n"], ""),
            ("a\r\n\r\nb\r\n\r\n", vec!["a\n", "b\n"], ""),
            ("a\r\n\nb\n\r\nc\r\r\n", vec!["a\n", "b\n", "c\n"], ""),
            ("a\nb\n\nc\n", vec!["a\nb\n"], "c\n"),
            ("\n\r\n\r\ra\n\n\n\n", vec!["a\n"], ""),
            (": c\n\na\n: c\nb\n:\n\n", vec!["a\nb\n"], ""),
            ("a: b\n :c\n\n", vec!["a: b\n :c\n"], ""),
            ("\u{feff}a\n\n\u{feff}b\n\n", vec!["a\n", "\u{feff}b\n"], ""),
            ("\u{feff}: c\n\n\u{feff}", vec![], "\u{feff}"),
            ("\u{feff}\na", vec![], "a"),
            ("\u{fec0}a\n\n", vec!["\u{fec0}a\n"], ""),
            ("a\n: comment", vec![], "a\n"),
        ] {
            let bytes = text.as_bytes();
            let expected = (whole.into_iter().map(str::to_owned).collect(), left.to_owned());
            assert_eq!(blocks(&[bytes]), expected, "{text:?}");
            assert_eq!(blocks(&bytes.chunks(1).collect::<Vec<_>>()), expected, "{text:?}");
            for border in 0..bytes.len() {
                let (first, second) = bytes.split_at(border);
                assert_eq!(blocks(&[first, second]), expected, "{text:?} at {border}");
            }
        }
    }

    #[test]
    fn a_block_ends_with_the_carriage_return_and_not_with_what_may_follow_it() {
        let mut blocks = Blocks::new(9);
        assert_eq!(blocks.take(&mut &b"a\r\n\r"[..]), Ok(true));
    }

    #[test]
    fn a_block_is_as_long_as_the_limit_and_no_longer() {
        for (text, fits) in [
            ("12345678\n", true),
            ("123456789", true),
            ("123456789\n", false),
            ("1234567890", false),
            ("123\n567\n9", true),
            ("123\n567\n90", false),
            ("12345678\r\n", true),
            (": a comment of any length\n12345678\n: another", true),
            ("12345678\n\n12345678\n", true),
        ] {
            for size in [1, 4, 100] {
                let mut blocks = Blocks::new(9);
                let taken: Result<(), _> = text.as_bytes().chunks(size).try_for_each(|mut chunk| {
                    while blocks.take(&mut chunk)? {
                        blocks.clear();
                    }
                    Ok(())
                });
                let expected = if fits { Ok(()) } else { Err(EventTooLong { limit: 9 }) };
                assert_eq!(taken, expected, "{text:?} in chunks of {size}");
                assert!(blocks.len() <= 9);
            }
        }
    }

    #[test]
    fn half_a_byte_order_mark_counts_too() {
        let mut blocks = Blocks::new(1);
        assert_eq!(blocks.take(&mut &b"\xEF\xBBa"[..]), Err(EventTooLong { limit: 1 }));
    }
}
