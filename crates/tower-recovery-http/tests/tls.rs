//! A connection that is not made: too slow, cut off, or to somebody who cannot prove who he is. Nothing was sent then, by any method.
#![cfg(feature = "rustls")]

mod support;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::future::join_all;
use rustls::{CertificateError, Error as TlsError};
use tokio::net::{TcpSocket, TcpStream};
use tower_recovery::{Delivery, RecoveryEvent};
use tower_recovery_http::{ConnectTimedOut, Transport};
use tower_recovery_test::{
    ConnectionAct, Registry,
    faulty::{CertificateAuthority, Until},
};

use self::support::{Client, NAME, Settings, bounded, door, register, registry_of, server, write};

/// Long enough for a busy machine to make a connection.
const PATIENCE: Duration = Duration::from_secs(3);

fn trusting(authority: &CertificateAuthority) -> Settings {
    Settings { transport: Transport::new().tls(authority.client_config()), ..Settings::default() }
}

/// B15 (a), before TCP is done: the listener's queue is full, and the system answers nothing at all.
#[tokio::test]
async fn b15_a_connection_that_is_not_made_in_time_is_never_sent_and_a_write_goes_elsewhere() {
    let deaf = TcpSocket::new_v4().unwrap();
    deaf.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let deaf = deaf.listen(0).unwrap();
    let address = deaf.local_addr().unwrap();
    // The one place in its queue.
    let _queued = bounded(TcpStream::connect(address)).await.unwrap();
    let registry = Registry::new();
    registry.register(NAME, "deaf", format!("http://{address}").parse().unwrap());
    let transport = Transport::new().connect_timeout(Duration::from_millis(200));

    let api = Client::HTTP1[0].api_with(&registry, Settings { transport, ..Settings::default() });
    let failure = bounded(api.send(write("lost"))).await.unwrap_err();
    assert_eq!((failure.delivery(), failure.attempts()), (Some(Delivery::NeverSent), 3));
    assert_eq!(failure.find::<ConnectTimedOut>().unwrap().limit, Duration::from_millis(200));

    let server = server().await.unwrap();
    let first = Arc::new(Mutex::new(None));
    let met = Arc::clone(&first);
    let observer = move |event: &RecoveryEvent| {
        if let RecoveryEvent::AttemptFailed { attempt: 1, delivery, cause, .. } = event {
            *met.lock().expect("no holder panics") = Some((*delivery, cause.clone()));
        }
    };
    let look_ups = registry.look_ups(NAME);
    let transport = Transport::new().connect_timeout(PATIENCE);
    let mut api = door(&registry).transport(transport).observer(observer).build().unwrap();
    let calling = tokio::spawn(async move { support::call(&mut api, write("write")).await });
    // The first attempt is on its way to the deaf one.
    bounded(registry.wait_until_look_ups(NAME, look_ups + 1)).await;
    register(&registry, "second", &server);
    bounded(calling).await.unwrap().unwrap();
    assert_eq!((server.executed("write"), registry.look_ups(NAME)), (1, look_ups + 2));
    let (delivery, cause) = first.lock().expect("no holder panics").take().expect("the first attempt failed");
    assert_eq!(delivery, Some(Delivery::NeverSent));
    assert!(cause.ends_with(&format!("no connection was made within {PATIENCE:?}")), "{cause}");
}

/// B15 (a), before TLS is done.
#[tokio::test]
async fn b15_a_handshake_that_is_not_done_in_time_is_never_sent_and_a_write_is_repeated() {
    let authority = CertificateAuthority::new();
    join_all(Client::all().map(async |client| {
        let frozen = ConnectionAct::FreezeAtAccept { until: Until::Never };
        let server = client
            .serve(|server| {
                let first = move |connection| if connection == 1 { frozen } else { ConnectionAct::Serve };
                server.tls(authority.certificate()).at_accept(first)
            })
            .await;
        let transport = Transport::new().tls(authority.client_config()).connect_timeout(PATIENCE);
        let api = client.api_with(&registry_of(&server).await, Settings { transport, ..Settings::default() });
        bounded(api.send(write("write"))).await.unwrap();
        assert_eq!((server.executed("write"), server.requests_read()), (1, 1), "{client:?}");
        assert_eq!(server.connections_accepted(), 2, "{client:?}");
    }))
    .await;
}

/// B16 (a): the same certificate would fail in the same way, so it is looked at once; the next call asks the registry again, since a
/// wrong name is what an address shows that belongs to somebody else by now.
#[tokio::test]
async fn b16_a_certificate_that_is_refused_ends_the_call_and_the_next_one_resolves_anew() {
    let (authority, stranger) = (CertificateAuthority::new(), CertificateAuthority::new());
    for client in Client::all() {
        for (certificate, what) in [
            (authority.expired_certificate(), "expired"),
            (authority.certificate_of_another_name(), "another name"),
            (stranger.certificate(), "unknown issuer"),
        ] {
            let row = format!("{client:?}, {what}");
            let refused = client.serve(|server| server.tls(certificate)).await;
            let good = client.serve(|server| server.tls(authority.certificate())).await;
            let registry = registry_of(&refused).await;
            let api = client.api_with(&registry, trusting(&authority));
            let failure = bounded(api.send(write("first"))).await.unwrap_err();

            assert_eq!((failure.delivery(), failure.is_permanent()), (Some(Delivery::NeverSent), true), "{row}");
            assert_eq!((failure.attempts(), failure.is_exhausted()), (1, false), "{row}");
            let seen = failure.find::<TlsError>().unwrap_or_else(|| panic!("{row}: {failure:?}"));
            assert!(matches!(seen, TlsError::InvalidCertificate(_)), "{row}: {seen}");
            if what == "expired" {
                let TlsError::InvalidCertificate(reason) = seen else { unreachable!("it was looked at") };
                let expired = matches!(reason, CertificateError::Expired | CertificateError::ExpiredContext { .. });
                assert!(expired, "{row}: {reason}");
            }
            assert_eq!((refused.handshakes(), registry.look_ups(NAME)), (1, 1), "{row}");
            // A pool makes its connection in the call, so it is its handle that is evicted. Without a connection there is no handle to evict.
            assert_eq!(failure.is_stale(), matches!(client, Client::Pool(_)), "{row}");

            register(&registry, "second", &good);
            bounded(api.send(write("second"))).await.unwrap();
            assert_eq!((good.executed("second"), registry.look_ups(NAME)), (1, 2), "{row}");
            assert_eq!((refused.handshakes(), refused.requests_executed()), (1, 0), "{row}");
        }
    }
}

/// B16 (b): a handshake that is cut off says nothing of a certificate: it is tried again, and the third is done.
#[tokio::test]
async fn b16_a_handshake_that_is_cut_off_is_tried_again() {
    let authority = CertificateAuthority::new();
    for client in Client::all() {
        for act in [ConnectionAct::CutHandshake, ConnectionAct::ResetHandshake] {
            let server = client
                .serve(|server| {
                    let twice = move |connection| if connection <= 2 { act } else { ConnectionAct::Serve };
                    server.tls(authority.certificate()).at_accept(twice)
                })
                .await;
            let api = client.api_with(&registry_of(&server).await, trusting(&authority));
            bounded(api.send(write("write"))).await.unwrap();
            assert_eq!((server.handshakes(), server.executed("write")), (3, 1), "{client:?}, {act:?}");
        }
    }
}
