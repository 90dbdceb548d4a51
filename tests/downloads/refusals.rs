//! A server that does not say enough, or does not do what it is asked for.

use http::header;
use tower_recovery::{GiveUp, stream_replacement::StreamEnd};
use tower_recovery_test::cutting::{CuttingProxy, Direction, Disturbance, Plan};

use super::{
    client::{Download, door, download, get},
    files::{Files, Version, random_bytes},
};

const LENGTH: usize = 1 << 20;
const CUT: u64 = 200_000;

#[tokio::test]
async fn without_a_strong_entity_tag_nothing_is_asked_for_again() {
    let weak = "etag off; add_header ETag 'W/\"7\"';";
    for directives in ["etag off;", weak] {
        let Some((come, file, requests)) = cut(directives, |request| request).await else { return };
        assert_eq!(come.head.headers.contains_key(header::ETAG), directives == weak);
        assert!(come.head.headers.contains_key(header::LAST_MODIFIED), "a date is none");
        is_not_resumed(&come, &file);
        assert_eq!(requests, 1);
    }
}

/// What is encoded on the way has a weak tag, and no length.
#[tokio::test]
async fn what_nginx_compresses_is_not_resumed() {
    let accepting = |request: http::request::Builder| request.header(header::ACCEPT_ENCODING, "gzip");
    let compressing = "gzip on; gzip_types *; gzip_http_version 1.1;";
    let Some((come, file, requests)) = cut(compressing, accepting).await else { return };
    let headers = &come.head.headers;
    assert!(headers[header::ETAG].as_bytes().starts_with(b"W/"), "{headers:?}");
    assert!(headers[header::CONTENT_ENCODING] == "gzip" && !headers.contains_key(header::CONTENT_LENGTH));
    assert!(!come.bytes.is_empty() && !file.starts_with(&come.bytes));
    assert_eq!((come.broken().reason, requests), (StreamEnd::Dropped, 1));
}

/// It says no word of it before; that it sends the whole in the place of the rest is seen when it does.
#[tokio::test]
async fn the_whole_is_not_taken_for_the_rest() {
    let Some((come, file, requests)) = cut("max_ranges 0;", |request| request).await else { return };
    assert!(come.head.headers.contains_key(header::ETAG) && !come.head.headers.contains_key(header::ACCEPT_RANGES));
    come.ends_unresumed_within(&file, "the whole was sent in the place of the rest");
    assert_eq!(requests, 2);
}

fn is_not_resumed(come: &Download, file: &[u8]) {
    come.is_a_beginning_of(file);
    let failure = come.end.as_ref().expect_err("it is not whole");
    assert_eq!(failure.gave_up(), Some(GiveUp::NoRequest), "{failure:?}");
    let broken = come.broken();
    assert_eq!((broken.reason, broken.report.attempts), (StreamEnd::Dropped, 1), "{broken:?}");
}

/// A download that is cut once: what came of it, the file, and how many requests reached nginx.
async fn cut(
    directives: &str,
    with: impl FnOnce(http::request::Builder) -> http::request::Builder,
) -> Option<(Download, Vec<u8>, usize)> {
    let files = Files::serve(directives).await?;
    let file = random_bytes(1, LENGTH);
    files.put("file", &Version { contents: &file, second: 1 });
    let plan = Plan::pass().after(Direction::ToClient, CUT, Disturbance::Close);
    let proxy = CuttingProxy::before(files.address()).script([plan]).start().await.expect("a port is free");
    let come = download(door(&proxy), with(get("file", "cut"))).await;
    assert_eq!(proxy.cuts(), 1);
    Some((come.unwrap_or_else(|failure| panic!("{failure:?}")), file, proxy.connections_accepted()))
}
