//! Cuts: after exact numbers of bytes, in both directions, of both sides and of one.

mod support;

use support::{
    Client, End, echo,
    pair::{Way, assert_silent, bytes, read, rest, send},
    within,
};
use tokio::{io::AsyncWriteExt, join, net::TcpStream};
use tower_recovery_test::{
    CuttingProxy, FaultyServer,
    cutting::{Direction, Disturbance, Plan, Side},
};

/// More than the proxy reads at once.
const LONG: usize = 100_000;

#[tokio::test]
async fn without_a_script_everything_passes_and_each_direction_ends_by_itself() {
    within(async {
        let way = Way::with([]).await;
        let (mut client, mut server) = way.connect().await;
        let (asked, answered) = (bytes(10 * LONG), bytes(7 * LONG));
        let asking = async {
            client.write_all(&asked).await.unwrap();
            client.shutdown().await.unwrap();
            let answer = rest(&mut client).await;
            assert!(answer == (answered.clone(), End::Fin));
        };
        let answering = async {
            let request = rest(&mut server).await;
            assert!(request == (asked.clone(), End::Fin));
            server.write_all(&answered).await.unwrap();
            drop(server);
        };
        join!(asking, answering);
        way.proxy.wait_until_open(0).await;
        assert_eq!(way.proxy.forwarded(Direction::ToServer), 10 * LONG);
        assert_eq!(way.proxy.forwarded(Direction::ToClient), 7 * LONG);
        assert_eq!((way.proxy.connections_accepted(), way.proxy.cuts()), (1, 0));
    })
    .await;
}

#[tokio::test]
async fn a_close_comes_after_exactly_so_many_bytes_to_the_client_and_both_sides_see_it() {
    within(async {
        for cut in [0, 1, 20, 16 * 1024, 16 * 1024 + 1, LONG - 1, LONG] {
            let plan = Plan::pass().after(Direction::ToClient, cut as u64, Disturbance::Close);
            let way = Way::with([plan]).await;
            let (mut client, mut server) = way.connect().await;
            send(&mut server, &bytes(LONG)).await;
            let seen = rest(&mut client).await;
            assert!(seen == (bytes(cut), End::Fin), "{} bytes after {cut}", seen.0.len());
            assert_eq!(rest(&mut server).await, (Vec::new(), End::Fin));
            assert_eq!(way.proxy.forwarded(Direction::ToClient), cut);
            assert_eq!((way.proxy.cuts(), way.proxy.connections_open()), (1, 0));
        }
    })
    .await;
}

#[tokio::test]
async fn a_close_comes_after_exactly_so_many_bytes_to_the_server_and_both_sides_see_it() {
    within(async {
        for cut in [0, 1, 20, 16 * 1024, 16 * 1024 + 1, LONG - 1, LONG] {
            let plan = Plan::pass().after(Direction::ToServer, cut as u64, Disturbance::Close);
            let way = Way::with([plan]).await;
            let (mut client, mut server) = way.connect().await;
            send(&mut client, &bytes(LONG)).await;
            let seen = rest(&mut server).await;
            assert!(seen == (bytes(cut), End::Fin), "{} bytes after {cut}", seen.0.len());
            assert_eq!(rest(&mut client).await, (Vec::new(), End::Fin));
            assert_eq!(way.proxy.forwarded(Direction::ToServer), cut);
        }
    })
    .await;
}

#[tokio::test]
async fn a_close_delivers_what_was_forwarded_although_the_receiver_is_still_sending() {
    within(async {
        let plan = Plan::pass().after(Direction::ToClient, 20, Disturbance::Close);
        let way = Way::with([plan]).await;
        let (mut client, mut server) = way.connect().await;
        send(&mut client, &bytes(LONG)).await;
        send(&mut server, &bytes(30)).await;
        way.proxy.wait_until_cuts(1).await;
        for _ in 0..10 {
            client.write_all(&bytes(LONG)).await.unwrap();
        }
        assert_eq!(rest(&mut client).await, (bytes(20), End::Fin));
    })
    .await;
}

