//! The registry in memory.

mod support;

use support::within;
use tower::ServiceExt;
use tower_recovery_test::{NotRegistered, Registry};

async fn look_up(registry: &Registry<u8>, name: &str) -> Result<(String, u8), NotRegistered> {
    let resolved = registry.resolver().oneshot(name).await?;
    Ok((resolved.identity.to_string(), resolved.handle))
}

#[tokio::test]
async fn a_name_resolves_to_what_is_registered_at_the_moment() {
    let registry = Registry::new();
    let clone = registry.clone();
    assert!(clone.register("orders", "10.0.0.7", 7).is_none());
    assert_eq!(look_up(&registry, "orders").await, Ok(("10.0.0.7".into(), 7)));

    let replaced = clone.register("orders", "10.0.0.8", 8);
    assert_eq!(replaced.unwrap().handle, 7);
    assert_eq!(look_up(&registry, "orders").await, Ok(("10.0.0.8".into(), 8)));
}

#[tokio::test]
async fn a_name_that_is_not_registered_is_named_in_the_error() {
    let registry = Registry::new();
    registry.register("orders", "10.0.0.7", 7);
    assert_eq!(registry.unregister("orders").unwrap().handle, 7);
    assert!(registry.unregister("orders").is_none());
    let error = look_up(&registry, "orders").await.unwrap_err();
    assert_eq!(error.name, "orders");
    assert_eq!(error.to_string(), "nothing is registered under the name \"orders\"");
}

#[tokio::test]
async fn look_ups_are_counted_by_name_found_or_not() {
    within(async {
        let registry = Registry::new();
        assert_eq!(registry.look_ups("orders"), 0);
        let waiting = tokio::spawn({
            let registry = registry.clone();
            async move { registry.wait_until_look_ups("orders", 2).await }
        });
        look_up(&registry, "orders").await.unwrap_err();
        look_up(&registry, "stock").await.unwrap_err();
        assert!(!waiting.is_finished());
        registry.register("orders", "10.0.0.7", 7);
        look_up(&registry, "orders").await.unwrap();
        waiting.await.unwrap();
        let counts = (registry.look_ups("orders"), registry.look_ups("stock"));
        assert_eq!(counts, (2, 1));
    })
    .await;
}

#[tokio::test]
async fn a_resolver_takes_any_target_that_is_text() {
    let registry = Registry::new();
    registry.register("orders", "10.0.0.7", 7);
    let resolver = registry.resolver();
    assert!(resolver.clone().oneshot("orders".to_owned()).await.is_ok());
    assert!(resolver.oneshot(Box::<str>::from("orders")).await.is_ok());
}
