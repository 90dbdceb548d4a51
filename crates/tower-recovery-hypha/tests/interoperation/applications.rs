//! Services of an application, found with `@` and its name.

use tower::ServiceExt;
use tower_recovery::LookUp;
use tower_recovery_hypha::{Call, CallError, HyphaResolver, ResolveServiceError, ServiceId, ServiceQuery, Value};

use crate::hypha::{echoing, map, with_hypha};

/// Connects once more, as a client of an application.
const STORE: &str = "from hypha_rpc import connect_to_server\n\
                     async def main(server, config):\n\
                     \x20   global store\n\
                     \x20   store = await connect_to_server(config)\n\
                     \x20   async def echo(value):\n\
                     \x20       return value\n\
                     \x20   config = {'visibility': 'public'}\n\
                     \x20   info = await store.register_service({'id': 'stored', 'config': config, 'echo': echo})\n\
                     \x20   return info['id']\n";

#[tokio::test]
async fn rust_finds_the_service_of_a_python_application_and_under_no_other_applications_name() {
    with_hypha(async |hypha| {
        let config = map([
            ("server_url", hypha.server.url().into()),
            ("token", hypha.server.token().into()),
            ("client_id", "store-1".into()),
            ("app_id", "store".into()),
        ]);
        hypha.user.run(STORE, [("config", config)]).await.unwrap();
        let client = hypha.client("customer").await;
        let resolver = HyphaResolver::new(client.clone());
        let query = |id: &ServiceId| LookUp::new(ServiceQuery::from(id.clone()));
        for name in ["stored", "store-1:stored", "ws-user-root/stored", "ws-user-root/store-1:stored"] {
            for app in ["@store", "@*", ""] {
                let id: ServiceId = format!("{name}{app}").parse().unwrap();
                let service = client.find(&id).await.unwrap();
                assert_eq!((&**service.peer(), &**service.service()), ("ws-user-root/store-1", "stored"), "{id:?}");
                assert_eq!(service.call_method(Call::new("echo").arg(1)).await.unwrap(), Value::from(1), "{id:?}");
                let listed = client.list(&id).await.unwrap();
                assert_eq!(listed.iter().map(|info| info.app.as_deref()).collect::<Vec<_>>(), [Some("store")]);
                let resolved = resolver.clone().oneshot(query(&id)).await.unwrap();
                assert_eq!(resolved.identity.as_str(), "ws-user-root/store-1");
            }
            let other: ServiceId = format!("{name}@other").parse().unwrap();
            let error = client.find(&other).await.unwrap_err();
            assert!(matches!(&error, CallError::ServiceNotFound { id } if id.ends_with("@other")), "{error:?}");
            assert_eq!(client.list(&other).await.unwrap(), []);
            let failure = resolver.clone().oneshot(query(&other)).await.unwrap_err();
            let error: &ResolveServiceError = failure.find().unwrap();
            assert!(matches!(error, ResolveServiceError::Call(CallError::ServiceNotFound { .. })), "{error:?}");
        }
        client.close().await;
    })
    .await;
}

#[tokio::test]
async fn python_finds_the_service_of_a_rust_application_and_under_no_other_applications_name() {
    with_hypha(async |hypha| {
        let client = hypha.builder("mine-1").app_id("mine").connect().await.unwrap();
        client.offer(echoing("offered")).await.unwrap();
        for name in ["offered", "mine-1:offered", "ws-user-root/offered", "ws-user-root/mine-1:offered"] {
            for app in ["@mine", "@*", ""] {
                let name = format!("{name}{app}");
                let id = hypha.user.resolve(&name, None).await;
                assert_eq!(id.as_ref().map(|handle| handle.id()), Ok("ws-user-root/mine-1:offered"), "{name}");
                let back = hypha.user.call_with(&name, None, "echo", [7.into()], []).await;
                assert_eq!(back, Ok(Value::from(7)), "{name}");
            }
            hypha.user.resolve(&format!("{name}@other"), None).await.unwrap_err();
        }
        client.withdraw("offered").await.unwrap();
        hypha.user.resolve("mine-1:offered", None).await.unwrap_err();
        client.close().await;
    })
    .await;
}
