//! A hundred downloads, each cut several times at random.

use std::{collections::HashMap, sync::Arc};

use futures_util::{StreamExt, stream};
use http::StatusCode;
use tower_recovery::stream_replacement::{DiscardedAttempt, ReplacementBasis};
use tower_recovery_test::cutting::{CuttingProxy, Direction, Disturbance, Plan};

use super::{
    client::{Download, door, download, get},
    files::{Files, Version, random_bytes},
};

const RUNS: u64 = 100;
const AT_A_TIME: usize = 8;
/// 3 MiB, and a bit.
const LENGTH: usize = (3 << 20) + 77;
const MOST_CUTS: usize = 10;
/// The head of a part is longer than that of the whole, by so many bytes at the most.
const LONGER: u64 = 64;

/// Where a connection is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Place {
    /// When it is accepted.
    Accept,
    /// When nginx has accepted it too.
    Connected,
    /// When nginx has begun to answer, and nothing of it came through.
    FirstByte,
    Head,
    Body,
}

/// One cut.
#[derive(Clone, Copy, Debug)]
struct Cut {
    place: Place,
    reset: bool,
    /// How many bytes of the answer come through.
    bytes: u64,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_download_is_whole_wherever_and_however_often_it_is_cut() {
    let Some(files) = Files::serve("").await else { return };
    let file = random_bytes(0, LENGTH);
    files.put("file", &Version { contents: &file, second: 1 });
    let head = files.head_length("file").await;
    let (files, file) = (Arc::new(files), Arc::new(file));
    let runs = stream::iter(0..RUNS).map(|seed| {
        let (files, file) = (Arc::clone(&files), Arc::clone(&file));
        tokio::spawn(async move { run(seed, &files, &file, head).await })
    });
    let runs: Vec<_> =
        runs.buffer_unordered(AT_A_TIME).map(|run| run.expect("it panics with a reason")).collect().await;

    let mut drawn = HashMap::<_, usize>::new();
    for cut in runs.iter().flat_map(|run| &run.cuts) {
        *drawn.entry((cut.place, cut.reset)).or_default() += 1;
    }
    assert_eq!((runs.len(), drawn.len()), (RUNS as usize, 10), "{drawn:?}");
    assert!(drawn.values().all(|times| *times >= 10), "{drawn:?}");
    let rests: usize = runs.iter().map(|run| run.rests).sum();
    assert!(rests >= RUNS as usize, "nginx has served {rests} of them");
}

/// What was done in one run, so that all of it can be counted.
struct Run {
    cuts: Vec<Cut>,
    /// How often nginx has served a rest.
    rests: usize,
}

async fn run(seed: u64, files: &Files, file: &[u8], head: u64) -> Run {
    let cuts = draw(seed, head);
    let plans: Vec<_> = cuts.iter().map(Cut::plan).collect();
    let proxy = CuttingProxy::before(files.address()).script(plans).start().await.expect("a port is free");
    let id = format!("run-{seed}");
    let come = download(door(&proxy), get("file", &id)).await;
    let come = come.unwrap_or_else(|failure| panic!("{seed}: {failure:?}, {cuts:?}"));

    come.is_spliced_nowhere(file);
    assert!(come.end.is_ok() && come.bytes.len() == file.len(), "{seed}: {come:?}, {cuts:?}");
    assert!(come.head.status == StatusCode::OK && come.head.headers["content-length"] == LENGTH.to_string());
    assert_eq!(proxy.cuts(), cuts.len(), "{seed}: every cut was made, {cuts:?}");
    check_the_report(&come, &cuts, head);
    let log = files.asked_for(&id);
    check_against_the_log(&come, &log);
    Run { cuts, rests: log.iter().filter(|(status, _)| status == "206").count() }
}

/// It says what was cut. Of what did not leave this process a layer below has known, which repeats it at once: it may not have been an attempt of the stream.
fn check_the_report(come: &Download, cuts: &[Cut], head: u64) {
    let discarded = &come.report.discarded;
    let visible = cuts.iter().filter(|cut| cut.place >= Place::FirstByte).count();
    assert!((visible..=cuts.len()).contains(&discarded.len()), "{discarded:?}, {cuts:?}");
    assert_eq!(come.report.attempts as usize, discarded.len() + 1);
    for (index, attempt) in discarded.iter().enumerate() {
        assert_eq!(attempt.attempt as usize, index + 1);
        assert_eq!(attempt.basis, ReplacementBasis::RetryableTransportFailure);
    }
    // A close loses nothing of what came through before it.
    let closed: u64 = cuts.iter().filter(|cut| !cut.reset).map(|cut| cut.bytes.saturating_sub(head + LONGER)).sum();
    let handed_out: u64 = discarded.iter().map(|attempt| attempt.bytes).sum();
    assert!(closed > 0 && (closed..LENGTH as u64).contains(&handed_out), "{discarded:?}, {cuts:?}");
}

/// nginx was asked for what the report says, and for nothing else: each time for all that had not been handed out by then.
fn check_against_the_log(come: &Download, log: &[(String, String)]) {
    let mut places = vec![("200".to_owned(), "-".to_owned())];
    let mut handed_out = 0;
    for DiscardedAttempt { bytes, .. } in &come.report.discarded {
        handed_out += bytes;
        if handed_out > 0 {
            places.push(("206".to_owned(), format!("bytes={handed_out}-{}", LENGTH - 1)));
        }
    }
    for asked in log {
        // A request that was cut off before it was answered has a status of nginx's own.
        assert!(places.contains(asked) || asked.0 == "499", "{asked:?}, {places:?}");
    }
}

/// Cuts of one download, the same ones for the same seed. One at the least is a close in the body, and all of them together leave some of it.
fn draw(seed: u64, head: u64) -> Vec<Cut> {
    const PLACES: [Place; 8] = [
        Place::Accept,
        Place::Connected,
        Place::FirstByte,
        Place::Head,
        Place::Body,
        Place::Body,
        Place::Body,
        Place::Body,
    ];
    let mut random = fastrand::Rng::with_seed(seed);
    let mut cuts: Vec<_> = (0..random.usize(1..=MOST_CUTS))
        .map(|index| {
            let place = if index == 0 { Place::Body } else { PLACES[random.usize(..PLACES.len())] };
            let bytes = match place {
                Place::Accept | Place::Connected | Place::FirstByte => 0,
                Place::Head => random.u64(1..head),
                // Some of them after the very first bytes.
                Place::Body if index > 0 && random.u8(..4) == 0 => head + random.u64(1..LONGER + 9),
                Place::Body => head + LONGER + random.u64(1..(LENGTH / (MOST_CUTS + 1)) as u64),
            };
            Cut { place, reset: index > 0 && random.bool(), bytes }
        })
        .collect();
    random.shuffle(&mut cuts);
    cuts
}

impl Cut {
    fn plan(&self) -> Plan {
        let cut = if self.reset { Disturbance::Reset } else { Disturbance::Close };
        match (self.place, self.reset) {
            (Place::Accept, false) => Plan::close_at_accept(),
            (Place::Accept, true) => Plan::reset_at_accept(),
            (Place::FirstByte, _) => Plan::pass().beyond(Direction::ToClient, 0, cut),
            (Place::Connected | Place::Head | Place::Body, _) => {
                Plan::pass().after(Direction::ToClient, self.bytes, cut)
            }
        }
    }
}