#[tokio::test]
async fn a_reset_is_seen_by_both_sides() {
    within(async {
        for direction in [Direction::ToServer, Direction::ToClient] {
            let way = Way::with([Plan::pass().after(direction, 20, Disturbance::Reset)]).await;
            let (mut client, mut server) = way.connect().await;
            send(if direction == Direction::ToServer { &mut client } else { &mut server }, &bytes(50)).await;
            assert_eq!(rest(&mut client).await.1, End::Reset);
            assert_eq!(rest(&mut server).await.1, End::Reset);
            way.proxy.wait_until_cuts(1).await;
            assert_eq!(way.proxy.forwarded(direction), 20);
            way.proxy.wait_until_open(0).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_cut_of_one_side_leaves_the_other_one_a_silent_connection() {
    within(async {
        let cuts = [
            (Disturbance::CloseTo(Side::Client), Side::Client, End::Fin),
            (Disturbance::ResetTo(Side::Client), Side::Client, End::Reset),
            (Disturbance::CloseTo(Side::Server), Side::Server, End::Fin),
            (Disturbance::ResetTo(Side::Server), Side::Server, End::Reset),
        ];
        for (cut, side, end) in cuts {
            let way = Way::with([Plan::pass().after(Direction::ToServer, 4, cut)]).await;
            let (mut client, server) = way.connect().await;
            send(&mut client, b"book").await;
            way.proxy.wait_until_cuts(1).await;
            let (mut cut_off, mut left) = match side {
                Side::Client => (client, server),
                Side::Server => (server, client),
            };
            assert_eq!(rest(&mut cut_off).await.1, end);
            drop(cut_off);
            if side == Side::Client {
                assert_eq!(read(&mut left, 4).await, b"book");
            }
            left.write_all(&bytes(10 * LONG)).await.unwrap();
            assert_silent(&left);
            assert_eq!(way.proxy.connections_open(), 1);
            drop(left);
            way.proxy.wait_until_open(0).await;
        }
    })
    .await;
}

#[tokio::test]
async fn an_answer_is_lost_when_its_first_byte_is_there() {
    within(async {
        let server = echo([]).await;
        let lost = Plan::pass().beyond(Direction::ToClient, 0, Disturbance::Close);
        let proxy = CuttingProxy::before(server.address()).script([lost]).start().await.unwrap();
        let mut client = Client::over(TcpStream::connect(proxy.address()).await.unwrap());
        client.send("PUT", "1", "book").await;
        assert_eq!(client.rest().await, (String::new(), End::Fin));
        assert_eq!(server.executed("1"), 1);
        assert_eq!(proxy.forwarded(Direction::ToClient), 0);
    })
    .await;
}

#[tokio::test]
async fn a_cut_beyond_the_last_byte_never_comes() {
    within(async {
        let way = Way::with([Plan::pass().beyond(Direction::ToClient, 4, Disturbance::Reset)]).await;
        let (mut client, mut server) = way.connect().await;
        server.write_all(b"book").await.unwrap();
        assert_eq!(read(&mut client, 4).await, b"book");
        server.shutdown().await.unwrap();
        assert_eq!(rest(&mut client).await, (Vec::new(), End::Fin));
        client.write_all(b"thanks").await.unwrap();
        drop(client);
        assert_eq!(rest(&mut server).await, (b"thanks".to_vec(), End::Fin));
        way.proxy.wait_until_open(0).await;
        assert_eq!(way.proxy.cuts(), 0);
    })
    .await;
}

#[tokio::test]
async fn a_connection_that_ends_at_its_acceptance_never_reaches_the_server() {
    within(async {
        let server = echo([]).await;
        let plans = [Plan::close_at_accept(), Plan::reset_at_accept()];
        let proxy = CuttingProxy::before(server.address()).script(plans).start().await.unwrap();
        for end in [End::Fin, End::Reset] {
            let mut client = TcpStream::connect(proxy.address()).await.unwrap();
            assert_eq!(rest(&mut client).await, (Vec::new(), end));
        }
        proxy.wait_until_cuts(2).await;
        assert_eq!(server.connections_accepted(), 0);
    })
    .await;
}

#[tokio::test]
async fn where_nobody_listens_upstream_the_client_is_reset() {
    within(async {
        let nobody = FaultyServer::refused_address().unwrap();
        let proxy = CuttingProxy::before(nobody.address()).start().await.unwrap();
        let mut client = TcpStream::connect(proxy.address()).await.unwrap();
        assert_eq!(rest(&mut client).await, (Vec::new(), End::Reset));
        proxy.wait_until_open(0).await;
        assert_eq!((proxy.connections_accepted(), proxy.cuts()), (1, 0));
    })
    .await;
}
