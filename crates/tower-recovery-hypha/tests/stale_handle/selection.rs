//! Which of several clients the resolver takes.

use std::{collections::BTreeSet, time::Duration};

use tower::ServiceExt;
use tower_recovery::{Failure, LookUp};
use tower_recovery_hypha::{Call, HyphaResolver, ResolveServiceError, SelectionMode, ServiceId, ServiceQuery, Value};

use crate::support::{World, within};

/// Who is found, and whether it is who answers.
async fn find(resolver: &HyphaResolver, look_up: LookUp<ServiceQuery>) -> Result<String, Failure> {
    let resolved = resolver.clone().oneshot(look_up).await?;
    let echoed = resolved.handle.call_method(Call::new("echo").arg("book")).await.unwrap();
    assert_eq!((echoed, &**resolved.handle.peer()), (Value::from("book"), resolved.identity.as_str()));
    Ok(resolved.identity.to_string())
}

fn by(id: &str, mode: SelectionMode) -> LookUp<ServiceQuery> {
    LookUp::new(ServiceQuery::new(id.parse::<ServiceId>().unwrap(), mode))
}

fn error(failure: &Failure) -> &ResolveServiceError {
    failure.find().unwrap_or_else(|| panic!("{failure:?}"))
}

#[tokio::test]
async fn each_mode_takes_one_that_answers_and_never_the_one_just_evicted() {
    within(async {
        let Some(world) = World::start("selection").await else { return };
        let (one, two) = tokio::join!(world.peer("one"), world.peer("two"));
        one.register("work").await.unwrap();
        let (first, second) = (world.identity(&one), world.identity(&two));
        let both: BTreeSet<_> = [first.clone(), second.clone()].into();
        let fresh = || HyphaResolver::new(world.worker.clone()).ping_timeout(Duration::from_millis(500));

        // Alone, it is found by all of its names.
        let own = format!("{first}:work");
        for id in ["work", "ws-selection/work", "selection-one:work", &own, "work@*", &format!("{own}@*")] {
            for mode in [SelectionMode::Unspecified, SelectionMode::Exact, SelectionMode::Random] {
                assert_eq!(find(&fresh(), by(id, mode)).await.unwrap(), first, "{id}");
            }
        }
        let evicted = by("work", SelectionMode::Unspecified).after_eviction_of(first.as_str());
        assert_eq!(find(&fresh(), evicted).await.unwrap(), first, "there is nobody else");

        two.register("work").await.unwrap();
        for mode in [SelectionMode::Unspecified, SelectionMode::Random, SelectionMode::First, SelectionMode::Last] {
            assert!(both.contains(&find(&fresh(), by("work", mode.clone())).await.unwrap()), "{mode:?}");
            for (evicted, other) in [(&first, &second), (&second, &first)] {
                for _ in 0..5 {
                    let look_up = by("work", mode.clone()).after_eviction_of(evicted.as_str());
                    assert_eq!(&find(&fresh(), look_up).await.unwrap(), other, "{mode:?}");
                }
            }
            // Who serves goes on serving.
            let resolver = fresh();
            let serves = find(&resolver, by("work", mode.clone())).await.unwrap();
            for _ in 0..5 {
                let look_up = by("work", mode.clone()).beside(serves.as_str());
                assert_eq!(find(&resolver, look_up).await.unwrap(), serves, "{mode:?}");
            }
        }
        let drawn: BTreeSet<_> = {
            let mut drawn = BTreeSet::new();
            while drawn != both {
                drawn.insert(find(&fresh(), by("work", SelectionMode::Random)).await.unwrap());
            }
            drawn
        };
        assert_eq!(drawn, both);

        let failure = find(&fresh(), by("work", SelectionMode::Exact)).await.unwrap_err();
        let ResolveServiceError::Ambiguous { id, peers } = error(&failure) else { panic!("{failure:?}") };
        assert_eq!((id.as_str(), peers.iter().map(|peer| peer.to_string()).collect()), ("work", both.clone()));
        let evicted = by("work", SelectionMode::Exact).after_eviction_of(first.as_str());
        assert_eq!(find(&fresh(), evicted).await.unwrap(), second);
        assert_eq!(find(&fresh(), by("selection-two:work", SelectionMode::Exact)).await.unwrap(), second);

        // Of one that is frozen, and one that is not.
        one.freeze();
        for mode in [SelectionMode::Unspecified, SelectionMode::Random, SelectionMode::First, SelectionMode::Last] {
            let resolver = fresh();
            let unasked = resolver.clone().oneshot(by("work", mode.clone())).await.unwrap().identity.to_string();
            // Where the registry chose, nobody is pinged before it serves; a look-up beside it finds out.
            let beside = by("work", mode.clone()).beside(unasked.as_str());
            let beside = find(&resolver, beside).await.unwrap();
            assert_eq!(beside, second, "{mode:?}, at first {unasked}");
        }
        two.kill();
        world.wait_until_forgotten("work", &second).await;
        two_frozen(&world, &fresh()).await;
        one.thaw();
    })
    .await;
}

/// Two are listed, and both are frozen.
async fn two_frozen(world: &World, resolver: &HyphaResolver) {
    let three = world.peer("three").await;
    three.register("work").await.unwrap();
    three.freeze();
    let failure = find(resolver, by("work", SelectionMode::Unspecified)).await.unwrap_err();
    assert!(matches!(error(&failure), ResolveServiceError::NobodyAnswers { asked: 2, .. }), "{failure:?}");
    three.thaw();
}
