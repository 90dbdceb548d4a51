//! Each act on HTTP/2, as the client sees it frame by frame and as the log tells it.
#![cfg(feature = "http2")]

mod support;

use std::time::Duration;

use support::{
    End,
    http2::{Client, Frame, answer, data, echo, head, reset},
    within,
};
use tokio::time::Instant;
use tower_recovery_test::faulty::{Act, ErrorCode, Until};

/// Sends one request and gives the frames that came back, how the connection ended, and how often it was executed.
async fn outcome(act: Act) -> (Vec<Frame>, End, usize) {
    within(async {
        let server = echo([act]).await;
        let client = Client::sending(&server, "PUT", "7", "book").await;
        let (seen, cut, end) = client.rest().await;
        assert!(cut.is_empty());
        assert_eq!(server.requests_read(), 1);
        assert_eq!(server.requests_executed(), server.executed("7"));
        server.wait_until_open(0).await;
        (seen, end, server.executed("7"))
    })
    .await
}

#[tokio::test]
async fn read_then_close_executes_nothing_and_ends_in_order() {
    assert_eq!(outcome(Act::ReadThenClose).await, (vec![], End::Fin, 0));
}

#[tokio::test]
async fn read_then_reset_executes_nothing_and_resets() {
    assert_eq!(outcome(Act::ReadThenReset).await, (vec![], End::Reset, 0));
}

#[tokio::test]
async fn run_then_close_executes_and_sends_nothing() {
    assert_eq!(outcome(Act::RunThenClose).await, (vec![], End::Fin, 1));
}

#[tokio::test]
async fn run_then_reset_executes_and_resets() {
    assert_eq!(outcome(Act::RunThenReset).await, (vec![], End::Reset, 1));
}

#[tokio::test]
async fn answer_then_close_answers_and_closes_without_a_go_away() {
    assert_eq!(outcome(Act::AnswerThenClose).await, (answer(1, "book").to_vec(), End::Fin, 1));
}

#[tokio::test]
async fn partial_body_sends_a_part_and_closes() {
    let frames = vec![head(1), data(1, "boo", false)];
    assert_eq!(outcome(Act::PartialBody { sent: 3 }).await, (frames, End::Fin, 1));
}

#[tokio::test]
async fn partial_body_of_nothing_sends_the_head() {
    assert_eq!(outcome(Act::PartialBody { sent: 0 }).await, (vec![head(1)], End::Fin, 1));
}

#[tokio::test]
async fn partial_body_longer_than_the_body_is_incomplete_still() {
    let frames = vec![head(1), data(1, "book", false)];
    assert_eq!(outcome(Act::PartialBody { sent: 9 }).await, (frames, End::Fin, 1));
}

#[tokio::test]
async fn partial_body_then_reset_sends_a_part_and_resets() {
    let frames = vec![head(1), data(1, "bo", false)];
    assert_eq!(outcome(Act::PartialBodyThenReset { sent: 2 }).await, (frames, End::Reset, 1));
}

#[tokio::test]
async fn partial_body_where_none_is_allowed_is_complete() {
    within(async {
        let server = echo([Act::PartialBody { sent: 2 }]).await;
        let client = Client::sending(&server, "HEAD", "7", "").await;
        let whole = Frame::Head { stream: 1, ok: true, ends: true };
        assert_eq!(client.rest().await.0, [whole]);
    })
    .await;
}

#[tokio::test]
async fn partial_head_cuts_the_frame_of_the_head() {
    within(async {
        let server = echo([Act::Answer, Act::PartialHead]).await;
        let mut client = Client::sending(&server, "PUT", "1", "book").await;
        assert_eq!(client.next().await, answer(1, "book"));
        client.send("PUT", "2", "book").await;
        let (frames, cut, end) = client.rest().await;
        assert_eq!((frames, end, server.executed("2")), (vec![], End::Fin, 1));
        let promised = usize::from(cut[2]);
        assert_eq!((cut[3], cut[8]), (1, 3), "a head, of the stream 3");
        assert_eq!(cut.len(), 9 + promised / 2);
    })
    .await;
}

