//! What the registry shows, by the eyes of a Python client.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use tower_recovery_hypha::Value;
use tower_recovery_test::hypha::{PythonPeer, no_keywords};

const LIMIT: Duration = Duration::from_secs(30);

/// Asks until the worker's service resolves and answers, and says how long that took.
pub(crate) async fn found(user: &PythonPeer, id: &str) -> Duration {
    let began = Instant::now();
    loop {
        match user.call(id, "status", [], no_keywords()).await {
            Ok(answer) => {
                assert_eq!(answer, Value::from("busy"));
                return began.elapsed();
            }
            Err(error) => assert!(began.elapsed() < LIMIT, "{id} is not found: {error}"),
        }
        sleep(Duration::from_millis(20)).await;
    }
}

/// Asks until nothing is registered under the client's id, and says how long that took. It asks the registry alone: a resolve asks the client, too, which may be frozen.
pub(crate) async fn gone(user: &PythonPeer, peer: &str) -> Duration {
    let began = Instant::now();
    loop {
        let left = entries(user, peer).await;
        if left.is_empty() {
            return began.elapsed();
        }
        assert!(began.elapsed() < LIMIT, "{left:?} of {peer} are there still");
        sleep(Duration::from_millis(20)).await;
    }
}

/// The services that are registered under the client's id, sorted, each as often as it is there.
pub(crate) async fn entries(user: &PythonPeer, peer: &str) -> Vec<String> {
    let services = user.list_services().await.unwrap();
    let names = services.iter().filter_map(|id| id.strip_prefix(peer)?.strip_prefix(':'));
    let mut names: Vec<_> = names.map(|name| name.split('@').next().unwrap_or(name).to_owned()).collect();
    names.sort();
    names
}
