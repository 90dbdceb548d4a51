//! Who finds and calls what Rust offers, from another workspace: that of somebody without a token.

use tower_recovery_hypha::{Call, CallError, HyphaClient, LocalService, PeerCall, Value, Visibility};
use tower_service::Service;

use crate::hypha::{echoing, with_hypha};

const SCRIPT: &str = "from hypha_rpc import connect_to_server\n\
                      async def main(server, url, services):\n\
                      \x20   seen = []\n\
                      \x20   async with connect_to_server({'server_url': url}) as other:\n\
                      \x20       listed = {info['id'] for info in await other.list_services({'workspace': 'ws-user-root'})}\n\
                      \x20       for id in services:\n\
                      \x20           try:\n\
                      \x20               back = await (await other.get_service(id)).echo(7)\n\
                      \x20           except Exception as error:\n\
                      \x20               back = 'denied' if 'ermission denied' in str(error) else str(error)\n\
                      \x20           seen.append([id in listed, back])\n\
                      \x20   return seen\n";

fn offered(name: &str, visibility: Visibility) -> LocalService {
    echoing(name).visibility(visibility)
}

#[tokio::test]
async fn another_workspace_calls_what_is_not_protected_and_sees_what_is_public() {
    with_hypha(async |hypha| {
        let client = hypha.client("visible").await;
        client.offer(offered("protected", Visibility::Protected)).await.unwrap();
        client.offer(offered("public", Visibility::Public)).await.unwrap();
        client.offer(offered("unlisted", Visibility::Unlisted)).await.unwrap();
        let ids = ["protected", "public", "unlisted"].map(|name| format!("ws-user-root/visible:{name}"));
        let services = Value::Array(ids.iter().map(|id| id.as_str().into()).collect());
        let seen = hypha.user.run(SCRIPT, [("url", hypha.server.url().into()), ("services", services)]).await.unwrap();
        let expected = [(false, "denied".into()), (true, 7.into()), (false, Value::from(7))];
        let expected = expected.map(|(is_listed, back)| Value::Array(vec![is_listed.into(), back]));
        assert_eq!(seen, Value::Array(expected.to_vec()));

        // Also one who asks the registry nothing.
        let mut neighbour = HyphaClient::builder(hypha.server.url()).client_id("neighbour").connect().await.unwrap();
        let mut call =
            |service: &str| neighbour.call(PeerCall::new("ws-user-root/visible", service, Call::new("echo").arg(7)));
        let error = call("protected").await.unwrap_err();
        assert!(matches!(&error, CallError::Remote(error) if error.kind() == "PermissionError"), "{error:?}");
        assert_eq!(call("public").await.unwrap(), Value::from(7));
        assert_eq!(call("unlisted").await.unwrap(), Value::from(7));

        // In the workspace itself all are called.
        for id in ids {
            assert_eq!(hypha.user.call(&id, "echo", [7.into()], []).await, Ok(Value::from(7)));
        }
        neighbour.close().await;
        client.close().await;
    })
    .await;
}