/// As [`outcome`], for an act that leaves the connection as it is, which another request shows.
async fn outcome_of_stream(act: Act) -> (Vec<Frame>, usize) {
    within(async {
        let server = echo([act]).await;
        let mut client = Client::sending(&server, "PUT", "7", "book").await;
        let mut frames = Vec::new();
        loop {
            let [frame] = client.next().await;
            let last = matches!(frame, Frame::Reset { .. } | Frame::Data { ends: true, .. });
            frames.push(frame);
            if last {
                break;
            }
        }
        client.send("PUT", "8", "shelf").await;
        assert_eq!(client.next().await, answer(3, "shelf"));
        assert_eq!((server.connections_accepted(), server.connections_open()), (1, 1));
        (frames, server.executed("7"))
    })
    .await
}

#[tokio::test]
async fn answer_keeps_the_connection() {
    assert_eq!(outcome_of_stream(Act::Answer).await, (answer(1, "book").to_vec(), 1));
}

#[tokio::test]
async fn refuse_stream_executes_nothing_and_reads_the_head_alone() {
    within(async {
        let server = echo([Act::RefuseStream]).await;
        let mut client = Client::connect(&server).await;
        let stream = client.send_head("PUT", "7").await;
        assert_eq!(client.next().await, [reset(stream, ErrorCode::REFUSED_STREAM)]);
        assert_eq!((server.streams_refused(), server.requests_read(), server.requests_executed()), (1, 0, 0));
        client.send("PUT", "8", "shelf").await;
        assert_eq!(client.next().await, answer(3, "shelf"));
    })
    .await;
}

#[tokio::test]
async fn read_then_reset_stream_executes_nothing_and_resets_with_the_code() {
    let code = ErrorCode::ENHANCE_YOUR_CALM;
    assert_eq!(outcome_of_stream(Act::ReadThenResetStream { code }).await, (vec![reset(1, code)], 0));
}

#[tokio::test]
async fn run_then_reset_stream_executes_and_resets_before_the_head() {
    let code = ErrorCode::INTERNAL_ERROR;
    assert_eq!(outcome_of_stream(Act::RunThenResetStream { code }).await, (vec![reset(1, code)], 1));
}

#[tokio::test]
async fn partial_body_then_reset_stream_resets_after_a_part_of_the_body() {
    for code in [ErrorCode::NO_ERROR, ErrorCode::CANCEL, ErrorCode(0xdead_beef)] {
        let frames = vec![head(1), data(1, "boo", false), reset(1, code)];
        assert_eq!(outcome_of_stream(Act::PartialBodyThenResetStream { sent: 3, code }).await, (frames, 1));
    }
    let code = ErrorCode::NO_ERROR;
    let frames = vec![head(1), reset(1, code)];
    assert_eq!(outcome_of_stream(Act::PartialBodyThenResetStream { sent: 0, code }).await, (frames, 1));
}

#[tokio::test]
async fn run_then_freeze_executes_and_answers_after_the_thaw_and_holds_no_other_stream() {
    within(async {
        let server = echo([Act::RunThenFreeze]).await;
        let mut client = Client::sending(&server, "PUT", "1", "book").await;
        server.wait_until_executed(1).await;
        client.send("PUT", "2", "shelf").await;
        assert_eq!(client.next().await, answer(3, "shelf"));
        client.assert_silent();

        server.thaw();
        assert_eq!(client.next().await, answer(1, "book"));
        assert_eq!((server.executed("1"), server.executed("2")), (1, 1));
    })
    .await;
}

#[tokio::test]
async fn freeze_then_run_executes_after_the_thaw_and_holds_no_other_stream() {
    within(async {
        let server = echo([Act::FreezeThenRun]).await;
        let mut client = Client::sending(&server, "PUT", "1", "book").await;
        server.wait_until_held(1).await;
        client.send("PUT", "2", "shelf").await;
        assert_eq!(client.next().await, answer(3, "shelf"));
        client.assert_silent();
        assert_eq!((server.executed("1"), server.requests_held()), (0, 1));

        server.thaw();
        assert_eq!(client.next().await, answer(1, "book"));
        assert_eq!((server.executed("1"), server.requests_held()), (1, 0));
    })
    .await;
}

