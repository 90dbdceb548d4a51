//! Freezes, thaws and delays of a cutting proxy, and its end.

mod support;

use std::{io, time::Duration};

use support::{
    End,
    pair::{Way, assert_silent, bytes, read, rest, send},
    within,
};
use tokio::{
    io::AsyncWriteExt,
    net::TcpStream,
    runtime::Handle,
    task::yield_now,
    time::{Instant, timeout},
};
use tower_recovery_test::cutting::{Direction, Disturbance, Plan};

#[tokio::test]
async fn a_frozen_direction_stands_still_and_the_other_one_goes_on_until_a_thaw() {
    within(async {
        let way = Way::with([Plan::pass().after(Direction::ToServer, 4, Disturbance::Freeze)]).await;
        let (mut client, mut server) = way.connect().await;
        client.write_all(b"book and shelf").await.unwrap();
        assert_eq!(read(&mut server, 4).await, b"book");
        way.proxy.wait_until_frozen(1).await;
        server.write_all(&bytes(1_000)).await.unwrap();
        assert_eq!(read(&mut client, 1_000).await, bytes(1_000));
        assert_silent(&server);
        assert_eq!((way.proxy.forwarded(Direction::ToServer), way.proxy.cuts()), (4, 0));

        way.proxy.thaw();
        assert_eq!(read(&mut server, 10).await, b" and shelf");
        assert_eq!(way.proxy.frozen(), 0);
    })
    .await;
}

#[tokio::test]
async fn a_frozen_direction_does_not_tell_the_end_before_its_thaw() {
    within(async {
        let way = Way::with([Plan::pass().after(Direction::ToServer, 4, Disturbance::Freeze)]).await;
        let (mut client, mut server) = way.connect().await;
        client.write_all(b"book").await.unwrap();
        way.proxy.wait_until_frozen(1).await;
        drop(client);
        server.write_all(b"done").await.unwrap();
        way.proxy.wait_until_forwarded(Direction::ToClient, 4).await;
        assert_eq!(read(&mut server, 4).await, b"book");
        assert_silent(&server);
        assert_eq!(way.proxy.connections_open(), 1);
        way.proxy.thaw();
        rest(&mut server).await;
        drop(server);
        way.proxy.wait_until_open(0).await;
    })
    .await;
}

#[tokio::test]
async fn a_freeze_of_both_directions_holds_the_others_next_byte_and_its_end() {
    within(async {
        for late in ["done", ""] {
            let way = Way::with([Plan::pass().after(Direction::ToServer, 4, Disturbance::FreezeBoth)]).await;
            let (mut client, mut server) = way.connect().await;
            server.write_all(&bytes(1_000)).await.unwrap();
            assert_eq!(read(&mut client, 1_000).await, bytes(1_000));
            client.write_all(b"book").await.unwrap();
            way.proxy.wait_until_frozen(1).await;
            server.write_all(late.as_bytes()).await.unwrap();
            server.shutdown().await.unwrap();
            client.write_all(b"shelf").await.unwrap();
            // The proxy is given every chance to move a byte.
            for _ in 0..100 {
                yield_now().await;
            }
            assert_silent(&client);
            let forwarded = [Direction::ToServer, Direction::ToClient].map(|direction| way.proxy.forwarded(direction));
            assert_eq!(forwarded, [4, 1_000]);

            way.proxy.thaw();
            assert_eq!(rest(&mut client).await, (late.as_bytes().to_vec(), End::Fin));
            assert_eq!(read(&mut server, 9).await, b"bookshelf");
        }
    })
    .await;
}

