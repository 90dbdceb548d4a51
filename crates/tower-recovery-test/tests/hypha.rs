//! The harness round a real Hypha server: Python calls Python, and what happened is what the ledger says.

use std::time::Duration;

use rmpv::Value;
use tower_recovery_test::hypha::{Behaviour, Execution, HyphaServer, PythonError, PythonPeer, no_keywords};

fn map(entries: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    Value::Map(entries.into_iter().map(|(key, value)| (Value::from(key), value)).collect())
}

async fn within<Output>(test: impl Future<Output = Output>) -> Output {
    tokio::time::timeout(Duration::from_secs(120), test).await.expect("the test ends")
}

async fn manager_and_user(server: &HyphaServer) -> (PythonPeer, PythonPeer) {
    let (manager, user) = tokio::join!(server.artifact_manager("manager-1"), server.peer("user"));
    (manager.expect("the manager connects"), user.expect("the user connects"))
}

fn request<'key>(id: &str) -> [(&'key str, Value); 1] {
    [("request_id", Value::from(id))]
}

async fn call(user: &PythonPeer, method: &str, artifact: &str, id: &str) -> Result<Value, PythonError> {
    user.call("artifact-manager", method, [Value::from(artifact)], request(id)).await
}

fn executed(server: &HyphaServer) -> Vec<(String, String)> {
    let ledger = server.ledger().into_iter();
    ledger.map(|one| (one.method, one.request_id.unwrap_or_default())).collect()
}

#[tokio::test]
async fn values_come_back_as_they_were_sent() {
    within(async {
        let Some(server) = HyphaServer::start().await else { return };
        let (provider, user) = tokio::join!(server.peer("provider"), server.peer("user"));
        let (provider, user) = (provider.unwrap(), user.unwrap());
        let id = provider.register("values").await.unwrap();
        assert_eq!(id, "ws-user-root/provider:values");

        let bytes: Vec<u8> = (0..1 << 20).map(|at: u32| at.to_le_bytes()[1] ^ at.to_le_bytes()[0]).collect();
        let values = [
            Value::Nil,
            Value::from(true),
            Value::from(0),
            Value::from(i64::MIN),
            Value::from(u64::MAX),
            Value::from(0.1),
            Value::from(f64::INFINITY),
            Value::from(""),
            Value::from("Grüße, 世界 🦀\u{0}\n"),
            Value::Binary(vec![0, 255, 128]),
            Value::Binary(bytes),
            Value::Array(vec![Value::from(1), Value::from("1"), Value::Array(vec![])]),
            map([("a", map([("b", Value::Array(vec![Value::Nil]))])), ("c", Value::from(1.0))]),
        ];
        for value in values {
            let back = user.call(&id, "echo", [value.clone()], no_keywords()).await.unwrap();
            assert!(back == value, "{:.100} came back as {:.100}", value.to_string(), back.to_string());
        }

        let keywords = [("when", Value::from("now"))];
        let all = user.call("values", "echo_all", [Value::from(1), Value::from(2)], keywords).await.unwrap();
        assert_eq!(all["args"], Value::Array(vec![Value::from(1), Value::from(2)]));
        assert_eq!(all["kwargs"]["when"], Value::from("now"));
    })
    .await;
}

#[tokio::test]
async fn a_script_of_the_tests_own_is_given_the_connection_and_its_arguments() {
    within(async {
        let Some(server) = HyphaServer::start().await else { return };
        let peer = server.peer("peer").await.unwrap();
        let script = "class Refused(Exception): pass\n\
                      async def main(server, fails):\n\
                      \x20   if fails: raise Refused(\"no\")\n\
                      \x20   return [server.config.workspace, {1}]\n";
        let returned = peer.run(script, [("fails", Value::from(false))]).await.unwrap();
        assert_eq!(returned, Value::Array(vec![Value::from("ws-user-root"), Value::from("{1}")]));
        let raised = peer.run(script, [("fails", Value::from(true))]).await;
        assert_eq!(raised, Err(PythonError::Raised { class: "Refused".into(), text: "no".into() }));
    })
    .await;
}

#[tokio::test]
async fn sixteen_mebibytes_come_back_as_they_were_sent() {
    within(async {
        let Some(server) = HyphaServer::start().await else { return };
        let (provider, user) = tokio::join!(server.peer("provider"), server.peer("user"));
        let (provider, user) = (provider.unwrap(), user.unwrap());
        let id = provider.register("values").await.unwrap();
        let mut bytes = vec![0; 16 << 20];
        fastrand::Rng::with_seed(1).fill(&mut bytes);
        let back = user.call(&id, "echo", [Value::Binary(bytes.clone())], no_keywords()).await.unwrap();
        assert!(back.as_slice() == Some(&bytes));
    })
    .await;
}

