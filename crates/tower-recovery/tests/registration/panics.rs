//! A registrar that panics is a step that failed, or a look-up without an answer; and no end of the probe.

use std::{error::Error, fmt, thread};

use tokio::time::{Instant, timeout};
use tower::BoxError;
use tower_recovery::{
    RecoveryEvent, RegistrationProbe,
    registration::{Presence, RebuildStep, Registrar},
};

use super::world::{Act, Asked, ID, INTERVAL, LONGEST, Registry, Serving, Worker};

const PANICS: [Act; 3] = [Act::PanicsInCall, Act::PanicsInPoll, Act::PanicsInDrop];

fn failed_steps(serving: &Serving) -> Vec<(RebuildStep, String, bool)> {
    let failed = |event| match event {
        RecoveryEvent::RegistrationStepFailed { step, cause, permanent, .. } => Some((step, cause, permanent)),
        _ => None,
    };
    serving.events.all().into_iter().filter_map(failed).collect()
}

#[tokio::test(start_paused = true)]
async fn a_look_up_that_panics_has_no_answer() {
    for panic in PANICS {
        let mut serving = Serving::begin();
        serving.healthy().await;
        serving.worker.next(Asked::LookUp, [panic; 2]);
        let status = serving.until(|status| status.confirmed == 1).await;
        assert_eq!((status.rebuilds, status.flaps), (1, 1));
        let lost = serving.events.all().remove(0);
        let RecoveryEvent::RegistrationLost { cause, .. } = lost else { panic!("{lost:?}") };
        assert_eq!(cause, "the registrar panicked");
        serving.is_sound();
    }
}

#[tokio::test(start_paused = true)]
async fn a_close_that_panics_drops_the_connection_and_the_rebuild_goes_on() {
    for panic in PANICS {
        let mut serving = Serving::begin();
        serving.healthy().await;
        serving.registry().evict(ID);
        serving.worker.next(Asked::Close, [panic]);
        let status = serving.until(|status| status.confirmed == 1).await;
        assert_eq!((status.rebuilds, serving.registry().count(Asked::Connect)), (1, 1));
        assert_eq!(failed_steps(&serving), [(RebuildStep::Close, "the registrar panicked".to_owned(), false)]);
        serving.is_sound();
    }
}

#[tokio::test(start_paused = true)]
async fn a_connect_or_a_register_that_panics_is_tried_again_within_the_rebuild() {
    for (asked, step) in [(Asked::Connect, RebuildStep::Connect), (Asked::Register, RebuildStep::Register)] {
        for panic in PANICS {
            let mut serving = Serving::begin();
            serving.healthy().await;
            serving.registry().evict(ID);
            serving.worker.next(asked, [panic]);
            let status = serving.until(|status| status.confirmed == 1).await;
            assert_eq!((status.rebuilds, serving.registry().count(asked)), (1, 2), "{asked:?} {panic:?}");
            assert_eq!(failed_steps(&serving), [(step, "the registrar panicked".to_owned(), false)]);
            serving.is_sound();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_registrar_that_panics_at_everything_ends_nothing() {
    let mut serving = Serving::begin();
    for asked in [Asked::LookUp, Asked::Close, Asked::Connect, Asked::Register] {
        serving.worker.next(asked, PANICS.into_iter().cycle().take(3_000));
    }
    let began = Instant::now();
    serving.until(|status| status.rebuilds == 20).await;
    assert!(began.elapsed() >= INTERVAL * 19);
    serving.is_sound();

    serving.worker.works();
    serving.healthy().await;
    serving.is_sound();
}

#[tokio::test(start_paused = true)]
async fn an_observer_that_panics_ends_nothing() {
    let worker = Worker::new(&Registry::new(), ID);
    let probe = RegistrationProbe::builder(worker.clone())
        .connection(worker.registered())
        .observer(|_: &RecoveryEvent| panic!("an observer panics"))
        .build()
        .unwrap();
    let mut monitor = probe.monitor();
    let probing = tokio::spawn(probe.run());
    worker.registry.evict(ID);
    timeout(LONGEST, monitor.wait_until(|status| status.confirmed == 1)).await.unwrap().unwrap();
    probing.abort();
}

/// Where an error panics: it is the registrar's own as much as its steps are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Converted,
    Shown,
    AskedForItsSource,
    Dropped,
}

/// Each of its steps but the close fails, by an error that panics.
struct Hostile(When);

struct HostileError(When);

#[derive(Debug)]
struct Boxed(When);

impl Registrar for Hostile {
    type Connection = ();
    type Error = HostileError;

    async fn look_up(&mut self, _: Option<&()>) -> Result<Presence, HostileError> {
        Err(HostileError(self.0))
    }

    async fn close(&mut self, (): ()) {}

    async fn connect(&mut self) -> Result<(), HostileError> {
        Err(HostileError(self.0))
    }

    async fn register(&mut self, (): &()) -> Result<(), HostileError> {
        Err(HostileError(self.0))
    }
}

impl From<HostileError> for BoxError {
    fn from(HostileError(panics): HostileError) -> Self {
        assert!(panics != When::Converted, "an error panics when it is converted");
        Box::new(Boxed(panics))
    }
}

impl fmt::Display for Boxed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        assert!(self.0 != When::Shown, "an error panics when it is shown");
        formatter.write_str("hostile")
    }
}

impl Error for Boxed {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        assert!(self.0 != When::AskedForItsSource, "an error panics when it is asked for its source");
        None
    }
}

impl Drop for Boxed {
    fn drop(&mut self) {
        assert!(self.0 != When::Dropped || thread::panicking(), "an error panics when it is dropped");
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_that_panics_ends_nothing_whatever_is_done_to_it() {
    use When::{AskedForItsSource, Converted, Dropped, Shown};
    for panics in [Converted, Shown, AskedForItsSource, Dropped] {
        for connected in [true, false] {
            let builder = RegistrationProbe::builder(Hostile(panics));
            let builder = if connected { builder.connection(()) } else { builder };
            let probe = builder.build().unwrap();
            let mut monitor = probe.monitor();
            let probing = tokio::spawn(probe.run());
            let reached = timeout(LONGEST, monitor.wait_until(|status| status.rebuilds == 3)).await.unwrap();
            assert!(reached.is_some(), "{panics:?} ended the probe");
            assert!(!probing.is_finished());
            probing.abort();
        }
    }
}
