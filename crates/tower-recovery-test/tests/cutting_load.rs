//! Many connections through a cutting proxy at once.

mod support;

use support::{
    End,
    pair::{Way, bytes, read, rest, send},
    within,
};
use tokio::{io::AsyncWriteExt, net::TcpStream, task::JoinSet};
use tower_recovery_test::cutting::{Direction, Disturbance, Plan};

const CONNECTIONS: usize = 200;

/// Different lengths and cuts by the connection's number. How much a side may see follows from them.
fn cut_of(connection: usize) -> (Direction, usize) {
    let direction = if connection.is_multiple_of(2) { Direction::ToServer } else { Direction::ToClient };
    (direction, connection * 331)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_connections_are_cut_each_after_its_own_byte() {
    within(async {
        let way = Way::with(|connection| {
            let (direction, cut) = cut_of(connection);
            Plan::pass().after(direction, cut as u64, Disturbance::Close)
        })
        .await;
        let mut pairs = Vec::new();
        for _ in 0..CONNECTIONS {
            pairs.push(way.connect().await);
        }
        way.proxy.wait_until_open(CONNECTIONS).await;
        let mut running = JoinSet::new();
        for (index, (client, server)) in pairs.into_iter().enumerate() {
            running.spawn(async move {
                let (direction, cut) = cut_of(index + 1);
                let (mut sender, mut receiver) = match direction {
                    Direction::ToServer => (client, server),
                    Direction::ToClient => (server, client),
                };
                send(&mut sender, &bytes(70_000)).await;
                let seen = rest(&mut receiver).await;
                assert!(seen == (bytes(cut), End::Fin), "{} bytes after {cut}", seen.0.len());
                assert_eq!(rest(&mut sender).await, (Vec::new(), End::Fin));
            });
        }
        running.join_all().await;
        way.proxy.wait_until_open(0).await;
        assert_eq!(way.proxy.cuts(), CONNECTIONS);
        let expected = |wanted| (1..=CONNECTIONS).map(cut_of).filter(move |(direction, _)| *direction == wanted);
        for direction in [Direction::ToServer, Direction::ToClient] {
            let sum: usize = expected(direction).map(|(_, cut)| cut).sum();
            assert_eq!(way.proxy.forwarded(direction), sum);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_random_plan_cuts_its_connection_and_garbles_nothing() {
    within(async {
        const LIMIT: usize = 2_000;
        let plan = |connection| Plan::random(7, connection, LIMIT as u64);
        let way = Way::with(plan).await;
        let mut running = JoinSet::new();
        for _ in 0..CONNECTIONS {
            let (mut client, mut server) = way.connect().await;
            running.spawn(async move {
                send(&mut client, &bytes(LIMIT)).await;
                send(&mut server, &bytes(LIMIT)).await;
                let (to_server, to_client) = (rest(&mut server).await.0, rest(&mut client).await.0);
                assert!(bytes(LIMIT).starts_with(&to_server) && bytes(LIMIT).starts_with(&to_client));
            });
        }
        running.join_all().await;
        way.proxy.wait_until_open(0).await;
        assert_eq!(way.proxy.cuts(), CONNECTIONS);
    })
    .await;
}

#[tokio::test]
async fn a_script_that_panics_ends_its_connection_alone() {
    within(async {
        let way = Way::with(|connection| match connection {
            1 => panic!("the script's own panic"),
            _ => Plan::pass(),
        })
        .await;
        let mut first = TcpStream::connect(way.proxy.address()).await.unwrap();
        assert_eq!(rest(&mut first).await, (Vec::new(), End::Fin));
        let (mut client, mut server) = way.connect().await;
        client.write_all(b"book").await.unwrap();
        assert_eq!(read(&mut server, 4).await, b"book");
    })
    .await;
}
