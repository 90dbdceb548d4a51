//! How much memory a stream of 1 GiB takes, whoever reads it and however fast.
//!
//! Every byte has its place: what is lost, doubled or put in the place of another is seen. Every allocation of this process counts, those of the server too; one test at a time runs.

use peak_alloc::PeakAlloc;

#[global_allocator]
static LIVE: PeakAlloc = PeakAlloc;

mod streams_memory {
    mod client;
    mod content;
    mod live;
    mod read;
    mod server;
    mod whole;
}
