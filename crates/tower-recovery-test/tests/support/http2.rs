//! A client of HTTP/2 that sees every frame, and how the connection ended.

use std::io;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use h2::client::SendRequest;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
};
use tower_recovery_test::faulty::{ErrorCode, FaultyServer, FaultyServerBuilder, Script};

use super::{End, assert_reset_after_the_end, assert_socket_silent, echoing};

/// A server that gives each request its body back.
pub(crate) async fn echo(script: impl Script) -> FaultyServer {
    start(echoing(script)).await
}

pub(crate) async fn start(builder: FaultyServerBuilder) -> FaultyServer {
    builder.http2().start().await.unwrap()
}

/// A client of the `h2` crate, which drives its connection as long as the set lives.
pub(crate) async fn connect(server: &FaultyServer) -> (SendRequest<Bytes>, JoinSet<Result<(), h2::Error>>) {
    let socket = TcpStream::connect(server.address()).await.expect("the server listens");
    let (client, connection) = h2::client::handshake(socket).await.expect("the preface is written");
    let mut driving = JoinSet::new();
    driving.spawn(connection);
    (client, driving)
}

/// A frame of the server's, as far as the tests want to know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// A whole head, with the status 200 or another one.
    Head {
        stream: u32,
        ok: bool,
        ends: bool,
    },
    Data {
        stream: u32,
        data: Bytes,
        ends: bool,
    },
    Reset {
        stream: u32,
        code: ErrorCode,
    },
    GoAway {
        last_stream: u32,
        code: ErrorCode,
    },
    PingAck,
    Settings,
    /// What the system of the protocol needs: acknowledgements and windows.
    Other,
}

/// The frames of a good answer with this body.
pub(crate) fn answer(stream: u32, body: &'static str) -> [Frame; 2] {
    [head(stream), data(stream, body, true)]
}

pub(crate) fn head(stream: u32) -> Frame {
    Frame::Head { stream, ok: true, ends: false }
}

pub(crate) fn data(stream: u32, data: &'static str, ends: bool) -> Frame {
    Frame::Data { stream, data: Bytes::from_static(data.as_bytes()), ends }
}

pub(crate) fn reset(stream: u32, code: ErrorCode) -> Frame {
    Frame::Reset { stream, code }
}

pub(crate) fn go_away(last_stream: u32, code: ErrorCode) -> Frame {
    Frame::GoAway { last_stream, code }
}

pub(crate) struct Client {
    stream: TcpStream,
    read: BytesMut,
    next_stream: u32,
}

impl Client {
    /// Connects and sends the preface, with all settings as they are.
    pub(crate) async fn connect(server: &FaultyServer) -> Self {
        let stream = TcpStream::connect(server.address()).await.unwrap();
        let mut client = Self { stream, read: BytesMut::new(), next_stream: 1 };
        client.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
        client.send_frame(4, 0, 0, b"").await;
        client
    }

    /// Connects and sends one request, on stream 1.
    pub(crate) async fn sending(server: &FaultyServer, method: &str, id: &str, body: &str) -> Self {
        let mut client = Self::connect(server).await;
        client.send(method, id, body).await;
        client
    }

    /// Sends a request and gives its stream. An empty body takes no frame.
    pub(crate) async fn send(&mut self, method: &str, id: &str, body: &str) -> u32 {
        if body.is_empty() {
            return self.send_head_with(5, method, id).await;
        }
        let stream = self.send_head(method, id).await;
        self.send_frame(0, 1, stream, body.as_bytes()).await;
        stream
    }

    /// Sends the head of a request that has a body.
    pub(crate) async fn send_head(&mut self, method: &str, id: &str) -> u32 {
        self.send_head_with(4, method, id).await
    }

    async fn send_head_with(&mut self, flags: u8, method: &str, id: &str) -> u32 {
        let stream = self.next_stream;
        self.next_stream += 2;
        let mut block = Vec::new();
        let headers = [
            (":method", method),
            (":scheme", "http"),
            (":authority", "orders"),
            (":path", "/orders"),
            ("x-request-id", id),
        ];
        for (name, value) in headers {
            // Literal, not to be indexed, with a name of its own.
            block.put_u8(0);
            for text in [name, value] {
                block.put_u8(text.len().try_into().unwrap());
                block.put_slice(text.as_bytes());
            }
        }
        self.send_frame(1, flags, stream, &block).await;
        stream
    }