#[tokio::test]
async fn the_ledger_shows_each_execution_with_its_view() {
    within(async {
        let Some(server) = HyphaServer::start().await else { return };
        let (manager, user) = manager_and_user(&server).await;

        call(&user, "create", "books", "1").await.unwrap();
        let read = call(&user, "read", "books", "2").await.unwrap();
        assert_eq!(read["view_count"], Value::from(1));
        let silent = [("request_id", Value::from("3")), ("silent", Value::from(true))];
        user.call("artifact-manager", "read", [Value::from("books")], silent.clone()).await.unwrap();
        for method in ["read_file", "list_files"] {
            let refused = user.call("artifact-manager", method, [Value::from("books")], silent.clone()).await;
            assert!(refused.unwrap_err().text().contains("TypeError"), "{method} has no silent");
        }
        assert!(call(&user, "read", "papers", "4").await.unwrap_err().text().contains("KeyError"));
        user.call("artifact-manager", "put_file", [Value::from("books"), Value::from("a")], request("5"))
            .await
            .unwrap();
        user.call("artifact-manager", "get_file", [Value::from("books"), Value::from("a")], request("6"))
            .await
            .unwrap();
        let committed = call(&user, "commit", "books", "7").await.unwrap();
        assert_eq!(committed["versions"].as_array().map(Vec::len), Some(2));

        let raise = Behaviour::raise("ValueError", "no").times(1);
        manager.behave("list", raise).await.unwrap();
        let list = || user.call("artifact-manager", "list", [], request("8"));
        assert!(list().await.unwrap_err().text().contains("ValueError"));
        assert_eq!(list().await.unwrap()[0]["id"], Value::from("books"));

        let seen: Vec<_> = server
            .ledger()
            .iter()
            .map(|one: &Execution| {
                assert_eq!((one.client_id.as_str(), one.pid), ("manager-1", manager.pid()));
                assert_eq!(one.caller.as_deref(), Some("ws-user-root/user"));
                (one.request_id.clone().unwrap(), one.method.clone(), one.view, one.raised.is_some())
            })
            .collect();
        let expected = [
            ("1", "create", false, false),
            ("2", "read", true, false),
            ("3", "read", false, false),
            ("4", "read", true, false),
            ("5", "put_file", false, false),
            ("6", "get_file", true, false),
            ("7", "commit", false, false),
            ("8", "list", true, true),
            ("8", "list", true, false),
        ];
        assert_eq!(seen, expected.map(|(id, method, view, raised)| (id.to_owned(), method.to_owned(), view, raised)));
        assert_eq!(server.views("books"), 2);

        // Whoever comes after one that was killed knows what it knew.
        manager.behave("commit", Behaviour::exit_after()).await.unwrap();
        let (died, ()) = tokio::join!(call(&user, "commit", "books", "9"), async {
            server.wait_until_executed("commit", 2).await;
        });
        died.unwrap_err();
        let next = server.artifact_manager("manager-2").await.unwrap();
        let id = format!("{}:artifact-manager", next.client_id());
        let read = user.call(&id, "read", [Value::from("books")], request("10")).await.unwrap();
        assert_eq!(read["versions"].as_array().map(Vec::len), Some(3));
    })
    .await;
}

