//! Beyond what the server takes: it puts out whoever sends too much at a time.

use futures_util::{StreamExt, stream::FuturesUnordered};
use tower_recovery::{Classify, Delivery};
use tower_recovery_hypha::{Call, CallError, HyphaClassifier, HyphaClient, Value};
use tower_recovery_test::hypha::HyphaServer;

use crate::hypha::within;

const CALLS: usize = 400;

#[tokio::test]
async fn who_sends_too_much_is_put_out_and_each_call_ends_as_answered_or_as_maybe_sent() {
    let builder = HyphaServer::builder().variable("HYPHA_WS_MSG_RATE_LIMIT", "100");
    let Some(server) = builder.variable("HYPHA_WS_MSG_BURST_LIMIT", "200").start().await else { return };
    within(async {
        let client =
            HyphaClient::builder(server.url()).token(server.token()).client_id("fast").connect().await.unwrap();
        let calls = (0..CALLS).map(|number| client.manager(Call::new("echo").arg(number)));
        let mut calls: FuturesUnordered<_> = calls.collect();
        let (mut answered, mut lost) = (0, 0);
        while let Some(outcome) = calls.next().await {
            match outcome {
                Ok(_) => answered += 1,
                Err(error) => {
                    assert!(
                        matches!(&error, CallError::ConnectionLost { reason } if reason.contains("Rate limit")),
                        "{error:?}"
                    );
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
