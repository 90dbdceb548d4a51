//! How long a caller waits: for as long as there are signs of life.

use std::time::Duration;

use tokio::time::Instant;
use tower::Service;
use tower_recovery::{Classify, Delivery};
use tower_recovery_hypha::{Call, CallError, HyphaClassifier, PeerCall, Value};

use crate::hypha::{echoing, map, probe, with_hypha};

#[tokio::test]
async fn python_has_more_time_than_the_rust_caller_waits_if_it_shows_that_it_lives() {
    with_hypha(async |hypha| {
        let client = hypha.builder("patient").answer_timeout(Duration::from_secs(1)).connect().await.unwrap();
        let began = Instant::now();
        let done = probe(&client).await.call_method(Call::new("slow").arg(3)).await.unwrap();
        assert_eq!(done, Value::from("done"));
        assert!(began.elapsed() >= Duration::from_secs(3));
        client.close().await;
    })
    .await;
}

#[tokio::test]
async fn rust_has_more_time_than_the_python_caller_waits_if_it_shows_that_it_lives() {
    with_hypha(async |hypha| {
        let client = hypha.client("slow").await;
        let service = echoing("slow").method("slow", |_| async {
            // What is tested is that this may take longer than the caller's 2 s.
            tokio::time::sleep(Duration::from_secs(5)).await;
            Ok(Value::from("done"))
        });
        client.offer(service).await.unwrap();
        let script = "from hypha_rpc import connect_to_server\n\
                      async def main(server, config):\n\
                      \x20   async with connect_to_server({**config, 'method_timeout': 2}) as impatient:\n\
                      \x20       return await (await impatient.get_service('slow')).slow()\n";
        let config = map([("server_url", hypha.server.url().into()), ("token", hypha.server.token().into())]);
        assert_eq!(hypha.user.run(script, [("config", config)]).await, Ok(Value::from("done")));
        client.close().await;
    })
    .await;
}

/// So many messages a second that 16 MiB, which are 64 pieces, take longer than anybody waits here for a sign of life.
const SLOW_PACE: (u32, u32) = (16, 8);

#[tokio::test]
async fn a_long_message_may_take_longer_than_its_rust_caller_waits() {
    with_hypha(async |hypha| {
        let limit = Duration::from_secs(2);
        let builder = hypha.builder("slow-caller").pace(SLOW_PACE.0, SLOW_PACE.1).answer_timeout(limit);
        let client = builder.connect().await.unwrap();
        let long = Value::Binary(vec![7; 16 << 20]);
        let began = Instant::now();
        assert!(probe(&client).await.call_method(Call::new("echo").arg(long.clone())).await.unwrap() == long);
        assert!(began.elapsed() > 2 * limit, "{:?}", began.elapsed());
        client.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_long_message_may_take_longer_than_its_python_caller_waits() {
    with_hypha(async |hypha| {
        let client = hypha.builder("slow-echo").pace(SLOW_PACE.0, SLOW_PACE.1).connect().await.unwrap();
        client.offer(echoing("slow-echo")).await.unwrap();
        let script = "from hypha_rpc import connect_to_server\n\
                      async def main(server, config):\n\
                      \x20   async with connect_to_server({**config, 'method_timeout': 2}) as impatient:\n\
                      \x20       long = bytes(16 << 20)\n\
                      \x20       return await (await impatient.get_service('slow-echo')).echo(long) == long\n";
        let config = map([("server_url", hypha.server.url().into()), ("token", hypha.server.token().into())]);
        let began = Instant::now();
        assert_eq!(hypha.user.run(script, [("config", config)]).await, Ok(Value::from(true)));
        assert!(began.elapsed() > Duration::from_secs(4), "{:?}", began.elapsed());
        client.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_python_process_that_stands_still_shows_no_sign_of_life_and_the_call_times_out() {
    with_hypha(async |hypha| {
        let frozen = hypha.server.peer("standing-still").await.unwrap();
        frozen.run(include_str!("probe.py"), []).await.unwrap();
        let limit = Duration::from_secs(1);
        let client = hypha.builder("impatient").answer_timeout(limit).connect().await.unwrap();
        let service = client.find(&"standing-still:probe".parse().unwrap()).await.unwrap();
        let error = service.call_method(Call::new("freeze").arg(30)).await.unwrap_err();
        assert!(matches!(error, CallError::TimedOut { silent } if silent == limit), "{error:?}");
        frozen.kill();
        client.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_call_of_a_client_that_never_was_times_out_as_one_that_may_have_been_executed() {
    with_hypha(async |hypha| {
        let limit = Duration::from_secs(1);
        let client = hypha.builder("caller-of-nobody").answer_timeout(limit).connect().await.unwrap();
        // The server passes on what is for one of whom it has never heard: it might be at another server of the same Redis.
        let error =
            client.clone().call(PeerCall::new("ws-user-root/nobody", "probe", Call::new("echo"))).await.unwrap_err();
        assert!(matches!(error, CallError::TimedOut { silent } if silent == limit), "{error:?}");
        let verdict = Classify::<Value>::error(&HyphaClassifier::new(), &error);
        assert_eq!(verdict.delivery(), Some(Delivery::MaybeSent));
        client.close().await;
    })
    .await;
}
