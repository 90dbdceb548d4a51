//! How much memory long messages take, and how patient their callers must be. A binary of its own, since the memory of the whole process is measured.

#[allow(dead_code, reason = "the other binary uses the rest")]
#[path = "interoperation/hypha.rs"]
mod hypha;

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use peak_alloc::PeakAlloc;
use tower_recovery_hypha::{Call, Value};

use crate::hypha::{echoing, probe, with_hypha};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const MIB: usize = 1 << 20;
const LENGTH: usize = 16 * MIB;
const AT_ONCE: usize = 4;
/// Shorter than what the transfers take.
const LIMIT: Duration = Duration::from_secs(1);

#[tokio::test]
async fn four_long_messages_at_once_take_little_more_than_themselves() {
    with_hypha(async |hypha| {
        let client = hypha.builder("many-long").answer_timeout(LIMIT).connect().await.unwrap();
        client.offer(echoing("many-long")).await.unwrap();
        let probe = probe(&client).await;
        let value = Value::Binary(vec![7; LENGTH]);

        let before = MEMORY.current_usage();
        MEMORY.reset_peak_usage();
        let began = Instant::now();
        let calls = (0..AT_ONCE).map(|_| probe.call_method(Call::new("echo").arg(value.clone())));
        let echoed = join_all(calls.collect::<Vec<_>>()).await;
        assert!(echoed.iter().all(|back| back.as_ref().is_ok_and(|back| *back == value)), "{:?}", echoed.iter().map(|back| back.as_ref().err()).collect::<Vec<_>>());
        let per_call = (MEMORY.peak_usage() - before) / AT_ONCE;
        println!("{AT_ONCE} echoes of 16 MiB by Python: {:?}, {} MiB at the peak for each", began.elapsed(), per_call / MIB);
        assert!(began.elapsed() > LIMIT);
        drop(echoed);

        MEMORY.reset_peak_usage();
        let before = MEMORY.current_usage();
        let began = Instant::now();
        let script = "import asyncio\n\
                      async def main(server, length, at_once):\n\
                      \x20   service = await server.get_service('many-long')\n\
                      \x20   data = bytes(length)\n\
                      \x20   return [back == data for back in await asyncio.gather(*(service.echo(data) for _ in range(at_once)))]\n";
        let back = hypha.user.run(script, [("length", LENGTH.into()), ("at_once", AT_ONCE.into())]).await.unwrap();
        assert_eq!(back, Value::Array(vec![true.into(); AT_ONCE]));
        let per_call = (MEMORY.peak_usage() - before) / AT_ONCE;
        println!("{AT_ONCE} echoes of 16 MiB by Rust: {:?}, {} MiB at the peak for each", began.elapsed(), per_call / MIB);
        client.close().await;
    })
    .await;
}
