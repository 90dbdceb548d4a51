//! The file is another one when its download goes on.

use http::{StatusCode, request};
use tokio::join;
use tower_recovery_test::cutting::{CuttingProxy, Direction, Disturbance, Plan};

use super::{
    client::{Download, door, download, get, within},
    files::{Files, Version, random_bytes},
};

const LENGTH: usize = 1 << 20;
const CUT: u64 = 200_000;

/// What the file becomes.
const CHANGES: [(&str, usize); 4] = [
    ("as long", LENGTH),
    ("longer", LENGTH + 5_000),
    ("shorter", LENGTH / 2),
    ("shorter than what was handed out", 1_000),
];

#[tokio::test]
async fn what_was_handed_out_is_not_continued_with_another_file() {
    let Some(files) = Files::serve("").await else { return };
    for reset in [false, true] {
        for (change, length) in CHANGES {
            let (old, new) = (random_bytes(1, LENGTH), random_bytes(2, length));
            let plans = vec![held_and_cut(CUT, reset)];
            let come = changed_in_between(&files, [&old, &new], plans, get("file", change)).await;
            come.ends_unresumed_within(&old, "the whole was sent in the place of the rest");
            assert!(come.bytes.len() as u64 <= CUT && come.head.headers["content-length"] == LENGTH.to_string());
        }
    }
}

/// Also where it changes after it was resumed once.
#[tokio::test]
async fn a_resumed_download_is_not_continued_with_another_file_either() {
    let Some(files) = Files::serve("").await else { return };
    let [old, new] = [1, 2].map(|seed| random_bytes(seed, LENGTH));
    let first = Plan::pass().after(Direction::ToClient, CUT, Disturbance::Close);
    let plans = vec![first, held_and_cut(CUT, false)];
    let come = changed_in_between(&files, [&old, &new], plans, get("file", "twice")).await;
    come.is_a_beginning_of(&old);
    assert!(come.broken().resume_refused().is_some() && come.report.attempts == 3, "{:?}", come.report);
    assert!(come.bytes.len() as u64 > CUT, "it was resumed: {}", come.bytes.len());
}

/// A range of the caller's own is one of the old file.
#[tokio::test]
async fn a_range_is_not_continued_with_one_of_another_file() {
    let Some(files) = Files::serve("").await else { return };
    let [old, new] = [1, 2].map(|seed| random_bytes(seed, LENGTH));
    let request = get("file", "range").header("range", "bytes=1000-900999");
    let come = changed_in_between(&files, [&old, &new], vec![held_and_cut(CUT, false)], request).await;
    assert_eq!(come.head.status, StatusCode::PARTIAL_CONTENT);
    come.ends_unresumed_within(&old[1_000..901_000], "the whole was sent in the place of the rest");
}

/// Nothing was handed out: the request is sent again as it was, and what it gives is one file.
#[tokio::test]
async fn before_anything_was_handed_out_the_new_file_comes_whole() {
    let Some(files) = Files::serve("").await else { return };
    for (change, length) in CHANGES {
        let (old, new) = (random_bytes(1, LENGTH), random_bytes(2, length));
        files.put("file", &Version { contents: &old, second: 1 });
        let head = files.head_length("file").await;
        // Before the answer, in its head, and with the last byte of that.
        for bytes in [1, head / 2, head] {
            for reset in [false, true] {
                let plans = vec![held_and_cut(bytes, reset)];
                let come = changed_in_between(&files, [&old, &new], plans, get("file", change)).await;
                assert!(come.end.is_ok() && come.bytes == new, "{change}, {bytes}: {:?}", come.report);
                assert_eq!(come.head.headers["content-length"], length.to_string());
                assert_eq!((come.report.attempts, come.report.discarded[0].bytes), (2, 0));
            }
        }
    }
}

/// Nobody can tell them apart: what changes twice in a second is to be served with a tag of another kind.
#[tokio::test]
async fn nginx_gives_two_files_of_one_length_and_one_second_the_same_tag() {
    let Some(files) = Files::serve("").await else { return };
    let mut tags = Vec::new();
    for (seed, length, second) in [(1, LENGTH, 1), (2, LENGTH, 1), (2, LENGTH, 2), (2, LENGTH + 1, 1)] {
        files.put("file", &Version { contents: &random_bytes(seed, length), second });
        let proxy = CuttingProxy::before(files.address()).start().await.expect("a port is free");
        let come = download(door(&proxy), get("file", "tag")).await.expect("a head comes");
        tags.push(come.head.headers["etag"].clone());
    }
    assert!(tags[0] == tags[1] && tags[1] != tags[2] && tags[1] != tags[3], "{tags:?}");
}

/// What nginx says then is an answer to the request for the rest, and ends it like any other that is not the rest.
#[tokio::test]
async fn a_file_that_is_gone_ends_its_download() {
    let Some(files) = Files::serve("").await else { return };
    let old = random_bytes(1, LENGTH);
    files.put("file", &Version { contents: &old, second: 1 });
    let come = held(&files, vec![held_and_cut(CUT, false)], get("file", "gone"), || files.remove("file")).await;
    come.ends_unresumed_within(&old, "status 404");
}

/// Downloads the first of two files, of which the second one takes the place while the connection that is cut first stands still.
async fn changed_in_between(
    files: &Files,
    versions: [&[u8]; 2],
    plans: Vec<Plan>,
    request: request::Builder,
) -> Download {
    let [old, new] = versions;
    files.put("file", &Version { contents: old, second: 1 });
    held(files, plans, request, || files.put("file", &Version { contents: new, second: 2 })).await
}

async fn held(files: &Files, plans: Vec<Plan>, request: request::Builder, change: impl FnOnce()) -> Download {
    let cuts = plans.len();
    let proxy = CuttingProxy::before(files.address()).script(plans).start().await.expect("a port is free");
    let changing = within(async {
        proxy.wait_until_frozen(1).await;
        change();
        proxy.thaw();
    });
    let (come, ()) = join!(download(door(&proxy), request), changing);
    assert_eq!(proxy.cuts(), cuts);
    come.unwrap_or_else(|failure| panic!("{failure:?}"))
}

/// Stands still after so many bytes of the answer, and is cut there when it is let go.
fn held_and_cut(bytes: u64, reset: bool) -> Plan {
    let cut = if reset { Disturbance::Reset } else { Disturbance::Close };
    Plan::pass().after(Direction::ToClient, bytes, Disturbance::Freeze).after(Direction::ToClient, bytes, cut)
}
