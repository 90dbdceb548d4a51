//! Who is let in, and as what.

use std::sync::Arc;

use tower_recovery_hypha::{Call, CallError, ConnectError, HyphaClient, HyphaClientBuilder, StartError, Value};

use crate::hypha::{echoing, probe, with_hypha};

async fn refused(builder: HyphaClientBuilder) -> Arc<ConnectError> {
    match builder.connect().await {
        Err(StartError::Connect(error)) => error,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn without_a_token_a_client_has_a_workspace_of_its_own_and_calls_what_is_public() {
    with_hypha(async |hypha| {
        let client = HyphaClient::builder(hypha.server.url()).client_id("anonymous").connect().await.unwrap();
        let workspace = client.workspace().unwrap();
        assert!(workspace.starts_with("ws-user-anonymouz-"), "{workspace}");
        let back = probe(&client).await.call_method(Call::new("echo").arg(7)).await.unwrap();
        assert_eq!(back, Value::from(7));

        client.offer(echoing("anonymous")).await.unwrap();
        let id = format!("{workspace}/anonymous:anonymous");
        assert_eq!(hypha.user.call(&id, "echo", [8.into()], []).await, Ok(Value::from(8)));
        client.close().await;
    })
    .await;
}

#[tokio::test]
async fn without_a_token_no_other_workspace_is_open() {
    with_hypha(async |hypha| {
        let builder = HyphaClient::builder(hypha.server.url()).client_id("intruder").workspace("ws-user-root");
        let error = refused(builder).await;
        assert!(matches!(&*error, ConnectError::Forbidden { .. }) && error.is_permanent(), "{error:?}");
    })
    .await;
}

#[tokio::test]
async fn a_token_for_another_workspace_gives_no_access() {
    with_hypha(async |hypha| {
        let root = hypha.client("giver").await;
        let token = hypha.token(&root, "ws-theirs", &[]).await;
        let stranger = |workspace: &str| {
            HyphaClient::builder(hypha.server.url()).client_id("stranger").token(token.as_str()).workspace(workspace)
        };
        let error = refused(stranger("ws-user-root")).await;
        assert!(error.is_permanent(), "{error:?}");
        let client = stranger("ws-theirs").connect().await.unwrap();
        assert_eq!(client.workspace().as_deref(), Some("ws-theirs"));
        client.close().await;
        root.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_token_that_is_none_or_has_expired_is_not_accepted() {
    with_hypha(async |hypha| {
        let root = hypha.client("expiry").await;
        let expired = hypha.token(&root, "ws-user-root", &[("expires_in", 1.into())]).await;
        hypha.until_expired(&expired).await;
        let altered = format!("{}x", hypha.token(&root, "ws-user-root", &[]).await);
        for (what, token) in [("garbage", "garbage"), ("dots", "a.b.c"), ("expired", &expired), ("altered", &altered)] {
            let builder = HyphaClient::builder(hypha.server.url()).client_id("refused").workspace("ws-user-root");
            let error = refused(builder.token(token)).await;
            let is_unauthenticated = matches!(*error, ConnectError::Unauthenticated { .. });
            assert!(is_unauthenticated && error.is_permanent(), "{what}: {error:?}");
        }
        root.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_token_that_may_only_read_calls_and_offers_nothing() {
    with_hypha(async |hypha| {
        // One who owns the workspace may do everything there, by whatever token.
        let owner = HyphaClient::builder(hypha.server.url()).client_id("reading").connect().await.unwrap();
        let workspace = owner.workspace().unwrap();
        let token = hypha.token(&owner, &workspace, &[("permission", "read".into())]).await;
        let builder = HyphaClient::builder(hypha.server.url()).client_id("reader").token(token);
        let client = builder.workspace(&*workspace).connect().await.unwrap();
        let probe = probe(&client).await;
        let long = Value::Binary(vec![7; 1 << 20]);
        for value in [Value::from(7), long] {
            assert!(probe.call_method(Call::new("echo").arg(value.clone())).await.unwrap() == value);
        }
        let error = client.offer(echoing("reader")).await.unwrap_err();
        assert!(matches!(&error, CallError::Remote(error) if error.kind() == "PermissionError"), "{error:?}");
        assert_eq!(owner.list(&"reader".parse().unwrap()).await.unwrap(), []);
        assert_eq!(probe.call_method(Call::new("echo").arg(8)).await.unwrap(), Value::from(8));
        client.close().await;
        owner.close().await;
    })
    .await;
}
