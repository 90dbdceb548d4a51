//! The server is killed, and started again with an empty registry.

use std::time::Duration;

use tokio::time::{Instant, timeout};
use tower_recovery_hypha::{Call, CallError, Place, RemoteService};
use tower_recovery_test::hypha::{Behaviour, HyphaServer, no_keywords};

use crate::support::{Hypha, Settings, Worker, echo, entries, found, start, within};

#[tokio::test]
async fn a_worker_comes_back_to_a_server_that_was_killed_and_its_result_reaches_who_waits() {
    within(async {
        let Some(hypha) = Hypha::start(HyphaServer::builder()).await else { return };
        let mut worker = start(&Settings::of(&hypha.server, "restarted")).await;
        let (peer, id) = (worker.peer(), worker.service());
        found(&hypha.user, &id).await;
        let manager = hypha.server.artifact_manager("manager").await.unwrap();
        manager.behave("read", Behaviour::hang_before()).await.unwrap();
        let provider = worker.client.find(&"artifact-manager".parse().unwrap()).await.unwrap();

        // One call served by the worker, and one that it waits for, are on their way when the server dies.
        let served = hypha.user.call(&id, "work", [], no_keywords());
        let asked = provider.call_method(Call::new("read").arg("book"));
        let killed = async {
            worker.work.began.opened().await;
            hypha.server.wait_until_received("read", 1).await;
            hypha.server.kill();
            Instant::now()
        };
        let rest = async {
            let (asked, killed) = tokio::join!(asked, killed);
            assert!(matches!(&asked, Err(CallError::ConnectionLost { .. })), "{asked:?}");
            assert_eq!(asked.unwrap_err().place(), Place::Unanswered);
            while_it_is_away(&worker, &provider, &hypha).await;
            println!("restarted server: back and answering {:?} after it was killed", killed.elapsed());
            let back = Instant::now();
            found(&hypha.user, &id).await;
            println!("restarted server: found again {:?} after that", back.elapsed());
            worker.work.may_end.open();
        };
        let (served, ()) = tokio::join!(served, rest);
        println!("restarted server: the caller got {served:?}");
        assert_eq!(served.unwrap().as_str(), Some("done"));
        assert_eq!(worker.work.done(), 1);
        assert_eq!(entries(&hypha.user, &peer).await, ["built-in", "worker"]);

        // With another secret the token for coming back is good for nothing, and that of the user is taken; also by a client that no probe closes.
        let alone = Settings::of(&hypha.server, "alone").connect().await;
        let mut status = alone.status();
        hypha.server.kill();
        status.wait_for(|status| !status.is_connected()).await.unwrap();
        hypha.server.restart_with_another_secret().await;
        let restarted = Instant::now();
        timeout(Duration::from_secs(30), status.wait_for(|status| status.is_connected())).await.unwrap().unwrap();
        let user = hypha.server.peer("another-user").await.unwrap();
        found(&user, &id).await;
        println!("another secret: found again {:?} after the server was ready", restarted.elapsed());
        assert_eq!(entries(&user, &peer).await, ["built-in", "worker"]);
        worker.wait_until(|status| status.is_registered()).await;
    })
    .await;
}

/// Calls that can wait are answered when the server is there again, and one that cannot was never sent.
async fn while_it_is_away(worker: &Worker, provider: &RemoteService, hypha: &Hypha) {
    let mut status = worker.client.status();
    status.wait_for(|status| !status.is_connected()).await.unwrap();
    let impatient = provider.clone().connection_wait(Duration::from_millis(100));
    let waits = worker.client.manager(echo());
    let (waited, refused, ()) = tokio::join!(waits, impatient.call_method(Call::new("read")), hypha.server.restart());
    assert!(matches!(&refused, Err(CallError::NotConnected { .. })), "{refused:?}");
    assert_eq!(refused.unwrap_err().place(), Place::Send);
    waited.unwrap();
    timeout(Duration::from_secs(30), status.wait_for(|status| status.is_connected())).await.unwrap().unwrap();
}
