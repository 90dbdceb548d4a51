//! An HTTP/2 connection: its streams, all at once, and its end.

use std::{future::poll_fn, sync::Arc, task::Poll};

use bytes::Bytes;
use futures_util::{StreamExt, stream::FuturesUnordered};
use h2::server::SendResponse;
use tokio::select;

use super::{
    super::{
        ErrorCode, RequestContext,
        connection::{Connection, Ending},
        shared::Shared,
        wire::Wire,
    },
    Http2Options,
    pipe::Pipe,
    pump::Pump,
    stream::{Handles, LastWords, Outcome, Stream},
};

type Http2 = h2::server::Connection<Pipe, Bytes>;

/// More than any test resets; the crate ends connections on which that is overdone.
const RESET_STREAMS: usize = 1_000_000;

/// The carrying side of a connection.
struct Carrier<'connection> {
    wire: &'connection mut Wire,
    pipe: Pipe,
    pump: Pump,
}

impl Connection {
    pub(in super::super) async fn serve_http2(&mut self) -> Ending {
        let shared = Arc::clone(&self.shared);
        let Some(options) = &shared.http2 else {
            return Ending::Close;
        };
        let pipe = Pipe::default();
        let pump = Pump::new(&pipe, &options.settings_gate, &shared);
        let mut carrier = Carrier { wire: &mut self.wire, pipe, pump };
        let Some(mut http2) = carrier.shake_hands(options).await else {
            return Ending::Close;
        };

        let mut number = 0;
        let mut serving = FuturesUnordered::new();
        // Who drops these resets the streams.
        let mut silent: Vec<SendResponse<Bytes>> = Vec::new();
        loop {
            select! {
                biased;
                Some(outcome) = serving.next() => match outcome {
                    Outcome::Done => {}
                    Outcome::Silent(Handles { respond, .. }) => silent.push(respond),
                    Outcome::Reset(mut sending, ErrorCode(code)) => {
                        settle(&mut http2).await;
                        sending.send_reset(code.into());
                    }
                    Outcome::End(handles, words) => return carrier.end(&mut http2, handles, words, &shared).await,
                },
                accepted = http2.accept() => {
                    let Some(Ok((request, respond))) = accepted else {
                        break;
                    };
                    let stream = respond.stream_id().as_u32();
                    if carrier.pipe.ignores(stream) {
                        silent.push(respond);
                        continue;
                    }
                    carrier.pipe.accepted(stream);
                    number += 1;
                    let context = RequestContext { stream_id: Some(stream), ..shared.context(&request, self.number, number) };
                    let (act, script) = shared.decide(&context);
                    let stream = Stream { shared: Arc::clone(&shared), pipe: carrier.pipe.clone(), respond, wanted: true };
                    serving.push(stream.serve(request, context, act, script));
                }
                () = carrier.pump.turn(carrier.wire) => {}
            }
        }

        // The client has ended the connection, or broken the protocol. What it has asked for is run all the same.
        let _ = carrier.pump.flush(carrier.wire).await;
        self.wire.finish().await;
        self.open.end();
        while serving.next().await.is_some() {}
        Ending::Close
    }
}

impl Carrier<'_> {
    /// Waits for the client's preface; `None` if there is none.
    async fn shake_hands(&mut self, options: &Http2Options) -> Option<Http2> {
        let mut builder = h2::server::Builder::new();
        builder.max_concurrent_reset_streams(RESET_STREAMS);
        builder.max_pending_accept_reset_streams(RESET_STREAMS);
        builder.max_local_error_reset_streams(None);
        if let Some(number) = options.max_concurrent_streams {
            builder.max_concurrent_streams(number);
        }
        let mut handshake = builder.handshake(self.pipe.clone());
        loop {
            select! {
                biased;
                http2 = &mut handshake => return http2.ok(),
                () = self.pump.turn(self.wire) => {}
            }
        }
    }

    /// Writes what was said before the end, and says how to end. The stream is kept until then: to drop it would reset it.
    async fn end(mut self, http2: &mut Http2, stream: Handles, words: LastWords, shared: &Shared) -> Ending {
        settle(http2).await;
        let written = match words {
            LastWords::HalfAHead => {
                let id = stream.respond.stream_id().as_u32();
                self.pump.flush_half_a_head(self.wire, id).await
            }
            _ => self.pump.flush(self.wire).await,
        };
        match (written, words) {
            (Ok(()), LastWords::Said(ending)) => ending,
            (Ok(()), LastWords::Goodbye) => {
                shared.counts.timed_out.increment();
                Ending::Close
            }
            _ => Ending::Close,
        }
    }
}

/// Lets the crate write everything that it was given, and accept nothing.
async fn settle(http2: &mut Http2) {
    poll_fn(|context| {
        // If the connection has ended, that is seen where requests are accepted.
        let _ = http2.poll_closed(context);
        Poll::Ready(())
    })
    .await;
}
