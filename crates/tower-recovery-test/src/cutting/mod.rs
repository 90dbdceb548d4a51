//! A TCP proxy that disturbs connections after exact numbers of bytes.
//!
//! The proxy listens on a loopback port, connects each connection that it accepts to one upstream address, and forwards bytes both ways; it
//! knows nothing of the protocol. A *script* gives each connection a [`Plan`]: after how many bytes of which [`Direction`] what goes wrong.
//! With a real server behind it, it stands in for the network, or for a middlebox: the server executes, and the answer is lost.
//!
//! # What is exact
//!
//! A byte counts as *forwarded* once the proxy has written it to the socket. A [`Disturbance`] comes when exactly that many bytes were
//! forwarded, however many have arrived: the rest stays where it is. What was forwarded before a close (FIN) is delivered to its last byte,
//! also if the receiver is still sending; a reset (RST) throws away what the receiver's system has not taken in yet.
//!
//! The proxy reads no further than it can write: a receiver that reads nothing stops its sender.
//!
//! # How connections end
//!
//! Undisturbed, each side sees what the other does: the end of one side's bytes is passed on as such, while the other direction goes on; a
//! reset is passed on as a reset. Where nobody listens upstream, the client's connection is reset. A frozen direction passes nothing on,
//! neither bytes nor an end, and the proxy does not see that its sender has gone.
//!
//! A connection is *open* from its acceptance until both sides have ended it or were cut off.
//!
//! # Examples
//!
//! The server executes an order, and the client's connection ends with the 20th byte of the answer:
//!
//! ```
//! use tokio::{io::{AsyncReadExt, AsyncWriteExt}, net::TcpStream};
//! use tower_recovery_test::{FaultyServer, cutting::{CuttingProxy, Direction, Disturbance, Plan}};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! let server = FaultyServer::builder().start().await?;
//! let proxy = CuttingProxy::before(server.address())
//!     .script([Plan::pass().after(Direction::ToClient, 20, Disturbance::Close)])
//!     .start()
//!     .await?;
//!
//! let mut client = TcpStream::connect(proxy.address()).await?;
//! client.write_all(b"POST /orders HTTP/1.1\r\nx-request-id: 7\r\ncontent-length: 0\r\n\r\n").await?;
//! let mut seen = Vec::new();
//! client.read_to_end(&mut seen).await?;
//! assert_eq!(seen.len(), 20);
//! assert_eq!(server.executed("7"), 1);
//! # Ok(())
//! # }
//! ```
//!
//! Each connection is cut at a place of its own, the same one in each run:
//!
//! ```
//! # use tower_recovery_test::{FaultyServer, cutting::{CuttingProxy, Plan}};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! # let server = FaultyServer::builder().start().await?;
//! const SEED: u64 = 7;
//! let proxy = CuttingProxy::before(server.address())
//!     .script(|connection| Plan::random(SEED, connection, 500))
//!     .start()
//!     .await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Panics
//!
//! A panic of the script ends its connection.

mod connection;
mod flow;
mod plan;
mod proxy;
mod script;
mod shared;

pub use self::{
    plan::{Direction, Disturbance, Plan, Side},
    proxy::{CuttingProxy, CuttingProxyBuilder},
    script::CuttingScript,
};
