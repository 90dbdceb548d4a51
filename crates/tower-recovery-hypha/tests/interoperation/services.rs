//! What Rust offers is found and called in every way that Hypha has.

use tower_recovery_hypha::{Call, SelectionMode, ServiceId, Value};

use crate::hypha::{Hypha, echoing, with_hypha};

#[tokio::test]
async fn python_finds_what_rust_offers_by_each_form_of_its_name_and_in_each_mode() {
    with_hypha(async |hypha| {
        let client = hypha.client("found-1").await;
        client.offer(echoing("found")).await.unwrap();
        for name in ["found", "found-1:found", "ws-user-root/found", "ws-user-root/found-1:found", "found@*"] {
            for mode in [None, Some("exact"), Some("random"), Some("first"), Some("last")] {
                let id = hypha.user.resolve(name, mode).await;
                assert_eq!(
                    id.as_ref().map(|handle| handle.id()),
                    Ok("ws-user-root/found-1:found"),
                    "{name} by {mode:?}"
                );
                let back = hypha.user.call_with(name, mode, "echo", [7.into()], []).await;
                assert_eq!(back, Ok(Value::from(7)), "{name} by {mode:?}");
            }
        }
        client.close().await;
    })
    .await;
}

#[tokio::test]
async fn rust_finds_what_two_pythons_and_itself_offer() {
    with_hypha(async |hypha| {
        let client = hypha.client("of-several").await;
        let id: ServiceId = "probe".parse().unwrap();
        assert_eq!(&**client.find(&"provider:probe".parse().unwrap()).await.unwrap().peer(), "ws-user-root/provider");
        client.offer(echoing("several")).await.unwrap();
        for mode in [SelectionMode::Random, SelectionMode::First, SelectionMode::Last] {
            let service = client.find_by(&id, &mode).await.unwrap();
            assert_eq!(service.call_method(Call::new("echo").arg(1)).await.unwrap(), Value::from(1));
        }
        let own = client.find(&"several".parse().unwrap()).await.unwrap();
        assert_eq!(own.call_method(Call::new("echo").arg(2)).await.unwrap(), Value::from(2));
        client.close().await;
    })
    .await;
}

#[tokio::test]
async fn the_registry_knows_a_service_once_with_its_description_and_the_client_answers_its_pings() {
    with_hypha(async |hypha| {
        let client = hypha.client("listed-1").await;
        let service = echoing("listed").description("Gives back what it is given.").kind("echo");
        // Offered again, it takes the place of the first.
        client.offer(service.clone()).await.unwrap();
        client.offer(service).await.unwrap();

        let pong = client.manager(Call::new("ping").arg("listed-1")).await.unwrap();
        assert_eq!(pong, Value::from("pong"));
        let listed = hypha.user.manager("list_services", [], []).await.unwrap();
        let of_this: Vec<_> = listed.as_array().unwrap().iter().filter(|info| info["name"].as_str() == Some("listed")).collect();
        assert_eq!(of_this.len(), 1);
        assert_eq!(of_this[0]["id"].as_str(), Some("ws-user-root/listed-1:listed"));
        assert_eq!(of_this[0]["description"].as_str(), Some("Gives back what it is given."));
        assert_eq!(of_this[0]["type"].as_str(), Some("echo"));
        assert_eq!(client.list(&"listed".parse().unwrap()).await.unwrap().len(), 1);

        let script = "async def main(server):\n\
                      \x20   service = await server.get_service('listed')\n\
                      \x20   info = await server.get_service_info('listed')\n\
                      \x20   return [service.id, service.name, service.type, service.description, sorted(info.service_schema)]\n";
        let seen = hypha.user.run(script, []).await.unwrap();
        let methods = Value::Array(vec!["echo".into(), "echo_all".into()]);
        let expected = ["ws-user-root/listed-1:listed", "listed", "echo", "Gives back what it is given."].map(Value::from);
        assert_eq!(seen, Value::Array(expected.into_iter().chain([methods]).collect()));

        client.withdraw("listed").await.unwrap();
        assert_eq!(client.list(&"listed".parse().unwrap()).await.unwrap(), []);
        hypha.user.resolve("listed", None).await.unwrap_err();
        client.close().await;
    })
    .await;
}

async fn body(response: reqwest::RequestBuilder) -> (u16, String) {
    let response = response.send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

fn url(hypha: &Hypha, path: &str) -> String {
    format!("{}/ws-user-root/services/{path}", hypha.server.url())
}

#[tokio::test]
async fn what_rust_offers_is_called_over_http() {
    with_hypha(async |hypha| {
        let client = hypha.client("web-1").await;
        client.offer(echoing("web")).await.unwrap();
        let http = reqwest::Client::new();
        for service in ["web", "web-1:web"] {
            let (status, info) = body(http.get(url(hypha, service))).await;
            assert!(status == 200 && info.contains("ws-user-root/web-1:web"), "{status} {info}");
            let got = body(http.get(url(hypha, &format!("{service}/echo?value=7")))).await;
            assert_eq!(got, (200, "7".to_owned()));
            let post = http.post(url(hypha, &format!("{service}/echo_all")));
            let post =
                post.header("content-type", "application/json").body(r#"{"a": [1, "ü", null], "b": {"c": 0.5}}"#);
            let (status, all) = body(post).await;
            let all: serde_json::Value = serde_json::from_str(&all).unwrap();
            let expected = serde_json::json!({"args": [], "kwargs": {"a": [1, "ü", null], "b": {"c": 0.5}}});
            assert_eq!((status, all), (200, expected));
        }
        let (status, _) = body(http.get(url(hypha, "web/nothing"))).await;
        assert_eq!(status, 404);
        client.close().await;
    })
    .await;
}
