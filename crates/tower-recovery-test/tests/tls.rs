//! TLS: good certificates and bad ones, handshakes that are cut, and acts over it.
#![cfg(feature = "tls")]

mod support;

use std::{io, sync::Arc, time::Duration};

use rustls::{AlertDescription, CertificateError, Error, pki_types::ServerName};
use support::{
    echoing,
    tls::{connect, refusal, start},
    within,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::Instant,
};
use tokio_rustls::TlsConnector;
use tower_recovery_test::faulty::{
    Act, CertificateAuthority, ConnectionAct, FaultyServer, Script, StreamEnding, StreamScript, Until,
};

const REQUEST: &[u8] = b"PUT /orders HTTP/1.1\r\nx-request-id: 7\r\ncontent-length: 4\r\n\r\nbook";
const WHOLE: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nbook";

/// Sends one request over TLS, to a server with this script, and gives what came back and how that ended.
async fn outcome(script: impl Script) -> (Vec<u8>, io::Result<usize>, usize) {
    within(async {
        let authority = CertificateAuthority::new();
        let server = start(echoing(script), authority.certificate()).await;
        let mut client = connect(&server, &authority, &[]).await.expect("the certificate is good");
        client.write_all(REQUEST).await.expect("the server reads");
        let mut seen = Vec::new();
        let end = client.read_to_end(&mut seen).await;
        (seen, end, server.executed("7"))
    })
    .await
}

#[tokio::test]
async fn a_good_certificate_is_trusted_by_who_trusts_the_authority_by_name_and_by_address() {
    within(async {
        let authority = CertificateAuthority::new();
        let server = start(echoing([]), authority.certificate()).await;
        assert_eq!(server.origin(), format!("https://{}", server.address()));
        for name in ["localhost", "127.0.0.1"] {
            let socket = TcpStream::connect(server.address()).await.unwrap();
            let connector = TlsConnector::from(Arc::new(authority.client_config()));
            let mut client = connector.connect(ServerName::try_from(name).unwrap(), socket).await.unwrap();
            client.write_all(REQUEST).await.unwrap();
            let mut seen = vec![0; WHOLE.len()];
            client.read_exact(&mut seen).await.unwrap();
            assert_eq!(seen, WHOLE);
        }
        assert_eq!((server.connections_accepted(), server.handshakes(), server.handshakes_completed()), (2, 2, 2));
        assert_eq!(server.executed("7"), 2);
        server.wait_until_open(0).await;
    })
    .await;
}

#[tokio::test]
async fn bad_certificates_are_refused_for_what_is_bad_about_them() {
    within(async {
        let authority = CertificateAuthority::new();
        for (certificate, expected) in [
            (authority.expired_certificate(), "expired"),
            (authority.certificate_of_another_name(), "not valid for name"),
            (CertificateAuthority::new().certificate(), "UnknownIssuer"),
        ] {
            let server = start(echoing([]), certificate).await;
            let error = refusal(&server, &authority, &[]).await;
            assert!(matches!(error, Error::InvalidCertificate(_)), "{error:?}");
            assert!(error.to_string().contains(expected), "{error}");
            server.wait_until_open(0).await;
            assert_eq!((server.handshakes(), server.handshakes_completed()), (1, 0));
            assert_eq!(server.requests_read(), 0);
        }
    })
    .await;
}

#[tokio::test]
async fn an_authority_is_one_with_its_clones_and_differs_from_all_others() {
    let authority = CertificateAuthority::new();
    assert_eq!(authority.clone().der(), authority.der());
    assert_ne!(CertificateAuthority::new().der(), authority.der());
    assert!(authority.pem().starts_with("-----BEGIN CERTIFICATE-----"));
}

