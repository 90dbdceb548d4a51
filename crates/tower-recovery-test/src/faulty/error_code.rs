//! The error codes of HTTP/2.

use std::fmt;

/// The code in an `RST_STREAM` or a `GOAWAY` frame: any number, with the names of [RFC 9113, section 7].
///
/// [RFC 9113, section 7]: https://www.rfc-editor.org/rfc/rfc9113.html#section-7
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ErrorCode(pub u32);

impl ErrorCode {
    /// Nothing is wrong: a shutdown, or an answer that is complete before its request.
    pub const NO_ERROR: Self = Self(0x0);
    /// The peer broke the protocol.
    pub const PROTOCOL_ERROR: Self = Self(0x1);
    /// Something unexpected happened.
    pub const INTERNAL_ERROR: Self = Self(0x2);
    /// The peer sent more than it was allowed to.
    pub const FLOW_CONTROL_ERROR: Self = Self(0x3);
    /// The settings were not acknowledged in time.
    pub const SETTINGS_TIMEOUT: Self = Self(0x4);
    /// A frame came for a stream that is closed.
    pub const STREAM_CLOSED: Self = Self(0x5);
    /// A frame has a wrong size.
    pub const FRAME_SIZE_ERROR: Self = Self(0x6);
    /// The stream was not processed.
    pub const REFUSED_STREAM: Self = Self(0x7);
    /// The stream is not needed any more.
    pub const CANCEL: Self = Self(0x8);
    /// The state of the header compression is lost.
    pub const COMPRESSION_ERROR: Self = Self(0x9);
    /// The connection of a `CONNECT` failed.
    pub const CONNECT_ERROR: Self = Self(0xa);
    /// The peer causes too much load.
    pub const ENHANCE_YOUR_CALM: Self = Self(0xb);
    /// The transport is not safe enough.
    pub const INADEQUATE_SECURITY: Self = Self(0xc);
    /// The request must be sent over HTTP/1.1.
    pub const HTTP_1_1_REQUIRED: Self = Self(0xd);
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:#x}", self.0)
    }
}
