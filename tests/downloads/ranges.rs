//! A range of the caller's own, and what a body is for who reads bodies.

use bytes::Bytes;
use http::StatusCode;
use http_body_util::{BodyExt, Full};
use tower::ServiceExt;
use tower_recovery::{Failure, stream_replacement::StreamReport};
use tower_recovery_http::streams::AdmittedBody;
use tower_recovery_test::cutting::{CuttingProxy, Direction, Disturbance, Plan};

use super::{
    client::{door, download, get, within},
    files::{Files, Version, random_bytes},
};

const LENGTH: usize = 1 << 20;
const CUTS: [u64; 3] = [100_000, 150_000, 100];

#[tokio::test]
async fn a_range_of_the_callers_own_is_resumed_within_its_bounds() {
    let Some((files, file)) = files().await else { return };
    for (range, first, end) in [
        ("bytes=70000-899999", 70_000, 900_000),
        ("bytes=70000-", 70_000, LENGTH),
        ("bytes=-700000", LENGTH - 700_000, LENGTH),
        ("bytes=0-", 0, LENGTH),
    ] {
        let proxy = cutting(&files).await;
        let come = download(door(&proxy), get("file", range).header("range", range)).await.expect("a head comes");
        assert_eq!(come.head.status, StatusCode::PARTIAL_CONTENT);
        assert_eq!(come.head.headers["content-range"], format!("bytes {first}-{}/{LENGTH}", end - 1));
        assert!(come.end.is_ok() && come.bytes == file[first..end], "{range}: {:?}", come.report);
        assert_eq!((proxy.cuts(), come.report.attempts), (3, 4));

        let mut next = first as u64;
        let mut asked = vec![("206".to_owned(), range.to_owned())];
        for attempt in &come.report.discarded {
            next += attempt.bytes;
            asked.push(("206".into(), format!("bytes={next}-{}", end - 1)));
        }
        assert!(files.asked_for(range).iter().all(|line| asked.contains(line)), "{asked:?}");
    }
}

/// Several ranges are one answer, which has no rest that could be asked for.
#[tokio::test]
async fn several_ranges_are_handed_out_and_not_resumed() {
    let Some((files, _)) = files().await else { return };
    let proxy = cutting(&files).await;
    let request = get("file", "several").header("range", "bytes=0-499999,600000-999999");
    let come = download(door(&proxy), request).await.expect("a head comes");
    assert_eq!(come.head.status, StatusCode::PARTIAL_CONTENT);
    assert!(!come.bytes.is_empty() && come.broken().report.attempts == 1, "{:?}", come.report);
    assert_eq!(proxy.connections_accepted(), 1);
}

/// What is no success is nginx's answer, whole or not.
#[tokio::test]
async fn an_answer_that_is_no_file_goes_out_as_it_is() {
    let Some((files, _)) = files().await else { return };
    for (name, range, status) in [("none", "bytes=0-", 404), ("file", "bytes=2000000-", 416)] {
        let proxy = CuttingProxy::before(files.address()).start().await.expect("a port is free");
        let come = download(door(&proxy), get(name, "none").header("range", range)).await.expect("a head comes");
        assert!(come.end.is_ok() && come.bytes.starts_with(b"<html>"), "{come:?}");
        assert_eq!((come.head.status.as_u16(), come.report.attempts), (status, 1));
    }
}

#[tokio::test]
async fn behind_the_door_stands_a_body_that_is_collected_like_any_other() {
    let Some((files, file)) = files().await else { return };
    let proxy = cutting(&files).await;
    let door = door(&proxy).map_response(AdmittedBody::of);
    let request = get("file", "body").body(Full::<Bytes>::default()).expect("a request");
    let answer = within(door.oneshot(request)).await.expect("a head comes");
    assert_eq!(answer.extensions().get::<StreamReport>().expect("it is there").attempts, 1, "until then");
    assert_eq!(answer.headers()["content-length"], LENGTH.to_string());
    let body: Result<_, Failure> = within(answer.into_body().collect()).await;
    assert!(body.expect("it is resumed").to_bytes() == file);
    assert_eq!(proxy.cuts(), 3);
}

async fn files() -> Option<(Files, Vec<u8>)> {
    let files = Files::serve("").await?;
    let file = random_bytes(1, LENGTH);
    files.put("file", &Version { contents: &file, second: 1 });
    Some((files, file))
}

/// Cuts its first three connections: two in the body, and one in the head.
async fn cutting(files: &Files) -> CuttingProxy {
    let plans = CUTS.map(|bytes| Plan::pass().after(Direction::ToClient, bytes, Disturbance::Close));
    CuttingProxy::before(files.address()).script(plans).start().await.expect("a port is free")
}
