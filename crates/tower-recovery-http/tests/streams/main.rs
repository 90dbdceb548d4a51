//! Streams that break, fall silent or end early, over real sockets: what people have reported of such calls, each by the id of its report, and what the stack was
//! made for in the first place.
//!
//! Reports that no protocol changes are told over HTTP/1.1 and over HTTP/2. Client and server share one thread: where it is held up, both of them are.

mod bills;
mod broken;
mod faults;
mod frozen;
mod late;
mod left;
mod origin;
mod pings;
#[cfg(feature = "reqwest")]
mod reqwest_client;
mod silent;
mod support;
mod terminal;
mod transport_types;
mod verdicts;
