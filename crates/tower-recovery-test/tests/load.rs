//! Many connections at once.

mod support;

use support::{Client, End, echo, within};
use tokio::{sync::mpsc, task::JoinSet};
use tower_recovery_test::faulty::FaultyServer;

const CONNECTIONS: usize = 1_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_connections_with_three_requests_each_are_served() {
    within(async {
        let server = echo([]).await;
        let mut clients = connect_all(&server).await;
        server.wait_until_open(CONNECTIONS).await;
        for round in 0..3 {
            let mut sending = JoinSet::new();
            for (number, mut client) in clients.drain(..).enumerate() {
                sending.spawn(async move {
                    let id = format!("{number}-{round}");
                    client.send("PUT", &id, &id).await;
                    assert_eq!(client.answer().await.body, id.as_bytes());
                    client
                });
            }
            clients = sending.join_all().await;
        }
        assert_eq!(server.connections_accepted(), CONNECTIONS);
        assert_eq!(server.requests_executed(), 3 * CONNECTIONS);
        assert!(server.executed_twice().is_empty());
        drop(clients);
        server.wait_until_open(0).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_held_requests_are_executed_once_each_after_their_clients_have_gone() {
    within(async {
        let server = echo([]).await;
        server.freeze();
        let mut clients = connect_all(&server).await;
        for (number, client) in clients.iter_mut().enumerate() {
            client.send("PUT", &number.to_string(), "book").await;
        }
        server.wait_until_held(CONNECTIONS).await;
        drop(clients);
        server.wait_until_open(0).await;
        assert_eq!(server.requests_executed(), 0);

        server.thaw();
        server.wait_until_executed(CONNECTIONS).await;
        assert_eq!(server.requests_executed(), CONNECTIONS);
        assert!(server.executed_twice().is_empty());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_of_a_thousand_connections_is_complete_when_it_returns() {
    within(async {
        let server = echo([]).await;
        server.freeze();
        let mut clients = connect_all(&server).await;
        for (number, client) in clients.iter_mut().enumerate() {
            client.send("PUT", &number.to_string(), "book").await;
        }
        server.wait_until_held(CONNECTIONS).await;
        server.refuse().await;
        assert_eq!((server.connections_open(), server.requests_held()), (0, 0));

        server.thaw();
        server.accept_again().unwrap();
        let mut client = Client::sending(&server, "PUT", "after", "book").await;
        client.answer().await;
        assert_eq!(server.requests_executed(), 1);
        for client in clients {
            assert_eq!(client.rest().await, (String::new(), End::Reset));
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_execution_begins_after_a_freeze_has_returned() {
    within(async {
        let server = echo([]).await;
        let mut sending = JoinSet::new();
        let mut answered = Vec::new();
        for number in 0..8 {
            let (answers, answers_of_client) = mpsc::unbounded_channel();
            answered.push(answers_of_client);
            let mut client = Client::connect(&server).await;
            sending.spawn(async move {
                for request in 0.. {
                    let id = format!("{number}-{request}");
                    client.send("PUT", &id, "book").await;
                    client.answer().await;
                    answers.send(()).unwrap();
                }
            });
        }
        for round in 1..=50 {
            server.wait_until_executed(round * 20).await;
            server.freeze();
            let executed = server.requests_executed();
            server.wait_until_held(8).await;
            assert_eq!(server.requests_executed(), executed);

            // All clients are held, so that whatever is answered from here on was thawed.
            for answers in &mut answered {
                while answers.try_recv().is_ok() {}
            }
            server.thaw();
            for answers in &mut answered {
                answers.recv().await.unwrap();
            }
        }
    })
    .await;
}

async fn connect_all(server: &FaultyServer) -> Vec<Client> {
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        clients.push(Client::connect(server).await);
    }
    clients
}
