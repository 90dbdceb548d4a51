//! What goes over the wire, without the wire: frames are read and written here, and long messages put together.
//!
//! A frame is two MessagePack maps one after the other, the head (who, to whom, which method) and the body (arguments and promise), which may be missing. The
//! server writes `ws`, `from`, `to` and `user` of the head anew when it relays a frame, so these are the server's word; the body is the sender's own. Nothing
//! that a frame claims about its sizes is believed before the bytes are there, see [`Limits`].

mod address;
mod chunks;
mod decode;
mod encode;
mod fields;
mod incoming;
mod limits;
mod malformed;
mod promise;
mod scan;

pub(crate) use address::decode_address;
pub(crate) use chunks::{ChunkError, Chunks};
pub(crate) use decode::{decode, decode_assembled};
pub(crate) use encode::{Body, Head, encode_body, encode_head};
pub(crate) use incoming::{Callback, Incoming, IncomingCall, IncomingEvent, Promise, Relayed};
pub(crate) use limits::Limits;
pub use malformed::MalformedFrame;

#[cfg(test)]
mod tests;
