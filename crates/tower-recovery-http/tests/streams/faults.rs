//! A server that goes wrong in ways that the kit's has no act for.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

/// What happens to the first connection of a server whose other connections are served.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// What comes is not HTTP.
    Garbage,
    /// The head ends in the middle.
    HalfAHead,
    /// The body ends in the middle of a chunk.
    HalfAChunk,
    /// The connection is reset in the middle of the body.
    ResetInTheBody,
    /// The connection is reset while the request is being written.
    ResetInTheRequest,
    /// The connection is closed before the head.
    CloseBeforeTheHead,
}

/// Serves two connections, of which the first has the fault.
pub(crate) fn serve(listener: TcpListener, fault: Fault) -> JoinSet<()> {
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        let (mut first, _) = listener.accept().await.expect("it listens");
        meet(&mut first, fault).await;
        drop(first);
        let (mut second, _) = listener.accept().await.expect("it listens");
        read_request(&mut second).await;
        send(&mut second, &format!("{HEAD}9\r\ndata: 1\n\n\r\ne\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")).await;
        std::future::pending().await
    });
    serving
}

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

async fn meet(stream: &mut TcpStream, fault: Fault) {
    if matches!(fault, Fault::ResetInTheRequest) {
        stream.read_u8().await.expect("a request comes");
        return reset(stream);
    }
    read_request(stream).await;
    match fault {
        Fault::Garbage => send(stream, "SSH-2.0-OpenSSH_9.9\r\n").await,
        Fault::HalfAHead => send(stream, &HEAD[..40]).await,
        Fault::HalfAChunk => send(stream, &format!("{HEAD}b\r\ndata: one")).await,
        Fault::ResetInTheBody => {
            send(stream, &format!("{HEAD}b\r\ndata: one\n\n\r\n")).await;
            reset(stream);
        }
        Fault::ResetInTheRequest | Fault::CloseBeforeTheHead => {}
    }
}

/// To its end, or it would be reset when the connection is closed.
async fn read_request(stream: &mut TcpStream) {
    const HEAD_ENDS: &[u8] = b"\r\n\r\n";
    let mut read = Vec::new();
    let mut length = None;
    while length.is_none_or(|length| read.len() < length) {
        assert_ne!(stream.read_buf(&mut read).await.expect("the client is there"), 0, "the request is cut off");
        let head = read.windows(HEAD_ENDS.len()).position(|window| window == HEAD_ENDS);
        length = length.or_else(|| head.map(|end| end + HEAD_ENDS.len() + content_length(&read[..end])));
    }
}

fn content_length(head: &[u8]) -> usize {
    let head = String::from_utf8_lossy(head);
    let value = head.lines().find_map(|line| line.strip_prefix("content-length: ")).expect("the length is known");
    value.parse().expect("it is a number")
}

async fn send(stream: &mut TcpStream, text: &str) {
    stream.write_all(text.as_bytes()).await.expect("the client is there");
}

fn reset(stream: &TcpStream) {
    socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO)).expect("a socket can be reset");
}
