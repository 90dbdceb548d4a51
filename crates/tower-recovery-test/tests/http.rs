//! How the server speaks HTTP/1, faults aside.

mod support;

use bytes::Bytes;
use http::{Method, Request, Response};
use support::{Client, End, echo, within};
use tower_recovery_test::{Act, FaultyServer};

#[tokio::test]
async fn pipelined_requests_are_answered_in_their_order() {
    within(async {
        let server = echo([]).await;
        let mut client = Client::connect(&server).await;
        client
            .send_raw(
                "PUT /a HTTP/1.1\r\ncontent-length: 4\r\n\r\nbook\
                 PUT /b HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n5\r\nshelf\r\n0\r\n\r\n\
                 PUT /c HTTP/1.1\r\ncontent-length: 5\r\n\r\nlight",
            )
            .await;
        for body in ["book", "shelf", "light"] {
            assert_eq!(client.answer().await.body, body.as_bytes());
        }
        let executions = server.executions();
        let paths: Vec<_> = executions.iter().map(|entry| entry.path.as_str()).collect();
        assert_eq!(paths, ["/a", "/b", "/c"]);
        assert_eq!(executions[0].method, Method::PUT);
    })
    .await;
}

#[tokio::test]
async fn what_is_pipelined_behind_a_close_is_neither_read_nor_turns_it_into_a_reset() {
    within(async {
        let server = echo([Act::RunThenClose]).await;
        let mut client = Client::sending(&server, "PUT", "1", "book").await;
        client.send("PUT", "2", &"book".repeat(10_000_000)).await;
        assert_eq!(client.rest().await, (String::new(), End::Fin));
        assert_eq!((server.requests_read(), server.executed("2")), (1, 0));
    })
    .await;
}

#[tokio::test]
async fn a_client_that_asks_for_the_close_gets_it_announced() {
    within(async {
        let server = echo([]).await;
        let mut client = Client::connect(&server).await;
        client.send_raw("GET / HTTP/1.1\r\nconnection: close\r\n\r\n").await;
        let (seen, end) = client.rest().await;
        assert!(seen.contains("connection: close\r\n"));
        assert_eq!(end, End::Fin);
    })
    .await;
}

#[tokio::test]
async fn a_client_that_has_ended_its_side_is_answered() {
    within(async {
        let server = echo([Act::FreezeThenRun]).await;
        let mut client = Client::sending(&server, "PUT", "1", "book").await;
        client.shut_down().await;
        server.wait_until_held(1).await;
        server.wait_until_open(0).await;
        server.thaw();
        let (seen, end) = client.rest().await;
        assert!(seen.ends_with("\r\n\r\nbook"));
        assert_eq!(end, End::Fin);
    })
    .await;
}

#[tokio::test]
async fn a_client_that_holds_its_body_back_is_told_to_go_on() {
    within(async {
        let server = echo([]).await;
        let mut client = Client::connect(&server).await;
        client.send_raw("PUT / HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 4\r\n\r\n").await;
        assert_eq!(client.head().await, "HTTP/1.1 100 Continue\r\n\r\n");
        assert_eq!(server.requests_read(), 0);
        client.send_raw("book").await;
        assert_eq!(client.answer().await.body, b"book");
    })
    .await;
}

#[tokio::test]
async fn answers_without_a_body_leave_the_connection_in_step() {
    within(async {
        let application = |request: &Request<Bytes>| {
            let status = match request.uri().path() {
                "/orders" => 200,
                path => path[1..].parse::<u16>().unwrap(),
            };
            let response = Response::builder().status(status);
            response.body(Bytes::from_static(b"book")).unwrap()
        };
        let builder = FaultyServer::builder().application(application);
        let server = builder.start().await.unwrap();
        let mut client = Client::connect(&server).await;
        client.send("HEAD", "1", "").await;
        assert!(client.head().await.contains("content-length: 4\r\n"));
        for status in ["204", "304"] {
            client.send_raw(&format!("GET /{status} HTTP/1.1\r\n\r\n")).await;
            let expected = format!("HTTP/1.1 {status} ");
            assert!(client.head().await.starts_with(&expected));
        }
        client.send("GET", "2", "").await;
        assert_eq!(client.answer().await.body, b"book");
    })
    .await;
}

#[tokio::test]
async fn what_is_not_http_or_goes_over_a_limit_ends_the_connection() {
    within(async {
        let builder = FaultyServer::builder().body_limit(4);
        let server = builder.start().await.unwrap();
        let long_head = format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "x".repeat(64 * 1024));
        for text in [
            "this is not http\r\n\r\n",
            long_head.as_str(),
            "PUT / HTTP/1.1\r\ncontent-length: 5\r\n\r\nbooks",
            "PUT / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n5\r\nbooks\r\n0\r\n\r\n",
        ] {
            let mut client = Client::connect(&server).await;
            client.send_raw(text).await;
            assert_eq!(client.rest().await, (String::new(), End::Fin));
        }
        assert_eq!((server.requests_read(), server.requests_executed()), (0, 0));
        let mut client = Client::sending(&server, "PUT", "1", "book").await;
        client.answer().await;
    })
    .await;
}

#[tokio::test]
async fn a_request_that_is_cut_off_is_not_read() {
    within(async {
        let server = echo([]).await;
        for text in ["PUT / HTTP/1.1\r\ncontent-le", "PUT / HTTP/1.1\r\ncontent-length: 4\r\n\r\nboo"] {
            let mut client = Client::connect(&server).await;
            client.send_raw(text).await;
            client.shut_down().await;
            assert_eq!(client.rest().await, (String::new(), End::Fin));
        }
        assert_eq!((server.requests_read(), server.requests_executed()), (0, 0));
    })
    .await;
}

#[tokio::test]
async fn the_log_names_what_was_executed_twice() {
    within(async {
        let server = echo([Act::Answer, Act::Answer, Act::ReadThenClose]).await;
        let mut client = Client::connect(&server).await;
        for id in ["1", "2"] {
            client.send("PUT", id, "book").await;
            client.answer().await;
        }
        assert_eq!(server.executed_twice(), [""; 0]);
        client.send("PUT", "2", "book").await;
        client.rest().await;
        assert_eq!(server.executed_twice(), [""; 0], "read is not executed");

        let mut client = Client::connect(&server).await;
        for _ in 0..3 {
            client.send("PUT", "2", "book").await;
            client.answer().await;
        }
        assert_eq!(server.executed_twice(), ["2"]);
        assert_eq!((server.executed("1"), server.executed("2")), (1, 4));
        assert_eq!((server.requests_read(), server.requests_executed()), (6, 5));
    })
    .await;
}

#[tokio::test]
async fn an_application_that_panics_ends_its_connection_and_counts_as_executed() {
    within(async {
        let application = |request: &Request<Bytes>| {
            assert!(request.body().is_empty(), "panics on purpose");
            Response::new(Bytes::new())
        };
        let builder = FaultyServer::builder().application(application);
        let server = builder.start().await.unwrap();
        let client = Client::sending(&server, "PUT", "1", "book").await;
        assert_eq!(client.rest().await.0, "");
        server.wait_until_executed(1).await;
        assert_eq!(server.executed("1"), 1);
        let mut client = Client::sending(&server, "PUT", "2", "").await;
        client.answer().await;
    })
    .await;
}
