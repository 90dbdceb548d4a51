//! A look over MessagePack before it is decoded, which allocates nothing.

use rmp::Marker;
use rmpv::Value;

use super::{Limits, MalformedFrame};

const VALUE: usize = size_of::<Value>();
/// What an array or a map of `rmpv` has room for at least, once there is something in it. It grows to twice its size.
const LEAST_CAPACITY: usize = 4;
/// A text or a binary of `rmpv` longer than this grows to twice its size, too.
const EXACT_TEXT: usize = 64 * 1024;
/// What an allocator takes for itself, or to round up.
const ALLOCATION: usize = 16;

/// Looks over what `limits` bound.
pub(super) struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    memory: usize,
    limits: &'a Limits,
}

impl<'a> Scan<'a> {
    pub(super) fn new(bytes: &'a [u8], limits: &'a Limits) -> Self {
        Self { bytes, at: 0, memory: 0, limits }
    }

    /// Where the next value begins.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Goes behind the next value. After this, the value can be decoded and takes no more memory than the limit, half as much again while it is decoded.
    pub(super) fn value(&mut self) -> Result<(), MalformedFrame> {
        self.hold(VALUE)?;
        self.value_at_depth(0)
    }

    fn value_at_depth(&mut self, depth: u16) -> Result<(), MalformedFrame> {
        let begin = self.at;
        match Marker::from_u8(self.number::<1>()? as u8) {
            Marker::FixPos(_) | Marker::FixNeg(_) | Marker::Null | Marker::True | Marker::False => Ok(()),
            Marker::U8 | Marker::I8 => self.skip(1),
            Marker::U16 | Marker::I16 => self.skip(2),
            Marker::U32 | Marker::I32 | Marker::F32 => self.skip(4),
            Marker::U64 | Marker::I64 | Marker::F64 => self.skip(8),
            Marker::FixStr(length) => self.text(length.into()),
            Marker::Str8 | Marker::Bin8 => self.number::<1>().and_then(|length| self.text(length)),
            Marker::Str16 | Marker::Bin16 => self.number::<2>().and_then(|length| self.text(length)),
            Marker::Str32 | Marker::Bin32 => self.number::<4>().and_then(|length| self.text(length)),
            Marker::FixExt1 => self.extension(1),
            Marker::FixExt2 => self.extension(2),
            Marker::FixExt4 => self.extension(4),
            Marker::FixExt8 => self.extension(8),
            Marker::FixExt16 => self.extension(16),
            Marker::Ext8 => self.number::<1>().and_then(|length| self.extension(length)),
            Marker::Ext16 => self.number::<2>().and_then(|length| self.extension(length)),
            Marker::Ext32 => self.number::<4>().and_then(|length| self.extension(length)),
            Marker::FixArray(length) => self.container(length.into(), 1, depth),
            Marker::Array16 => self.number::<2>().and_then(|length| self.container(length, 1, depth)),
            Marker::Array32 => self.number::<4>().and_then(|length| self.container(length, 1, depth)),
            Marker::FixMap(length) => self.container(length.into(), 2, depth),
            Marker::Map16 => self.number::<2>().and_then(|length| self.container(length, 2, depth)),
            Marker::Map32 => self.number::<4>().and_then(|length| self.container(length, 2, depth)),
            Marker::Reserved => Err(MalformedFrame::ReservedMarker { at: begin }),
        }
    }

    /// `length` elements of `width` values each.
    fn container(&mut self, length: usize, width: usize, depth: u16) -> Result<(), MalformedFrame> {
        if depth >= self.limits.max_depth {
            return Err(MalformedFrame::TooDeep { at: self.at, limit: self.limits.max_depth });
        }
        let values = length.saturating_mul(width);
        // A value takes a byte at least.
        self.available(values)?;
        if length > 0 {
            // Not more than 2^33 times 64.
            self.hold(length.max(LEAST_CAPACITY).next_power_of_two() * width * VALUE + ALLOCATION)?;
        }
        for _ in 0..values {
            self.value_at_depth(depth + 1)?;
        }
        Ok(())
    }

    fn text(&mut self, length: usize) -> Result<(), MalformedFrame> {
        self.skip(length)?;
        match length {
            0 => Ok(()),
            1..=EXACT_TEXT => self.hold(length + ALLOCATION),
            _ => self.hold(length.next_power_of_two() + ALLOCATION),
        }
    }

    /// The data of an extension, behind the byte that says its type.
    fn extension(&mut self, length: usize) -> Result<(), MalformedFrame> {
        self.skip(1)?;
        self.text(length)
    }

    fn hold(&mut self, memory: usize) -> Result<(), MalformedFrame> {
        self.memory = self.memory.saturating_add(memory);
        if self.memory > self.limits.max_decoded_bytes {
            return Err(MalformedFrame::TooManyValues { at: self.at, limit: self.limits.max_decoded_bytes });
        }
        Ok(())
    }

    /// A number of `N` bytes in network order.
    fn number<const N: usize>(&mut self) -> Result<usize, MalformedFrame> {
        let begin = self.at;
        self.skip(N)?;
        Ok(self.bytes[begin..self.at].iter().fold(0, |number, &byte| number << 8 | usize::from(byte)))
    }

    fn skip(&mut self, length: usize) -> Result<(), MalformedFrame> {
        self.available(length)?;
        self.at += length;
        Ok(())
    }

    fn available(&self, length: usize) -> Result<(), MalformedFrame> {
        let left = self.bytes.len() - self.at;
        match length.checked_sub(left) {
            None | Some(0) => Ok(()),
            Some(missing) => Err(MalformedFrame::Truncated { at: self.bytes.len(), missing }),
        }
    }
}