#[tokio::test]
async fn http1_is_chosen_if_it_is_offered_and_a_client_without_it_is_refused() {
    within(async {
        let authority = CertificateAuthority::new();
        let server = start(echoing([]), authority.certificate()).await;
        let client = connect(&server, &authority, &[b"h2", b"http/1.1"]).await.unwrap();
        assert_eq!(client.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
        server.wait_until_handshakes_completed(1).await;
        let error = refusal(&server, &authority, &[b"h2"]).await;
        assert_eq!(error, Error::AlertReceived(AlertDescription::NoApplicationProtocol));
        assert_eq!((server.handshakes(), server.handshakes_completed()), (2, 1));
    })
    .await;
}

#[cfg(feature = "http2")]
#[tokio::test]
async fn h2_is_chosen_on_an_http2_server_and_is_what_it_speaks() {
    within(async {
        let authority = CertificateAuthority::new();
        let server = start(echoing([]).http2(), authority.certificate()).await;
        let client = connect(&server, &authority, &[b"h2", b"http/1.1"]).await.unwrap();
        assert_eq!(client.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        let (mut sender, connection) = h2::client::handshake(client).await.unwrap();
        tokio::spawn(connection);
        let request = http::Request::put(server.origin()).header("x-request-id", "7").body(()).unwrap();
        let (response, mut body) = sender.send_request(request, false).unwrap();
        // More than a TLS record and the first window hold.
        let sent = bytes::Bytes::from(vec![b'x'; 200_000]);
        body.send_data(sent.clone(), true).unwrap();
        let mut answer = response.await.unwrap().into_body();
        let mut received = Vec::new();
        while let Some(data) = answer.data().await {
            let data = data.unwrap();
            answer.flow_control().release_capacity(data.len()).unwrap();
            received.extend_from_slice(&data);
        }
        assert_eq!(received, sent);
        assert_eq!(server.executed("7"), 1);
    })
    .await;
}

#[tokio::test]
async fn a_handshake_that_is_cut_is_one_and_executes_nothing() {
    for (act, expected) in [
        (ConnectionAct::CutHandshake, io::ErrorKind::UnexpectedEof),
        (ConnectionAct::ResetHandshake, io::ErrorKind::ConnectionReset),
    ] {
        within(async {
            let authority = CertificateAuthority::new();
            let builder = echoing([]).at_accept(move |number| if number == 1 { act } else { ConnectionAct::Serve });
            let server = start(builder, authority.certificate()).await;
            let error = connect(&server, &authority, &[]).await.unwrap_err();
            assert_eq!(error.kind(), expected);
            server.wait_until_handshakes(1).await;
            server.wait_until_open(0).await;
            assert_eq!((server.handshakes(), server.handshakes_completed()), (1, 0));

            let _client = connect(&server, &authority, &[]).await.unwrap();
            server.wait_until_handshakes_completed(1).await;
            assert_eq!((server.handshakes(), server.handshakes_completed()), (2, 1));
        })
        .await;
    }
}

#[tokio::test]
async fn a_connection_frozen_at_its_acceptance_shakes_hands_after_the_thaw() {
    within(async {
        let authority = CertificateAuthority::new();
        let builder = echoing([]).at_accept(|_| ConnectionAct::FreezeAtAccept { until: Until::Thaw });
        let server = start(builder, authority.certificate()).await;
        let connecting = connect(&server, &authority, &[]);
        let thawing = async {
            server.wait_until_connections(1).await;
            assert_eq!(server.handshakes(), 0);
            server.thaw();
        };
        let (client, ()) = tokio::join!(connecting, thawing);
        client.unwrap();
        server.wait_until_handshakes_completed(1).await;
        assert_eq!(server.handshakes(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_refusal_resets_whatever_the_connection_is_at() {
    within(async {
        let authority = CertificateAuthority::new();
        let server = start(echoing([Act::FreezeThenRun]), authority.certificate()).await;
        let mut before = support::Client::connect(&server).await;
        server.wait_until_connections(1).await;
        // The beginning of a record.
        before.send_raw("\x16\x03\x01").await;
        let mut held = connect(&server, &authority, &[]).await.unwrap();
        held.write_all(REQUEST).await.unwrap();
        server.wait_until_held(1).await;

        server.refuse().await;
        assert_eq!(server.connections_open(), 0);
        assert_eq!(before.rest().await.1, support::End::Reset);
        let error = held.read(&mut [0]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
        assert_eq!(server.requests_executed(), 0);
    })
    .await;
}

#[tokio::test]
async fn a_close_is_announced_and_a_reset_is_not() {
    let (seen, end, executed) = outcome([Act::AnswerThenClose]).await;
    assert_eq!((&*seen, end.unwrap(), executed), (WHOLE, WHOLE.len(), 1));
    let (seen, end, executed) = outcome([Act::PartialBody { sent: 2 }]).await;
    assert_eq!((&*seen, end.is_ok(), executed), (&WHOLE[..WHOLE.len() - 2], true, 1));
    let (seen, end, executed) = outcome([Act::ReadThenClose]).await;
    assert_eq!((&*seen, end.is_ok(), executed), (&b""[..], true, 0));
    let (seen, end, executed) = outcome([Act::RunThenReset]).await;
    assert_eq!((&*seen, executed), (&b""[..], 1));
    assert_eq!(end.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn a_stream_is_sent_piece_by_piece_and_a_client_that_leaves_is_noticed() {
    within(async {
        let authority = CertificateAuthority::new();
        let script = StreamScript::new().close_delimited().send_times("one", 2).then(StreamEnding::Silence);
        let server = start(FaultyServer::builder().streams(script), authority.certificate()).await;
        let mut client = connect(&server, &authority, &[]).await.unwrap();
        client.write_all(REQUEST).await.unwrap();
        let mut seen = [0; 44];
        client.read_exact(&mut seen).await.unwrap();
        assert_eq!(&seen, b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\noneone");
        let answer = server.streamed_answer(1).await;
        assert_eq!((answer.sends(), answer.end(), server.streaming()), (2, None, 1));

        let leaving = Instant::now();
        drop(client);
        let left = answer.wait_until_client_left().await;
        assert!(left - leaving < Duration::from_secs(1), "{:?}", left - leaving);
    })
    .await;
}

#[tokio::test]
async fn a_client_that_leaves_a_stream_that_it_does_not_read_is_noticed() {
    within(async {
        let authority = CertificateAuthority::new();
        // No socket takes that much.
        let script = StreamScript::new().send(vec![b'x'; 64 << 20]);
        let server = start(FaultyServer::builder().streams(script), authority.certificate()).await;
        let mut client = connect(&server, &authority, &[]).await.unwrap();
        client.write_all(REQUEST).await.unwrap();
        client.read_exact(&mut [0; 100_000]).await.unwrap();
        client.shutdown().await.unwrap();
        server.streamed_answer(1).await.wait_until_client_left().await;
        // Nor is the server's own goodbye taken.
        server.wait_until_open(0).await;
    })
    .await;
}

#[tokio::test]
async fn what_is_not_tls_ends_the_connection() {
    within(async {
        let server = start(echoing([]), CertificateAuthority::new().certificate()).await;
        let client = support::Client::sending(&server, "PUT", "7", "book").await;
        client.rest().await;
        server.wait_until_open(0).await;
        assert_eq!((server.handshakes(), server.requests_read()), (0, 0));
    })
    .await;
}

#[tokio::test]
async fn the_errors_of_the_certificates_are_typed() {
    within(async {
        let authority = CertificateAuthority::new();
        let server = start(echoing([]), authority.expired_certificate()).await;
        let error = refusal(&server, &authority, &[]).await;
        let Error::InvalidCertificate(CertificateError::ExpiredContext { not_after, .. }) = error else {
            panic!("{error:?}");
        };
        // The first second of 2021.
        assert_eq!(not_after.as_secs(), 1_609_459_200);
    })
    .await;
}
