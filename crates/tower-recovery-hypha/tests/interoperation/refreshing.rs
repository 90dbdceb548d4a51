//! A client comes back by the token that it was given last.

use std::time::Duration;

use tower_recovery_hypha::{Call, HyphaClient, Value};
use tower_recovery_test::cutting::{CuttingProxy, Direction};

use crate::hypha::{Hypha, echoing, probe, with_hypha};

#[tokio::test]
async fn a_client_comes_back_by_a_refreshed_token_when_the_others_have_expired() {
    with_hypha(async |hypha| {
        let root = hypha.client("refreshing").await;
        let life = Hypha::RECONNECTION_TOKEN_LIFE;
        let token = hypha.token(&root, "ws-user-root", &[("expires_in", life.as_secs().into())]).await;
        let upstream = hypha.server.url().trim_start_matches("http://").parse().unwrap();
        let proxy = CuttingProxy::before(upstream).start().await.unwrap();
        let client = HyphaClient::builder(proxy.origin())
            .client_id("refreshed")
            .token(token)
            .token_refresh_interval(Duration::from_secs(1))
            .reconnect_pause(Duration::from_millis(10), Duration::from_millis(10))
            .connect()
            .await
            .unwrap();
        client.offer(echoing("refreshed")).await.unwrap();
        let probe = probe(&client).await;

        // Younger than the token of the user and the one of the first connection, and as long-lived: when it is good for nothing, so are they.
        let younger = hypha.token(&root, "ws-user-root", &[("expires_in", life.as_secs().into())]).await;
        hypha.until_expired(&younger).await;
        let forwarded = proxy.forwarded(Direction::ToClient);
        proxy.wait_until_forwarded(Direction::ToClient, forwarded + 100).await;
        let mut status = client.status();
        status.borrow_and_update();
        proxy.refuse().await;
        status.wait_for(|status| !status.is_connected()).await.unwrap();
        proxy.accept_again().unwrap();
        status.wait_for(tower_recovery_hypha::ConnectionStatus::is_connected).await.unwrap();

        assert_eq!(probe.call_method(Call::new("echo").arg(7)).await.unwrap(), Value::from(7));
        assert_eq!(hypha.user.call("refreshed", "echo", [8.into()], []).await, Ok(Value::from(8)));
        client.close().await;
        root.close().await;
    })
    .await;
}
