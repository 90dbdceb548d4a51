//! Bodies that are sent again: what each copy yields, what is kept and for how long, on one thread, on two, and over a socket.

mod allocations;
mod auto_traits;
mod bodies;
mod model;
mod socket;
mod source;
mod threads;

use std::time::Duration;

/// How long a test waits for another thread or a socket.
const LIMIT: Duration = Duration::from_secs(30);

/// Ends a wait that is too long. The timer is asked first: it wakes the task too, so a wake-up that was lost would otherwise be made good
/// by it.
async fn bounded<Output>(run: impl Future<Output = Output>) -> Output {
    tokio::select! {
        biased;
        () = tokio::time::sleep(LIMIT) => panic!("nobody waits for ever"),
        output = run => output,
    }
}
