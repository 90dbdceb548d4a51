//! What a real Hypha server answers over HTTP, and that a method of a service can say the same.

use std::time::Duration;

use http::StatusCode;
use rmpv::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use tower_recovery::Verdict;
use tower_recovery_hypha::http_verdict;
use tower_recovery_test::hypha::{Behaviour, HyphaServer, no_keywords};

const SERVICE: &str = "work";
const UNREACHABLE: Option<Verdict> = Some(Verdict::maybe_sent().stale());

struct Answer {
    status: StatusCode,
    body: String,
}

impl Answer {
    fn verdict(&self, client: &str) -> Option<Verdict> {
        http_verdict(self.status, self.body.as_bytes(), &format!("ws-user-root/{client}"), SERVICE)
    }
}

/// One call of `echo`, with a client of its own.
async fn echo(server: &HyphaServer, client: &str) -> Answer {
    let address = server.url().trim_start_matches("http://").to_owned();
    let request = format!(
        "GET /ws-user-root/services/{client}:{SERVICE}/echo HTTP/1.1\r\nhost: hypha\r\nauthorization: Bearer {}\r\nconnection: close\r\n\r\n",
        server.token()
    );
    let mut stream = TcpStream::connect(address).await.expect("the server listens");
    stream.write_all(request.as_bytes()).await.expect("the request is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("the answer is text");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head ends");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    Answer { status, body: body.to_owned() }
}

async fn within<Output>(test: impl Future<Output = Output>) -> Output {
    timeout(Duration::from_secs(120), test).await.expect("the test ends")
}

#[tokio::test]
async fn a_service_that_is_not_there_and_a_method_that_says_so_give_the_same_body() {
    within(async {
        let Some(server) = HyphaServer::start().await else { return };
        let (worker, user) = tokio::join!(server.peer("worker"), server.peer("user"));
        let (worker, user) = (worker.unwrap(), user.unwrap());
        let id = worker.register(SERVICE).await.unwrap();
        assert_eq!(echo(&server, "worker").await.verdict("worker"), None);

        for text in ["x", "Service not found: ws-user-root/other:work@*"] {
            worker.behave("echo", Behaviour::raise("KeyError", text)).await.unwrap();
            let raised = echo(&server, "worker").await;
            assert_eq!((raised.status, raised.verdict("worker")), (StatusCode::NOT_FOUND, None), "{}", raised.body);
        }

        let text = format!("Service not found: {id}@*");
        worker.behave("echo", Behaviour::raise("KeyError", &text)).await.unwrap();
        let raised = echo(&server, "worker").await;
        // It was executed: so nobody may take this for a proof that it was not.
        assert!(server.ledger().iter().any(|execution| execution.raised.is_some()));
        assert_eq!(raised.verdict("worker"), UNREACHABLE);

        user.unregister_service(&id).await.unwrap();
        let forgotten = echo(&server, "worker").await;
        assert_eq!((forgotten.status, &forgotten.body), (raised.status, &raised.body));
        assert_eq!(forgotten.verdict("worker"), UNREACHABLE);
        assert!(user.call(&id, "echo", [Value::Nil], no_keywords()).await.is_err());
    })
    .await;
}

#[tokio::test]
async fn a_method_that_is_not_answered_is_maybe_sent() {
    within(async {
        let Some(server) = HyphaServer::start().await else { return };
        let worker = server.peer("worker").await.unwrap();
        worker.register(SERVICE).await.unwrap();
        worker.behave("echo", Behaviour::hang_after()).await.unwrap();
        let (in_the_method, in_the_look_up) = tokio::join!(echo(&server, "worker"), async {
            server.wait_until_executed("echo", 1).await;
            worker.freeze();
            // The look-up asks the worker, too, which is not even sent the call then.
            echo(&server, "worker").await
        });
        assert_eq!(in_the_method.status, StatusCode::GATEWAY_TIMEOUT, "{}", in_the_method.body);
        for answer in [in_the_method, in_the_look_up] {
            assert_eq!(answer.verdict("worker"), UNREACHABLE, "{} {}", answer.status, answer.body);
        }
    })
    .await;
}
