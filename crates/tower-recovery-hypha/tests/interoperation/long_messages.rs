//! 16 MiB, as an argument and as a result, both ways; and how long that takes.

use tokio::time::Instant;
use tower_recovery_hypha::{Call, Value};

use crate::hypha::{echoing, probe, with_hypha};

const LENGTH: usize = 16 << 20;

/// What `pattern` of `probe.py` makes.
fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8).collect()
}

#[tokio::test]
async fn sixteen_mebibytes_are_an_argument_and_a_result_of_pythons() {
    with_hypha(async |hypha| {
        let client = hypha.client("long-caller").await;
        let probe = probe(&client).await;
        let sent = pattern(LENGTH);

        let began = Instant::now();
        let checked = probe.call_method(Call::new("checked").arg(Value::Binary(sent.clone()))).await.unwrap();
        println!("16 MiB as an argument, Rust to Python: {:?}", began.elapsed());
        assert_eq!((checked[0].as_str(), checked[1].as_u64()), (Some("bytes"), Some(LENGTH as u64)));

        let began = Instant::now();
        let received = probe.call_method(Call::new("pattern").arg(LENGTH)).await.unwrap();
        println!("16 MiB as a result, Python to Rust: {:?}", began.elapsed());
        assert!(received.as_slice() == Some(&sent));

        let began = Instant::now();
        const CALLS: u32 = 100;
        for _ in 0..CALLS {
            probe.call_method(Call::new("echo").arg(1)).await.unwrap();
        }
        println!("a quick call, Rust to Python: {:?}", began.elapsed() / CALLS);
        client.close().await;
    })
    .await;
}

#[tokio::test]
async fn sixteen_mebibytes_are_an_argument_and_a_result_of_rusts() {
    with_hypha(async |hypha| {
        let client = hypha.client("long-echo").await;
        let service = echoing("long-echo")
            .method("is_pattern", |call| async move {
                Ok(Value::from(call.argument(0, "data").and_then(Value::as_slice) == Some(&pattern(LENGTH))))
            })
            .method("pattern", |_| async { Ok(Value::Binary(pattern(LENGTH))) });
        client.offer(service).await.unwrap();
        let script = "import time\n\
                      async def main(server, length):\n\
                      \x20   service = await server.get_service('long-echo')\n\
                      \x20   pattern = (bytes(range(251)) * (length // 251 + 1))[:length]\n\
                      \x20   times = [time.monotonic()]\n\
                      \x20   taken = await service.is_pattern(pattern)\n\
                      \x20   times.append(time.monotonic())\n\
                      \x20   given = await service.pattern() == pattern\n\
                      \x20   times.append(time.monotonic())\n\
                      \x20   for _ in range(100): await service.echo(1)\n\
                      \x20   times.append(time.monotonic())\n\
                      \x20   return [taken, given, *(after - before for before, after in zip(times, times[1:]))]\n";
        let seen = hypha.user.run(script, [("length", LENGTH.into())]).await.unwrap();
        println!(
            "16 MiB as an argument, Python to Rust: {} s; as a result: {} s; 100 quick calls: {} s",
            seen[2], seen[3], seen[4]
        );
        assert_eq!((&seen[0], &seen[1]), (&true.into(), &true.into()));
        client.close().await;
    })
    .await;
}
