//! A handle that is found out before a timeout finds it: reads that suspect it, and a resolver that is asked from time to time. Over real sockets.

mod support;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http_body_util::Full;
use tokio::sync::Notify;
use tower_recovery::{RecoveryEvent, StreamMode, StreamPolicy};

use self::support::{NAME, bounded, call, door, read, register, registry_of, server, write};

/// No attempt of these tests ends by its timeout.
const ATTEMPT: Duration = Duration::from_secs(60);
const SUSPECT_AFTER: Duration = Duration::from_millis(150);

#[tokio::test]
async fn a_read_leaves_a_frozen_address_in_time_and_a_write_waits_for_it() {
    let (old, new) = (server().await.unwrap(), server().await.unwrap());
    let registry = registry_of(&old).await;
    let mut api = door(&registry).attempt_timeout(ATTEMPT).suspect_after(SUSPECT_AFTER).build().unwrap();
    call(&mut api, write("before")).await.unwrap();

    register(&registry, "second", &new);
    old.freeze();
    let mut writer = api.clone();
    let writing = tokio::spawn(async move { call(&mut writer, write("write")).await });
    bounded(old.wait_until_read(2)).await;

    bounded(call(&mut api, read("read"))).await.unwrap();
    assert_eq!((new.executed("read"), registry.look_ups(NAME)), (1, 2));
    assert_eq!(new.executions()[0].query.as_deref(), Some("silent=true"), "the old one may have counted it");
    assert!(!writing.is_finished(), "a write that may have been sent is waited for");

    old.thaw();
    assert_eq!(bounded(writing).await.unwrap().unwrap(), "done");
    assert_eq!((old.executed("write"), new.executed("write")), (1, 0));
}

#[tokio::test]
async fn a_read_waits_for_an_address_that_is_slow_and_still_the_one() {
    let slow = server().await.unwrap();
    let registry = registry_of(&slow).await;
    let mut api = door(&registry).attempt_timeout(ATTEMPT).suspect_after(SUSPECT_AFTER).build().unwrap();
    call(&mut api, write("before")).await.unwrap();

    slow.freeze();
    let mut reader = api.clone();
    let reading = tokio::spawn(async move { call(&mut reader, read("read")).await });
    bounded(registry.wait_until_look_ups(NAME, 2)).await;
    slow.thaw();
    bounded(reading).await.unwrap().unwrap();
    assert_eq!((slow.executed("read"), registry.look_ups(NAME)), (1, 2), "asked once, and executed once");
}

#[tokio::test]
async fn what_the_resolver_names_is_followed_although_nothing_fails() {
    let (old, new) = (server().await.unwrap(), server().await.unwrap());
    let registry = registry_of(&old).await;
    let replaced = Arc::new(Notify::new());
    let seen = Arc::clone(&replaced);
    let observer = move |event: &RecoveryEvent| {
        if matches!(event, RecoveryEvent::HandleResolved { previous: Some(_), .. }) {
            seen.notify_one();
        }
    };
    let mut api = door(&registry).refresh_every(Duration::from_millis(50)).observer(observer).build().unwrap();
    call(&mut api, write("before")).await.unwrap();

    register(&registry, "second", &new);
    bounded(replaced.notified()).await;
    call(&mut api, write("after")).await.unwrap();
    assert_eq!((old.executed("after"), new.executed("after")), (0, 1));
}

#[tokio::test]
async fn a_wait_that_outlasts_an_attempt_is_refused_and_so_is_one_out_of_bounds() {
    let registry = registry_of(&server().await.unwrap()).await;
    let second = Duration::from_secs(1);
    for (door, refused) in [
        (
            door(&registry).attempt_timeout(second).suspect_after(second),
            "suspect_after is 1s, but it must be shorter than the attempt_timeout of 1s",
        ),
        (
            door(&registry).deadline(3 * second).suspect_after(second),
            "suspect_after is 1s, but it must be shorter than the attempt_timeout of 1s",
        ),
        (door(&registry).suspect_after(Duration::ZERO), "suspect_after is 0ns, but it must be from 1ms to 604800s"),
        (door(&registry).refresh_every(Duration::ZERO), "refresh_every is 0ns, but it must be from 1ms to 604800s"),
        (
            door(&registry).refresh_every(Duration::MAX),
            &*format!("refresh_every is {:?}, but it must be from 1ms to 604800s", Duration::MAX),
        ),
    ] {
        let policy = StreamPolicy::builder(StreamMode::Disabled).build().unwrap();
        assert_eq!(door.clone().build::<Full<Bytes>>().unwrap_err().to_string(), refused);
        assert_eq!(door.clone().build_streaming::<Full<Bytes>>().unwrap_err().to_string(), refused);
        assert_eq!(door.streams::<Full<Bytes>>(policy).unwrap_err().to_string(), refused);
    }
}
