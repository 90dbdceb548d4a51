//! How much memory long messages take. A binary of its own, since the memory of the whole process is measured.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail like the tests do")]

#[allow(dead_code, reason = "the other binary uses the rest")]
#[path = "interoperation/hypha.rs"]
mod hypha;

use futures_util::future::join_all;
use peak_alloc::PeakAlloc;
use tokio::time::Instant;
use tower_recovery_hypha::{Call, Value};

use crate::hypha::{echoing, probe, with_hypha};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const MIB: usize = 1 << 20;
const LENGTH: usize = 16 * MIB;
const AT_ONCE: usize = 4;
/// Of a call that takes 16 MiB and gives as much: five times its length, if all of them are at their peak in one moment.
const MOST: usize = 5 * LENGTH;

/// What this process holds at the peak for each of so many calls.
struct Measured {
    before: usize,
    began: Instant,
}

impl Measured {
    fn begin() -> Self {
        MEMORY.reset_peak_usage();
        Self { before: MEMORY.current_usage(), began: Instant::now() }
    }

    fn end(self, what: &str) -> usize {
        let each = (MEMORY.peak_usage() - self.before) / AT_ONCE;
        println!(
            "{AT_ONCE} echoes of 16 MiB by {what}: {:?}, {} MiB at the peak for each",
            self.began.elapsed(),
            each / MIB
        );
        each
    }
}

#[tokio::test]
async fn long_messages_at_once_take_a_few_times_their_length() {
    with_hypha(async |hypha| {
        let client = hypha.client("many-long").await;
        client.offer(echoing("many-long")).await.unwrap();
        let probe = probe(&client).await;
        let value = Value::Binary(vec![7; LENGTH]);

        // Each call has a copy of the value of its own, which is not counted.
        let calls: Vec<_> = (0..AT_ONCE).map(|_| probe.call_method(Call::new("echo").arg(value.clone()))).collect();
        let measured = Measured::begin();
        let echoed = join_all(calls).await;
        let by_python = measured.end("Python");
        assert!(echoed.iter().all(|back| back.as_ref().is_ok_and(|back| *back == value)));
        drop((echoed, value));

        let script = "import asyncio\n\
                      async def main(server, length, at_once):\n\
                      \x20   service = await server.get_service('many-long')\n\
                      \x20   data = bytes(length)\n\
                      \x20   return [back == data for back in await asyncio.gather(*(service.echo(data) for _ in range(at_once)))]\n";
        let measured = Measured::begin();
        let back = hypha.user.run(script, [("length", LENGTH.into()), ("at_once", AT_ONCE.into())]).await.unwrap();
        let by_rust = measured.end("Rust");
        assert_eq!(back, Value::Array(vec![true.into(); AT_ONCE]));

        assert!(by_python < MOST && by_rust < MOST, "{} MiB, {} MiB", by_python / MIB, by_rust / MIB);
        client.close().await;
    })
    .await;
}
