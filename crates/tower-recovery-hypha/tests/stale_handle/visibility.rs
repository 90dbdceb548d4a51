//! Services that are public, unlisted and protected: for their own workspace, for another one of the same user, and for nobody in particular.

use tower::ServiceExt;
use tower_recovery::{Failure, LookUp};
use tower_recovery_hypha::{
    Call, CallError, HyphaClient, HyphaResolver, RemoteService, ResolveServiceError, ServiceId, ServiceQuery, Value,
};

use crate::support::{World, within};

async fn find(client: &HyphaClient, id: &str, evicted: Option<&str>) -> Result<RemoteService, Failure> {
    let look_up = LookUp::new(ServiceQuery::from(id.parse::<ServiceId>().unwrap()));
    let look_up = match evicted {
        Some(evicted) => look_up.after_eviction_of(evicted),
        None => look_up,
    };
    let resolved = HyphaResolver::new(client.clone()).oneshot(look_up).await?;
    assert_eq!(resolved.identity.as_str(), &**resolved.handle.peer());
    Ok(resolved.handle)
}

async fn echo(handle: RemoteService) -> Result<Value, CallError> {
    handle.call_method(Call::new("echo").arg("book")).await
}

#[tokio::test]
async fn what_is_unlisted_is_found_by_its_name_and_what_is_protected_is_for_its_workspace_alone() {
    within(async {
        let Some(world) = World::start("visible").await else { return };
        let peer = world.peer("one").await;
        for visibility in ["public", "unlisted", "protected"] {
            peer.register_with(visibility, false, visibility).await.unwrap();
        }
        let (identity, book) = (world.identity(&peer), Value::from("book"));
        let (neighbour, anonymous) = tokio::join!(world.stranger(|builder| builder), world.anonymous());
        // Who is the only one is found again after an eviction, also where it is listed for nobody.
        for evicted in [None, Some(identity.as_str())] {
            for visibility in ["public", "unlisted", "protected"] {
                let id = format!("ws-visible/{visibility}");
                let found = find(world.at_home(), &id, evicted).await.unwrap();
                assert_eq!(**found.peer(), identity);
                assert_eq!(echo(found).await.unwrap(), book, "{visibility}");
            }
            for (client, visibility) in
                [&neighbour, &anonymous].into_iter().flat_map(|client| [(client, "public"), (client, "unlisted")])
            {
                let found = find(client, &format!("ws-visible/{visibility}"), evicted).await.unwrap();
                assert_eq!(**found.peer(), identity);
                assert_eq!(echo(found).await.unwrap(), book, "{visibility}");
            }
        }

        // The same user may look, but not touch.
        let found = find(&neighbour, "ws-visible/protected", None).await.unwrap();
        let refused = echo(found).await.unwrap_err();
        assert!(matches!(&refused, CallError::Remote(error) if error.kind() == "PermissionError"), "{refused:?}");
        let failure = find(&anonymous, "ws-visible/protected", None).await.unwrap_err();
        assert!(failure.is_permanent(), "{failure:?}");
        let Some(ResolveServiceError::Call(CallError::Remote(error))) = failure.find() else { panic!("{failure:?}") };
        assert_eq!(error.kind(), "PermissionError");

        let failure = find(&anonymous, "ws-visible/nothing", None).await.unwrap_err();
        assert!(!failure.is_permanent(), "{failure:?}");
        let Some(ResolveServiceError::Call(CallError::ServiceNotFound { id })) = failure.find() else {
            panic!("{failure:?}")
        };
        assert_eq!(id, "ws-visible/*:nothing@*");
    })
    .await;
}