    pub(crate) async fn reset(&mut self, stream: u32, code: ErrorCode) {
        self.send_frame(3, 0, stream, &code.0.to_be_bytes()).await;
    }

    pub(crate) async fn ping(&mut self) {
        self.send_frame(6, 0, 0, b"12345678").await;
    }

    pub(crate) async fn send_frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let mut frame = Vec::new();
        frame.put_uint(payload.len().try_into().unwrap(), 3);
        frame.put_u8(kind);
        frame.put_u8(flags);
        frame.put_u32(stream);
        frame.put_slice(payload);
        self.write(&frame).await;
    }

    async fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    /// The next frames, but for those of the protocol's own.
    pub(crate) async fn next<const NUMBER: usize>(&mut self) -> [Frame; NUMBER] {
        let mut frames = Vec::new();
        while frames.len() < NUMBER {
            let frame = self.next_of_all().await.unwrap();
            if !matches!(frame, Frame::Settings | Frame::Other) {
                frames.push(frame);
            }
        }
        frames.try_into().unwrap()
    }

    /// As [`next`](Self::next), in the order of the streams.
    pub(crate) async fn next_by_stream<const NUMBER: usize>(&mut self) -> Vec<Frame> {
        let mut frames = self.next::<NUMBER>().await.to_vec();
        frames.sort_by_key(|frame| match frame {
            Frame::Head { stream, .. } | Frame::Data { stream, .. } | Frame::Reset { stream, .. } => *stream,
            _ => 0,
        });
        frames
    }

    /// The next frame, whatever it is, or the end.
    pub(crate) async fn next_of_all(&mut self) -> Result<Frame, End> {
        loop {
            if let Some(frame) = self.take_frame() {
                return Ok(frame);
            }
            match self.stream.read_buf(&mut self.read).await {
                Ok(0) => return Err(End::Fin),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Err(End::Reset),
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Everything up to the end of the connection but for the protocol's own, what is left of a cut frame, and how it ended.
    pub(crate) async fn rest(mut self) -> (Vec<Frame>, BytesMut, End) {
        let mut frames = Vec::new();
        loop {
            match self.next_of_all().await {
                Ok(Frame::Settings | Frame::Other) => {}
                Ok(frame) => frames.push(frame),
                Err(end) => return (frames, self.read, end),
            }
        }
    }

    /// Asks the system, not the runtime's memory of it: there is neither a byte nor an end.
    #[track_caller]
    pub(crate) fn assert_silent(&self) {
        assert!(self.read.is_empty(), "{:?}", self.read);
        assert_socket_silent(&self.stream);
    }

    /// The server has ended its side, and has reset what was sent after that.
    pub(crate) async fn assert_reset_after_the_end(mut self) {
        assert_reset_after_the_end(&mut self.stream).await;
    }

    /// A frame that is here already.
    pub(crate) fn take_what_has_come(&mut self) -> Option<Frame> {
        // Fails if nothing has come.
        let _ = self.stream.try_read_buf(&mut self.read);
        self.take_frame()
    }

    fn take_frame(&mut self) -> Option<Frame> {
        let mut bytes = &*self.read;
        let length = usize::try_from(bytes.try_get_uint(3).ok()?).unwrap();
        if bytes.len() < 6 + length {
            return None;
        }
        let mut frame = self.read.split_to(9 + length).freeze();
        frame.advance(3);
        let (kind, flags, stream) = (frame.get_u8(), frame.get_u8(), frame.get_u32());
        let ends = flags & 1 == 1;
        Some(match kind {
            0 => Frame::Data { stream, data: frame, ends },
            1 => {
                assert_eq!(flags & 4, 4, "the head is whole");
                // The static table has this status at 8.
                Frame::Head { stream, ok: frame.first() == Some(&0x88), ends }
            }
            3 => Frame::Reset { stream, code: ErrorCode(frame.get_u32()) },
            4 if !ends => Frame::Settings,
            6 if ends => Frame::PingAck,
            7 => Frame::GoAway { last_stream: frame.get_u32(), code: ErrorCode(frame.get_u32()) },
            _ => Frame::Other,
        })
    }
}
