//! Whether the other end is still there, and the token for coming back.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::mpsc,
    time::{Instant, sleep},
};
use tokio_tungstenite::tungstenite::Message;

/// When anything came last.
#[derive(Debug)]
pub(crate) struct Heard {
    began: Instant,
    millis: AtomicU64,
}

impl Heard {
    pub(crate) fn new() -> Self {
        Self { began: Instant::now(), millis: AtomicU64::new(0) }
    }

    pub(crate) fn now(&self) {
        let millis = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.millis.store(millis, Ordering::Relaxed);
    }

    pub(crate) fn last(&self) -> Instant {
        self.began + Duration::from_millis(self.millis.load(Ordering::Relaxed))
    }
}

/// Asks the server for a sign of life once an interval, by a message: the control frames of the websocket keep no proxy, and not the server's own idle timeout, from ending the connection. Ends when
/// nothing came for the interval and the limit together.
pub(super) async fn keep_alive(
    heard: &Heard,
    texts: mpsc::Sender<Message>,
    interval: Duration,
    limit: Duration,
) -> Arc<str> {
    loop {
        let quiet = heard.last().elapsed();
        if quiet >= interval + limit {
            return format!("nothing came from the server for {quiet:?}").into();
        }
        // The writer that stands still is found out by what does not come.
        let _ = texts.try_send(Message::text(r#"{"type": "ping"}"#));
        sleep(interval.min(interval + limit - quiet)).await;
    }
}

/// Asks for a new token for coming back, in time before the old one ends.
pub(super) async fn refresh_token(
    texts: mpsc::Sender<Message>,
    interval: Duration,
    life_seconds: Option<f64>,
) -> Infallible {
    let half_a_life = life_seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds / 2.0).ok());
    let interval = half_a_life.map_or(interval, |half| half.min(interval)).max(Duration::from_secs(1));
    loop {
        sleep(interval).await;
        // If it is full, the writer stands still: then another token is no help.
        let _ = texts.try_send(Message::text(r#"{"type": "refresh_token"}"#));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_secs(20);
    const LIMIT: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn a_server_that_says_nothing_is_given_up_after_an_interval_and_the_limit() {
        let (heard, (texts, mut sent)) = (Heard::new(), mpsc::channel(8));
        let began = Instant::now();
        let reason = keep_alive(&heard, texts, INTERVAL, LIMIT).await;
        assert_eq!((began.elapsed(), &*reason), (INTERVAL + LIMIT, "nothing came from the server for 30s"));
        assert!(sent.recv().await.is_some_and(|ping| ping.is_text()));
    }

    #[tokio::test(start_paused = true)]
    async fn whatever_comes_gives_it_more_time() {
        let (heard, (texts, _sent)) = (Heard::new(), mpsc::channel(8));
        let began = Instant::now();
        let hears = async {
            for _ in 0..10 {
                sleep(INTERVAL).await;
                heard.now();
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            _ = keep_alive(&heard, texts, INTERVAL, LIMIT) => {}
            () = hears => {}
        }
        assert_eq!(began.elapsed(), 10 * INTERVAL + INTERVAL + LIMIT);
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_is_asked_for_at_half_of_its_life_if_that_is_sooner() {
        for (life, after) in [
            (None, 7200),
            (Some(172_800.0), 7200),
            (Some(600.0), 300),
            (Some(f64::NAN), 7200),
            (Some(-1.0), 7200),
            (Some(0.0), 1),
        ] {
            let (texts, mut sent) = mpsc::channel(8);
            let began = Instant::now();
            tokio::select! {
                never = refresh_token(texts, Duration::from_secs(7200), life) => match never {},
                text = sent.recv() => assert!(text.is_some()),
            }
            assert_eq!(began.elapsed(), Duration::from_secs(after), "{life:?}");
        }
    }
}
