//! The registry: it moves the name, fails, hangs and is slow, by the number of the look-up.

use std::{
    sync::{Arc, Mutex, MutexGuard},
    task::{Context, Poll},
    time::Duration,
};

use futures::future::BoxFuture;
use tokio::time::{Instant, sleep};
use tower::{Service, ServiceExt};
use tower_recovery::Resolved;
use tower_recovery_http::Origin;

use crate::audit::seed::{About, Seed};

/// Of so many look-ups so many fail one after the other.
const OUTAGE_PERIOD: usize = 40;
const OUTAGE: usize = 4;

/// A resolver. Clones are the same registry.
#[derive(Clone, Debug)]
pub(crate) struct LookUps {
    shared: Arc<Shared>,
    /// Whether what follows the answer belongs to the look-up, too.
    goes_on: bool,
}

#[derive(Debug)]
struct Shared {
    seed: Seed,
    origins: Vec<Origin>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    current: usize,
    look_ups: Vec<LookUp>,
}

/// One look-up, as the registry saw it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LookUp {
    pub(crate) asked: Instant,
    /// `None`: nobody waited for the answer any more, or it hung.
    pub(crate) answered: Option<Instant>,
    /// Whether what it came to reached whoever asked.
    pub(crate) heard: bool,
}

/// The registry does not answer.
#[derive(Debug, thiserror::Error)]
#[error("the registry is down at look-up {look_up}.")]
pub(crate) struct RegistryDown {
    pub(crate) look_up: usize,
}

/// What the registry does with one look-up.
enum Mood {
    Answers,
    Slow(Duration),
    Hangs,
    Fails,
    /// It names an origin that this client can never reach: over TLS, of which it knows nothing.
    Misleads,
}

impl LookUps {
    pub(crate) fn new(seed: Seed, origins: Vec<Origin>) -> Self {
        Self { shared: Arc::new(Shared { seed, origins, state: Mutex::default() }), goes_on: false }
    }

    /// A resolver that looks up here, and then does this, which may be given up.
    pub(crate) fn then<Handles>(
        self,
        resolver: impl FnOnce(Self) -> Handles,
    ) -> impl Service<&'static str, Response = Handles::Response, Error = Handles::Error, Future: Send> + Clone + Send
    where
        Handles: Service<&'static str, Response: Send, Error: Send, Future: Send> + Clone + Send,
    {
        let shared = Arc::clone(&self.shared);
        let resolver = resolver(Self { goes_on: true, ..self });
        resolver.map_result(move |outcome| {
            // There is one look-up at a time.
            shared.state().look_ups.last_mut().expect("one has ended").heard = true;
            outcome
        })
    }

    /// The name is served by another instance from now on.
    pub(crate) fn move_on(&self) {
        self.shared.state().move_by(1, self.shared.origins.len());
    }

    pub(crate) fn all(&self) -> Vec<LookUp> {
        self.shared.state().look_ups.clone()
    }
}

impl State {
    fn move_by(&mut self, instances: usize, of: usize) {
        self.current = (self.current + instances) % of;
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics with it")
    }

    /// Most look-ups find that the name has moved, since what makes somebody look is that an instance has gone.
    fn begin(&self) -> (usize, Mood, Origin) {
        let mut state = self.state();
        let number = state.look_ups.len() + 1;
        let mut chance = self.seed.draw(About::LookUp, number, 0);
        if chance.u32(..100) < 92 {
            state.move_by(chance.usize(1..self.origins.len()), self.origins.len());
        }
        let mood = match chance.u32(..100) {
            _ if number % OUTAGE_PERIOD < OUTAGE => Mood::Fails,
            0..3 => Mood::Fails,
            3..6 => Mood::Misleads,
            6 => Mood::Hangs,
            7..17 => Mood::Slow(Duration::from_millis(chance.u64(1..15))),
            _ => Mood::Answers,
        };
        state.look_ups.push(LookUp { asked: Instant::now(), answered: None, heard: false });
        (number, mood, self.origins[state.current].clone())
    }

    fn end(&self, number: usize, goes_on: bool) {
        let look_up = &mut self.state().look_ups[number - 1];
        (look_up.answered, look_up.heard) = (Some(Instant::now()), !goes_on);
    }
}

impl Service<&'static str> for LookUps {
    type Response = Resolved<Origin>;
    type Error = RegistryDown;
    type Future = BoxFuture<'static, Result<Resolved<Origin>, RegistryDown>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), RegistryDown>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: &'static str) -> Self::Future {
        let (shared, goes_on) = (Arc::clone(&self.shared), self.goes_on);
        let (number, mood, origin) = shared.begin();
        Box::pin(async move {
            let found = match mood {
                Mood::Answers => Ok(origin),
                Mood::Slow(delay) => {
                    sleep(delay).await;
                    Ok(origin)
                }
                Mood::Hangs => std::future::pending().await,
                Mood::Fails => Err(RegistryDown { look_up: number }),
                Mood::Misleads => Ok(format!("https://{}", origin.authority()).parse().expect("it is an origin")),
            };
            shared.end(number, goes_on);
            found.map(Resolved::from)
        })
    }
}
