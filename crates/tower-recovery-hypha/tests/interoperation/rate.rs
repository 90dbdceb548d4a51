//! How many messages go out: no more than the server takes, which puts out whoever sends too many.

use std::time::Duration;

use futures_util::{StreamExt, future::join_all, stream::FuturesUnordered};
use tokio::time::Instant;
use tower_recovery::{Classify, Delivery};
use tower_recovery_hypha::{Call, CallError, CallFuture, HyphaClassifier, HyphaClient, Value};
use tower_recovery_test::hypha::HyphaServer;

use crate::hypha::{echoing, with_hypha, within};

/// So many calls of a method that answers at once.
fn calls(client: &HyphaClient, number: usize) -> Vec<CallFuture> {
    (0..number).map(|number| client.manager(Call::new("echo").arg(number))).collect()
}

#[tokio::test]
async fn who_sends_more_than_the_server_takes_is_put_out_and_what_was_sent_may_have_been() {
    const CALLS: usize = 400;
    let builder = HyphaServer::builder().variable("HYPHA_WS_MSG_RATE_LIMIT", "100");
    let Some(server) = builder.variable("HYPHA_WS_MSG_BURST_LIMIT", "200").start().await else { return };
    within(async {
        let builder = HyphaClient::builder(server.url()).token(server.token()).client_id("fast");
        let client = builder.pace(100_000, 100_000).connect().await.unwrap();
        let (mut answered, mut lost) = (0, 0);
        for outcome in join_all(calls(&client, CALLS)).await {
            match outcome {
                Ok(_) => answered += 1,
                Err(error) => {
                    let says_why = |reason: &str| reason.contains("Rate limit exceeded");
                    let is_lost = matches!(&error, CallError::ConnectionLost { reason } if says_why(reason));
                    assert!(is_lost, "{error:?}");
                    let verdict = Classify::<Value>::error(&HyphaClassifier::new(), &error);
                    assert_eq!(verdict.delivery(), Some(Delivery::MaybeSent));
                    lost += 1;
                }
            }
        }
        println!("{answered} of {CALLS} calls were answered, {lost} were lost with a connection");
        assert!(answered > 0 && lost > 0, "{answered} answered, {lost} lost");
        // What was not sent went over the next connection, and that is there.
        assert_eq!(client.manager(Call::new("echo").arg(7)).await.unwrap(), Value::from(7));
        client.close().await;
    })
    .await;
}

#[tokio::test]
async fn what_waits_for_its_time_does_not_hold_back_what_has_been_sent() {
    with_hypha(async |hypha| {
        let client = hypha.builder("paced").pace(20, 10).connect().await.unwrap();
        let began = Instant::now();
        let mut calls: FuturesUnordered<_> = calls(&client, 50).into_iter().collect();
        calls.next().await.unwrap().unwrap();
        let first = began.elapsed();
        while let Some(outcome) = calls.next().await {
            outcome.unwrap();
        }
        assert!(
            first < began.elapsed() / 2,
            "the first of 50 was answered after {first:?}, and the last after {:?}",
            began.elapsed()
        );
        client.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_client_that_sends_all_that_it_may_still_answers_pings_and_shows_that_its_answers_will_come() {
    with_hypha(async |hypha| {
        let busy = hypha.builder("busy").pace(200, 50).connect().await.unwrap();
        let service = echoing("busy").method("slow", |_| async {
            // Ends in the middle of the others, which take some 7 s by the pace.
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok(Value::from("done"))
        });
        busy.offer(service).await.unwrap();
        // Less than the answer waits for its turn, and more than it takes from there.
        let asking = hypha.builder("asking").answer_timeout(Duration::from_secs(4)).connect().await.unwrap();
        let slow = asking.find(&"busy:busy".parse().unwrap()).await.unwrap();

        let all = async {
            assert!(join_all(calls(&busy, 1500)).await.iter().all(Result::is_ok));
            Instant::now()
        };
        let pinged = async {
            for _ in 0..5 {
                let ping = Call::new("ping").keyword("client_id", "busy").keyword("timeout", 1);
                assert_eq!(asking.manager(ping).await.unwrap(), Value::from("pong"));
            }
            Instant::now()
        };
        let (all, pinged, done) = tokio::join!(all, pinged, slow.call_method(Call::new("slow")));
        assert!(pinged < all);
        assert_eq!(done.unwrap(), Value::from("done"));
        asking.close().await;
        busy.close().await;
    })
    .await;
}