#[tokio::test]
async fn a_thaw_ends_the_freezes_in_force_and_no_later_one() {
    within(async {
        let plan = Plan::pass()
            .after(Direction::ToServer, 4, Disturbance::Freeze)
            .after(Direction::ToServer, 9, Disturbance::Freeze)
            .after(Direction::ToClient, 0, Disturbance::FreezeBoth);
        let way = Way::with([plan]).await;
        way.proxy.thaw();
        let (mut client, mut server) = way.connect().await;
        client.write_all(b"bookshelf and more").await.unwrap();
        for (number, text) in [(0, ""), (4, "book"), (9, "shelf")] {
            way.proxy.wait_until_frozen(1).await;
            assert_eq!(read(&mut server, text.len()).await, text.as_bytes());
            assert_eq!(way.proxy.forwarded(Direction::ToServer), number);
            assert_silent(&server);
            way.proxy.thaw();
            way.proxy.wait_until_forwarded(Direction::ToServer, number + 1).await;
        }
        assert_eq!(read(&mut server, 9).await, b" and more");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_delayed_direction_goes_on_after_its_delay() {
    within(async {
        let delay = Duration::from_secs(3);
        let plan = Plan::pass()
            .after(Direction::ToClient, 4, Disturbance::Delay(delay))
            .after(Direction::ToClient, 4, Disturbance::Delay(delay))
            .after(Direction::ToClient, 9, Disturbance::Close);
        let way = Way::with([plan]).await;
        let (mut client, mut server) = way.connect().await;
        let began = Instant::now();
        server.write_all(b"bookshelf and more").await.unwrap();
        assert_eq!(read(&mut client, 4).await, b"book");
        assert_silent(&client);
        assert_eq!(rest(&mut client).await, (b"shelf".to_vec(), End::Fin));
        let took = began.elapsed();
        assert!((2 * delay..2 * delay + Duration::from_secs(1)).contains(&took), "{took:?}");
    })
    .await;
}

/// The paused clock moves when nothing else does: the time limit ends exactly when the sender is stopped.
#[tokio::test(start_paused = true)]
async fn a_receiver_that_reads_nothing_stops_its_sender() {
    within(async {
        let way = Way::with([]).await;
        let (mut client, mut server) = way.connect().await;
        let all = bytes(64 << 20);
        let sent = timeout(Duration::from_secs(1), server.write_all(&all)).await;
        assert!(sent.is_err(), "somebody took in 64 MiB that nobody read");
        drop(server);
        let seen = rest(&mut client).await.0;
        assert_eq!(seen.len(), way.proxy.forwarded(Direction::ToClient));
        assert!(all.starts_with(&seen));
    })
    .await;
}

#[tokio::test]
async fn a_refusing_proxy_resets_connections_and_accepts_again_at_the_same_address() {
    within(async {
        let way = Way::with(|connection| match connection {
            1 => Plan::pass().after(Direction::ToServer, 0, Disturbance::FreezeBoth),
            _ => Plan::pass(),
        })
        .await;
        let mut pairs = [way.connect().await, way.connect().await];
        way.proxy.wait_until_frozen(1).await;
        way.proxy.refuse().await;
        assert_eq!((way.proxy.connections_open(), way.proxy.frozen()), (0, 0));
        for (client, server) in &mut pairs {
            assert_eq!(rest(client).await.1, End::Reset);
            assert_eq!(rest(server).await.1, End::Reset);
        }
        let refused = TcpStream::connect(way.proxy.address()).await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);

        way.proxy.accept_again().unwrap();
        let (mut client, mut server) = way.connect().await;
        client.write_all(b"book").await.unwrap();
        assert_eq!(read(&mut server, 4).await, b"book");
    })
    .await;
}

#[tokio::test]
async fn the_end_of_one_side_is_seen_by_the_other_as_what_it_is() {
    within(async {
        let way = Way::with([]).await;
        let (client, mut server) = way.connect().await;
        drop(client);
        assert_eq!(rest(&mut server).await, (Vec::new(), End::Fin));
        let (client, mut server) = way.connect().await;
        socket2::SockRef::from(&client).set_linger(Some(Duration::ZERO)).unwrap();
        drop(client);
        assert_eq!(rest(&mut server).await, (Vec::new(), End::Reset));
        let (mut client, server) = way.connect().await;
        socket2::SockRef::from(&server).set_linger(Some(Duration::ZERO)).unwrap();
        drop(server);
        assert_eq!(rest(&mut client).await, (Vec::new(), End::Reset));
    })
    .await;
}

#[tokio::test]
async fn no_task_outlives_the_proxy() {
    within(async {
        let before = Handle::current().metrics().num_alive_tasks();
        let way = Way::with(|connection| match connection {
            1 => Plan::pass().after(Direction::ToServer, 0, Disturbance::FreezeBoth),
            2 => Plan::pass().after(Direction::ToServer, 0, Disturbance::Close),
            _ => Plan::pass(),
        })
        .await;
        let mut pairs = [way.connect().await, way.connect().await, way.connect().await];
        send(&mut pairs[2].0, b"book").await;
        way.proxy.wait_until_frozen(1).await;
        way.proxy.wait_until_cuts(1).await;
        drop(way);
        for (client, server) in &mut pairs {
            rest(client).await;
            rest(server).await;
        }
        while Handle::current().metrics().num_alive_tasks() > before {
            yield_now().await;
        }
    })
    .await;
}
