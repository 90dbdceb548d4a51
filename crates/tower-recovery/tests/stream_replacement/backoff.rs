//! The pause before a replacement: 5 s × attempt, less up to half of it, the grace at the most.

use std::time::Duration;

use tokio::time::Instant;
use tower::ServiceExt;
use tower_recovery::{RecoveryEvent, StreamPolicyBuilder};

use super::{
    support::{Call, Fault},
    world::{
        Driven, Seen, breaks, fault, gives, over, pause, peer, replacing, seconds, under, watching, whole, whole_millis,
    },
};

/// The pauses of a call that breaks as often as it can.
async fn pauses(policy: StreamPolicyBuilder) -> Vec<Duration> {
    let seen = Seen::default();
    let layer = under(policy, whole()).observer(seen.observer());
    let started = Instant::now();
    over(layer, peer([breaks(&["a"], Fault::Lost)])).oneshot(Call::write()).await.unwrap_err();
    let pauses: Vec<_> = seen
        .take()
        .into_iter()
        .filter_map(|event| match event {
            RecoveryEvent::RecoveryReplacementProposed { pause, .. } => Some(pause),
            _ => None,
        })
        .collect();
    let waited = started.elapsed();
    let said: Duration = pauses.iter().sum();
    // A timer ends with the millisecond in which it is due.
    assert!(
        waited >= said && waited <= said + 2 * Duration::from_millis(1) * pauses.len() as u32,
        "{waited:?} {said:?}"
    );
    pauses
}

#[tokio::test(start_paused = true)]
async fn it_grows_with_the_attempts_and_keeps_its_bounds() {
    for _ in 0..20 {
        let pauses = pauses(replacing().max_replacements(10)).await;
        assert_eq!(pauses.len(), 10);
        for (attempt, pause) in (1..).zip(pauses) {
            let longest = seconds(5 * attempt);
            assert!(pause >= longest / 2 && pause <= longest, "{attempt}: {pause:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn it_is_never_longer_than_the_grace() {
    for _ in 0..20 {
        let pauses = pauses(replacing().max_replacements(4).recovery_grace(seconds(7))).await;
        let bounds = [(2.5, 5.0), (3.5, 7.0), (3.5, 7.0), (3.5, 7.0)];
        for (pause, (least, most)) in pauses.into_iter().zip(bounds) {
            assert!((least..=most).contains(&pause.as_secs_f64()), "{pause:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn it_is_spread_over_its_bounds() {
    let mut shares = Vec::new();
    for _ in 0..20 {
        for (attempt, pause) in (1..).zip(pauses(replacing().max_replacements(10)).await) {
            shares.push(pause.as_secs_f64() / f64::from(5 * attempt));
        }
    }
    // Of 200 draws none misses a tenth of the range but once in a billion.
    for tenth in 0..10 {
        let least = 0.5 + 0.05 * f64::from(tenth);
        assert!(shares.iter().any(|share| (least..least + 0.05).contains(share)), "none from {least}");
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_starts_before_it_is_over() {
    for broken in [fault(Fault::Lost), breaks(&["a"], Fault::Lost), fault(Fault::NotWritten)] {
        let seen = Seen::default();
        let peer = peer([broken, gives(&["."])]);
        let layer = watching(whole()).observer(seen.observer());
        let mut call = Driven::new(over(layer, peer.clone()).oneshot(Call::write()));
        call.waits();
        let pause = whole_millis(pause(&seen.take()));
        call.waits_for(pause - Duration::from_millis(1)).await;
        assert_eq!(peer.calls(), 1);
        call.output_within(Duration::from_millis(3)).await.unwrap();
    }
}
