//! What the worker does for others goes on, whatever becomes of its registration.

use tower_recovery_test::{CuttingProxy, hypha::no_keywords};

use crate::support::{Hypha, Settings, entries, found, start, within};

#[tokio::test]
async fn work_for_others_goes_on_when_the_registration_is_lost_and_its_result_is_given() {
    within(async {
        let Some(hypha) = Hypha::shared().await else { return };
        let worker = start(&Settings::of(&hypha.server, "at-work")).await;
        let (peer, id) = (worker.peer(), worker.service());
        found(&hypha.user, &id).await;
        let evicted = async {
            worker.work.began.opened().await;
            hypha.user.unregister_service(&id).await.unwrap();
            assert_eq!(entries(&hypha.user, &peer).await, ["built-in"]);
            worker.work.may_end.open();
        };
        let (served, ()) = tokio::join!(hypha.user.call(&id, "work", [], no_keywords()), evicted);
        assert_eq!(served.unwrap().as_str(), Some("done"));
        assert_eq!(worker.work.done(), 1);
        found(&hypha.user, &id).await;
    })
    .await;
}

#[tokio::test]
async fn work_for_others_goes_on_when_the_connection_is_lost_though_hypha_rpc_waits_no_more() {
    within(async {
        let Some(hypha) = Hypha::shared().await else { return };
        let address = hypha.server.url().trim_start_matches("http://").parse().unwrap();
        let proxy = CuttingProxy::before(address).start().await.unwrap();
        let worker = start(&Settings { url: proxy.origin(), ..Settings::of(&hypha.server, "cut-off") }).await;
        let (peer, id) = (worker.peer(), worker.service());
        found(&hypha.user, &id).await;
        let cut = async {
            worker.work.began.opened().await;
            proxy.refuse().await;
            proxy.accept_again().unwrap();
        };
        // The server tells the caller that the worker has left.
        let (served, ()) = tokio::join!(hypha.user.call(&id, "work", [], no_keywords()), cut);
        println!("cut off: the caller got {served:?}");
        found(&hypha.user, &id).await;
        worker.work.may_end.open();
        worker.work.ended(1).await;
        assert_eq!(entries(&hypha.user, &peer).await, ["built-in", "worker"]);
    })
    .await;
}
