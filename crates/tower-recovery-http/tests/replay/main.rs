//! Bodies that are sent again: what each copy yields, what is kept and for how long, on one thread, on two, and over a socket.

mod allocations;
mod auto_traits;
mod bodies;
mod model;
mod socket;
mod source;
mod threads;
