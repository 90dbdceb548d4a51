//! A `Host` that the caller set: it names whom the request is for, and never where it goes.

mod support;

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use http_body_util::Full;
use tower_recovery_test::{FaultyServer, faulty::FaultyServerBuilder};

use self::support::{Client, bounded, registry_of, write};

fn write_to(host: &'static str) -> Request<Full<Bytes>> {
    let mut request = write(host);
    request.headers_mut().insert(header::HOST, HeaderValue::from_static(host));
    request
}

/// What a server was told: the `Host`, and the authority of the target.
type Told = Arc<Mutex<Vec<(Option<String>, Option<String>)>>>;

/// A server that notes what it is told.
async fn noting(
    client: Client,
    configure: impl FnOnce(FaultyServerBuilder) -> FaultyServerBuilder,
) -> (Told, FaultyServer) {
    let told = Told::default();
    let log = Arc::clone(&told);
    let note = move |request: &Request<Bytes>| {
        let host = request.headers().get(header::HOST).map(|host| host.to_str().expect("text").to_owned());
        let authority = request.uri().authority().map(ToString::to_string);
        log.lock().expect("no holder panics").push((host, authority));
        Response::new(Bytes::new())
    };
    let server = client.serve(|server| configure(server.application(note))).await;
    (told, server)
}

fn last(told: &Told) -> (Option<String>, Option<String>) {
    told.lock().expect("no holder panics").last().expect("a request came").clone()
}

/// RFC 9112 §3.2: it is the caller's word, default port and all.
#[tokio::test]
async fn over_http1_a_host_arrives_unchanged_and_all_hosts_share_the_connection() {
    for client in Client::HTTP1 {
        let (told, server) = noting(client, |server| server).await;
        let api = client.api(&registry_of(&server).await);
        for host in ["a.example", "a.example:80", "b.example:8080", "[::1]:80"] {
            bounded(api.send(write_to(host))).await.unwrap();
            assert_eq!(last(&told), (Some(host.to_owned()), None), "{client:?}");
        }
        bounded(api.send(write("none"))).await.unwrap();
        assert_eq!(last(&told), (Some(server.address().to_string()), None), "{client:?}: the origin's own");
        assert_eq!(server.connections_accepted(), 1, "{client:?}");
    }
}

/// RFC 6761 §6.4: nobody is ever found under `.invalid`, so who looked the name up would not get anywhere.
#[cfg(feature = "http2")]
#[tokio::test]
async fn over_http2_a_host_is_the_authority_and_the_connection_goes_to_the_origin() {
    for client in Client::HTTP2 {
        let (told, server) = noting(client, |server| server).await;
        let api = client.api(&registry_of(&server).await);
        bounded(api.send(write_to("elsewhere.invalid"))).await.unwrap();
        assert_eq!(last(&told), (None, Some("elsewhere.invalid".to_owned())), "{client:?}");
        assert_eq!(server.executed("elsewhere.invalid"), 1, "{client:?}");
    }
}

/// The certificate is good for the origin alone: it is the origin that has to prove who it is.
#[cfg(all(feature = "http2", feature = "rustls"))]
#[tokio::test]
async fn over_tls_it_is_the_origin_whose_certificate_is_checked_and_not_the_hosts() {
    use tower_recovery::Delivery;
    use tower_recovery_http::Transport;
    use tower_recovery_test::faulty::CertificateAuthority;

    use self::support::Settings;

    let authority = CertificateAuthority::new();
    for client in Client::all() {
        let trusting =
            || Settings { transport: Transport::new().tls(authority.client_config()), ..Settings::default() };
        let (told, server) = noting(client, |server| server.tls(authority.certificate())).await;
        let api = client.api_with(&registry_of(&server).await, trusting());
        bounded(api.send(write_to("elsewhere.invalid"))).await.unwrap();
        let (host, named) = last(&told);
        assert_eq!(host.or(named).as_deref(), Some("elsewhere.invalid"), "{client:?}");
        assert_eq!(server.executed("elsewhere.invalid"), 1, "{client:?}");

        // The other way round: a certificate of the host's is none of the origin's.
        let (_, other) = noting(client, |server| server.tls(authority.certificate_of_another_name())).await;
        let api = client.api_with(&registry_of(&other).await, trusting());
        let failure = bounded(api.send(write_to("elsewhere.test"))).await.unwrap_err();
        assert_eq!((failure.delivery(), failure.is_permanent()), (Some(Delivery::NeverSent), true), "{client:?}");
        assert_eq!(other.requests_read(), 0, "{client:?}");
    }
}