#[tokio::test]
async fn a_frozen_manager_executes_what_it_has_received_when_it_thaws() {
    within(async {
        let Some(server) = HyphaServer::start().await else { return };
        let (manager, user) = manager_and_user(&server).await;
        call(&user, "create", "books", "1").await.unwrap();

        let handle = user.resolve("artifact-manager", None).await.unwrap();
        let commit = |id| user.call_handle(&handle, "commit", [Value::from("books")], request(id));
        manager.freeze();
        let (committed, ()) = tokio::join!(commit("2"), async {
            // On the same connection, so this answer comes after the commit has gone.
            user.list_services().await.unwrap();
            assert_eq!(executed(&server).len(), 1);
            manager.thaw();
        });
        assert_eq!(committed.unwrap()["versions"].as_array().map(Vec::len), Some(2));
        assert_eq!(executed(&server)[1], ("commit".into(), "2".into()));

        // It executes also for a caller that is gone by then.
        manager.freeze();
        let (killed, ()) = tokio::join!(commit("3"), async {
            user.list_services().await.unwrap();
            user.kill();
        });
        assert_eq!(killed, Err(PythonError::Ended));
        assert_eq!(executed(&server).len(), 2);
        manager.thaw();
        server.wait_until_executed("commit", 2).await;

        // What takes its time is received before it is executed.
        let user = server.peer("user-2").await.unwrap();
        let delay = Duration::from_millis(200);
        manager.behave("commit", Behaviour::answer().after(delay).times(1)).await.unwrap();
        let started = tokio::time::Instant::now();
        call(&user, "commit", "books", "4").await.unwrap();
        assert!(started.elapsed() >= delay);
        manager.behave("commit", Behaviour::hang_before()).await.unwrap();
        let hangs = call(&user, "commit", "books", "5");
        tokio::select! {
            answer = hangs => panic!("it answered {answer:?}"),
            () = server.wait_until_received("commit", 4) => {}
        }
        assert_eq!(executed(&server).len(), 4);

        // A frozen one dies like any other.
        manager.freeze();
        manager.kill();
        assert_eq!(manager.list_services().await, Err(PythonError::Ended));
    })
    .await;
}

#[tokio::test]
async fn an_id_is_refused_while_it_is_there_and_forgotten_on_demand() {
    within(async {
        let Some(server) = HyphaServer::start().await else { return };
        let (provider, user) = tokio::join!(
            server.peer_builder("provider").workspace("ws-books").start(),
            server.peer_builder("user").workspace("ws-books").start(),
        );
        let (provider, user) = (provider.unwrap(), user.unwrap());
        assert_eq!(provider.workspace(), "ws-books");
        let id = provider.register("work").await.unwrap();
        assert!(user.list_services().await.unwrap().contains(&id));

        user.unregister_service(&id).await.unwrap();
        assert!(!user.list_services().await.unwrap().contains(&id));
        let refused = user.resolve(&id, None).await.unwrap_err();
        assert!(refused.text().contains("Service not found"), "{refused}");

        provider.disconnect().await.unwrap();
        provider.connect().await.unwrap();
        provider.register("work").await.unwrap();
        user.call(&id, "write", [], request("1")).await.unwrap();
        assert_eq!(executed(&server), [("write".into(), "1".into())]);

        let root = server.peer("root").await.unwrap();
        let token = root.generate_token("ws-books").await.unwrap();
        server.peer_builder("third").workspace("ws-books").token(&token).start().await.unwrap();
        let refused = root.try_connect("root").await.unwrap_err();
        assert!(refused.text().contains("Client already exists and is active"), "{refused}");
    })
    .await;
}

#[tokio::test]
async fn a_peer_comes_back_by_itself_after_a_restart() {
    within(async {
        let Some(server) = HyphaServer::start().await else { return };
        let (provider, user) = tokio::join!(server.peer("provider"), server.peer("user"));
        let (provider, user) = (provider.unwrap(), user.unwrap());
        let id = provider.register("work").await.unwrap();
        let url = server.url();

        server.kill();
        server.restart().await;
        assert_eq!(server.url(), url);
        // Its own reconnect has no event that is seen from here. It is asked by what may be repeated.
        while user.call(&id, "echo", ["back?".into()], no_keywords()).await.is_err() {}
        user.call(&id, "write", [], request("1")).await.unwrap();
        let writes: Vec<_> = executed(&server).into_iter().filter(|(method, _)| method == "write").collect();
        assert_eq!(writes, [("write".into(), "1".into())]);

        server.freeze();
        let (answer, ()) = tokio::join!(user.call(&id, "write", [], request("2")), async {
            server.thaw();
        });
        answer.unwrap();
    })
    .await;
}

#[tokio::test]
async fn the_reaper_forgets_a_frozen_provider_and_leaves_its_connection() {
    within(async {
        let second = Duration::from_secs(1);
        let Some(server) = HyphaServer::builder().orphan_reaper(second, second).start().await else { return };
        let (provider, user) = tokio::join!(
            server.peer_builder("provider").workspace("public").start(),
            server.peer_builder("user").workspace("public").start(),
        );
        let (provider, user) = (provider.unwrap(), user.unwrap());
        let id = provider.register("work").await.unwrap();
        assert_eq!(id, "public/provider:work");
        provider.freeze();
        while user.list_services().await.unwrap().contains(&id) {}
        provider.thaw();
        // It is connected still, but nobody finds it.
        provider.list_services().await.unwrap();
        user.resolve(&id, None).await.unwrap_err();
    })
    .await;
}
