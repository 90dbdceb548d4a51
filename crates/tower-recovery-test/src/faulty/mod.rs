//! A faulty HTTP server on a real socket: HTTP/1, or HTTP/2, or either over TLS.
//!
//! The server runs an *application*, a closure from a request to a response, and follows a *script*, which says for each connection and
//! each request what goes wrong. Its log tells what was really executed, which is what a client that repeats requests must be judged by.
//!
//! # When things happen
//!
//! A request goes through these moments, each of which can be counted and waited for:
//!
//! 1. its head is read, and the script chooses the [`Act`];
//! 2. it is *read*, with its whole body;
//! 3. it may be *held*, by an act or because the server is [frozen](FaultyServer::freeze);
//! 4. it is *executed*: its entry in the log is made, and the application runs;
//! 5. it is answered, as far as the act lets it.
//!
//! Requests are told apart by their header `x-request-id`; one without it gets an id that the server makes up. Requests of one
//! HTTP/1 connection are served one after another, pipelined ones too.
//!
//! A connection is *open* from its acceptance until the server ends it, or sees that the client has ended its side. The server watches
//! for that also while it holds a request, so that a test can wait for a client to give up.
//!
//! # Examples
//!
//! See the [crate] for the shortest one. Here the server freezes with a request in hand, the client gives up, and the request is
//! executed nevertheless:
//!
//! ```
//! use bytes::Bytes;
//! use http::{Request, Response};
//! use tokio::{io::AsyncWriteExt, net::TcpStream};
//! use tower_recovery_test::faulty::{Act, FaultyServer, RequestContext};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! let server = FaultyServer::builder()
//!     .application(|request: &Request<Bytes>| Response::new(request.body().clone()))
//!     .script(|request: &RequestContext| match request.path.as_str() {
//!         "/orders" => Act::FreezeThenRun,
//!         _ => Act::Answer,
//!     })
//!     .start()
//!     .await?;
//!
//! let mut client = TcpStream::connect(server.address()).await?;
//! client.write_all(b"PUT /orders HTTP/1.1\r\nx-request-id: 7\r\ncontent-length: 4\r\n\r\nbook").await?;
//! server.wait_until_held(1).await;
//! drop(client);
//! server.wait_until_open(0).await;
//! assert_eq!(server.executed("7"), 0);
//!
//! server.thaw();
//! server.wait_until_executed(1).await;
//! assert_eq!(server.executed("7"), 1);
//! # Ok(())
//! # }
//! ```
//!
//! # Streams
//!
//! An answer may be [streamed](FaultyServerBuilder::streams): sent step by step as a [`StreamScript`] says, and then ended, cut, or left
//! open without another word. The server watches the client in every step, and a [`StreamedAnswer`] tells what was sent and
//! when the client has left:
//!
//! ```
//! use tokio::{io::AsyncWriteExt, net::TcpStream};
//! use tower_recovery_test::faulty::{FaultyServer, StreamEnding, StreamScript};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! // The first request gets two events and then silence, the second one a stream that is whole.
//! let server = FaultyServer::builder()
//!     .streams([
//!         StreamScript::new().send("data: a\n\n").send("data: b\n\n").then(StreamEnding::Silence),
//!         StreamScript::new().send("data: a\n\n").send("data: b\n\n").send("data: [DONE]\n\n"),
//!     ])
//!     .start()
//!     .await?;
//!
//! let mut client = TcpStream::connect(server.address()).await?;
//! client.write_all(b"GET /events HTTP/1.1\r\n\r\n").await?;
//! let stream = server.streamed_answer(1).await;
//! stream.wait_until_sends(2).await;
//! drop(client);
//! let _noticed_at = stream.wait_until_client_left().await;
//! assert_eq!(stream.bytes_sent(), 18);
//! # Ok(())
//! # }
//! ```
//!
//! # HTTP/2
//!
//! With the feature `http2`, a server may speak [HTTP/2](FaultyServerBuilder#method.http2) instead. Everything above holds there as well,
//! with these differences:
//!
//! - the requests of one connection are served at the same time, and each tells its [stream](RequestContext::stream_id);
//! - an [act](Act) that ends its connection ends it for all of these requests, and those that were not executed by then never will be; if
//!   it is the client that ends the connection, they are executed all the same;
//! - a client can give one request up. That changes nothing for its execution, and can be
//!   [waited for](FaultyServer::wait_until_cancelled);
//! - a frozen *server* goes on with the protocol's own: it acknowledges settings and pings. A frozen *connection*
//!   ([`Act::RunThenFreezeConnection`]) does not.
//!
//! ```
//! # #[cfg(feature = "http2")]
//! # async fn example() -> std::io::Result<()> {
//! use tower_recovery_test::faulty::{Act, FaultyServer, GoAway, LastStream, RequestContext};
//!
//! // The third request of a connection is not run, and the connection goes away with those before it unanswered.
//! let server = FaultyServer::builder()
//!     .http2()
//!     .script(|request: &RequestContext| match request.number_on_connection {
//!         1 | 2 => Act::RunThenFreeze,
//!         _ => Act::ReadThenGoAway(GoAway::new(LastStream::BelowThis)),
//!     })
//!     .start()
//!     .await?;
//! # Ok(())
//! # }
//! ```
//!
//! # TLS
//!
//! With the feature `tls`, a server may speak TLS, with a certificate of an authority that the test makes for itself:
//!
//! ```
//! # #[cfg(feature = "tls")]
//! # async fn example() -> std::io::Result<()> {
//! use tower_recovery_test::faulty::{CertificateAuthority, FaultyServer};
//!
//! let authority = CertificateAuthority::new();
//! let server = FaultyServer::builder().tls(authority.expired_certificate()).start().await?;
//! let client_side = authority.client_config();
//! // … a client that trusts the authority refuses this server …
//! assert_eq!((server.handshakes(), server.handshakes_completed()), (1, 0));
//! # Ok(())
//! # }
//! ```
//!
//! # Limits
//!
//! A body larger than [the limit](FaultyServerBuilder::body_limit), a head of more than 64 KiB on HTTP/1, and anything that is not the
//! protocol of the server end the connection without an answer. Trailers of requests are thrown away.
//!
//! # Panics
//!
//! A panic of the application or the script ends its connection; an execution that panics is an execution.

mod act;
mod answer;
mod body;
mod builder;
mod connection;
mod error_code;
mod execution;
mod freeze;
mod go_away;
mod head;
mod http1;
#[cfg(feature = "http2")]
mod http2;
mod log;
mod opening;
mod refused;
mod script;
mod server;
mod shared;
mod streaming;
#[cfg(feature = "tls")]
mod tls;
mod transport;
mod until;
mod wire;

#[cfg(feature = "tls")]
pub use self::tls::{Certificate, CertificateAuthority};
pub(crate) use self::transport::reset_on_drop;
pub use self::{
    act::{Act, ConnectionAct},
    builder::FaultyServerBuilder,
    error_code::ErrorCode,
    go_away::{AfterGoAway, GoAway, LastStream},
    log::Execution,
    refused::RefusedAddress,
    script::{RequestContext, Script},
    server::FaultyServer,
    streaming::{StreamEnd, StreamEnding, StreamScript, StreamedAnswer, Streams},
    until::Until,
};
