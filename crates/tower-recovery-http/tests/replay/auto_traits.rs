//! What the bodies may be sent and shared across. That a stream which is not `Send` makes no body that is needs no test: there is no
//! `unsafe` here that could say otherwise.

use std::marker::PhantomPinned;

use bytes::Bytes;
use http_body_util::{Full, StreamBody, combinators::UnsyncBoxBody};
use tower::BoxError;
use tower_recovery_http::{ReplayError, ReplayableBody, SentOnce};

fn send_and_sync<Body: Send + Sync>() {}
fn unpin<Body: Unpin>() {}

#[test]
fn a_replayable_body_is_send_and_sync_where_its_stream_is_send_alone() {
    send_and_sync::<ReplayableBody<UnsyncBoxBody<Bytes, BoxError>>>();
    send_and_sync::<ReplayableBody>();
    send_and_sync::<ReplayError>();
    send_and_sync::<SentOnce<Full<Bytes>>>();
}

#[test]
fn every_replayable_body_is_unpin_whatever_its_stream() {
    unpin::<ReplayableBody<StreamBody<PhantomPinned>>>();
}