#[tokio::test]
async fn freeze_then_run_executes_for_a_client_that_is_gone() {
    within(async {
        let server = echo([Act::FreezeThenRun]).await;
        drop(Client::sending(&server, "PUT", "7", "book").await);
        server.wait_until_held(1).await;
        server.wait_until_open(0).await;
        assert_eq!(server.executed("7"), 0);

        server.thaw();
        server.wait_until_executed(1).await;
        assert_eq!(server.executed("7"), 1);
    })
    .await;
}

#[tokio::test]
async fn freeze_then_run_executes_for_a_client_that_has_cancelled() {
    within(async {
        let server = echo([Act::FreezeThenRun]).await;
        let mut client = Client::sending(&server, "PUT", "1", "book").await;
        server.wait_until_held(1).await;
        assert_eq!(server.requests_cancelled(), 0);
        client.reset(1, ErrorCode::CANCEL).await;
        server.wait_until_cancelled(1).await;
        assert_eq!((server.requests_cancelled(), server.requests_held(), server.executed("1")), (1, 1, 0));

        server.thaw();
        server.wait_until_executed(1).await;
        client.send("PUT", "2", "shelf").await;
        assert_eq!(client.next().await, answer(3, "shelf"));
        assert_eq!(server.executed("1"), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn slow_executes_at_once_and_slow_then_run_after_the_delay() {
    within(async {
        let delay = Duration::from_secs(3);
        let server = echo([Act::Slow { delay }, Act::SlowThenRun { delay }]).await;
        let mut client = Client::sending(&server, "PUT", "1", "book").await;
        server.wait_until_executed(1).await;
        let began = Instant::now();
        client.send("PUT", "2", "shelf").await;
        server.wait_until_read(2).await;
        assert_eq!((server.executed("1"), server.executed("2")), (1, 0));

        server.wait_until_executed(2).await;
        assert!(began.elapsed() >= delay);
        let [first, second] = [answer(1, "book"), answer(3, "shelf")];
        assert_eq!(client.next_by_stream::<4>().await, [first, second].concat());
    })
    .await;
}

#[tokio::test]
async fn answer_then_abandon_answers_and_meets_what_comes_after_with_a_reset() {
    within(async {
        let server = echo([Act::AnswerThenAbandon]).await;
        let mut client = Client::sending(&server, "PUT", "1", "book").await;
        assert_eq!(client.next().await, answer(1, "book"));
        server.wait_until_open(0).await;
        client.ping().await;
        client.assert_reset_after_the_end().await;
    })
    .await;
}

#[tokio::test]
async fn answer_then_time_out_says_goodbye_by_a_go_away_after_all_that_was_accepted() {
    within(async {
        let server = echo([Act::AnswerThenTimeOut { idle: Until::Thaw }]).await;
        let mut client = Client::sending(&server, "PUT", "1", "book").await;
        assert_eq!(client.next().await, answer(1, "book"));
        client.send("PUT", "2", "shelf").await;
        assert_eq!(client.next().await, answer(3, "shelf"));
        client.assert_silent();
        assert_eq!(server.connections_timed_out(), 0);

        server.thaw();
        server.wait_until_timed_out(1).await;
        let (frames, _, end) = client.rest().await;
        assert_eq!((frames, end), (vec![support::http2::go_away(3, ErrorCode::NO_ERROR)], End::Fin));
    })
    .await;
}

#[tokio::test]
async fn reject_at_head_answers_and_resets_the_unread_part_when_it_is_told_to() {
    within(async {
        let server =
            echo([Act::RejectAtHead { status: http::StatusCode::PAYLOAD_TOO_LARGE, unread: Until::Thaw }]).await;
        let mut client = Client::connect(&server).await;
        let stream = client.send_head("PUT", "1").await;
        client.send_frame(0, 0, stream, &[b'x'; 1000]).await;
        assert_eq!(client.next().await, [Frame::Head { stream, ok: false, ends: true }]);
        client.assert_silent();
        server.thaw();
        assert_eq!(client.next().await, [reset(stream, ErrorCode::NO_ERROR)]);
        assert_eq!((server.requests_read(), server.requests_executed()), (0, 0));
        client.send("PUT", "2", "shelf").await;
        assert_eq!(client.next().await, answer(3, "shelf"));
    })
    .await;
}
