//! What goes wrong: with which request, which connection, which answer. All of it by the seed and by numbers.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode};
use tower_recovery_test::{
    Act,
    cutting::{Direction, Disturbance, Plan, Side},
    faulty::{ConnectionAct, ErrorCode, GoAway, LastStream, Until},
};

use crate::audit::{
    call::{Call, Kind},
    clients::DEADLINE,
    seed::{About, Seed},
};

/// The header of an answer after which the next request had better go elsewhere.
pub(crate) const LEAVING: &str = "x-leaving";

/// How a client uses its connections: what ends one concerns more calls if more of them share it, and is rarer then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    /// A connection for each call that is under way.
    Pool,
    /// One for all calls, which take turns.
    Turns,
    /// HTTP/2: one for all calls at once.
    Streams,
}

/// What goes wrong for one client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Script {
    pub(crate) seed: Seed,
    pub(crate) wire: Wire,
}

impl Script {
    /// What the server does with the `arrival`-th arrival of a call, from 1.
    pub(crate) fn act(self, call: usize, arrival: usize) -> Act {
        if self.is_cursed(call) {
            return Act::Slow { delay: 2 * DEADLINE };
        }
        let mut chance = self.seed.draw(About::Act, call, arrival);
        match chance.u32(..100) {
            0..2 => Act::Slow { delay: Duration::from_millis(chance.u64(1..15)) },
            2..4 => Act::SlowThenRun { delay: Duration::from_millis(chance.u64(1..15)) },
            4 if self.wire == Wire::Pool => fault_of_a_connection(&mut chance),
            4 if self.wire == Wire::Turns && chance.u32(..3) == 0 => fault_of_a_connection(&mut chance),
            4 if self.wire == Wire::Streams && chance.u32(..5) == 0 => fault_of_many_streams(&mut chance),
            5 | 6 if self.wire == Wire::Streams => fault_of_a_stream(&mut chance),
            _ => Act::Answer,
        }
    }

    /// A read that no instance ever answers in time: its deadline must end it.
    fn is_cursed(self, call: usize) -> bool {
        let is_read = Call::planned(self.seed, call).kind != Kind::Write;
        let one_in = if self.wire == Wire::Turns { 1000 } else { 300 };
        is_read && self.seed.draw(About::Act, call, 0).u32(..one_in) == 0
    }

    /// What happens to a connection at its acceptance by this instance.
    pub(crate) fn at_accept(self, instance: usize, connection: usize) -> ConnectionAct {
        match self.seed.draw(About::Accept, instance, connection).u32(..400) {
            0 => ConnectionAct::CloseAtAccept,
            1 => ConnectionAct::ResetAtAccept,
            2 => ConnectionAct::FreezeAtAccept { until: Until::Thaw },
            _ => ConnectionAct::Serve,
        }
    }

    /// What the proxy before this instance does to a connection.
    pub(crate) fn plan(self, instance: usize, connection: usize) -> Plan {
        let mut chance = self.seed.draw(About::Plan, instance, connection);
        // How many of a thousand connections are disturbed, and by which byte they are.
        let (share, limit) = match self.wire {
            Wire::Pool => (12, 1_000),
            Wire::Turns | Wire::Streams => (300, 40_000),
        };
        if chance.u64(..1000) >= share {
            return Plan::pass();
        }
        let direction = if chance.bool() { Direction::ToServer } else { Direction::ToClient };
        let bytes = chance.u64(..limit);
        let disturbed = |disturbance| Plan::pass().after(direction, bytes, disturbance);
        match chance.u32(..10) {
            0..3 => Plan::random(chance.u64(..), connection, limit),
            // The answer is lost when its first byte is there.
            3 => Plan::pass().beyond(Direction::ToClient, bytes / 2, Disturbance::Reset),
            4 => disturbed(Disturbance::Freeze),
            5 => disturbed(Disturbance::FreezeBoth),
            6 => disturbed(Disturbance::CloseTo(Side::Server)),
            7 => disturbed(Disturbance::ResetTo(Side::Server)),
            _ => disturbed(Disturbance::Delay(Duration::from_millis(chance.u64(1..25)))),
        }
    }
}

/// What ends a connection, or keeps it for itself.
fn fault_of_a_connection(chance: &mut fastrand::Rng) -> Act {
    let sent = chance.usize(..200);
    match chance.u32(..14) {
        0 => Act::RunThenClose,
        1 => Act::RunThenReset,
        2 => Act::ReadThenClose,
        3 => Act::ReadThenReset,
        4 => Act::PartialHead,
        5 => Act::PartialBody { sent },
        6 => Act::PartialBodyThenReset { sent },
        7 => Act::FreezeThenRun,
        8 => Act::RunThenFreeze,
        9 => Act::RunThenFreezeConnection { until: Until::Thaw },
        10 | 11 => Act::AnswerThenAbandon,
        _ => Act::AnswerThenClose,
    }
}

/// What concerns one stream of a connection. A server that resets a stream as refused has not run it.
fn fault_of_a_stream(chance: &mut fastrand::Rng) -> Act {
    let sent = chance.usize(..200);
    match chance.u32(..10) {
        0..4 => Act::RefuseStream,
        4 => Act::ReadThenResetStream { code: ErrorCode::INTERNAL_ERROR },
        5 => Act::RunThenResetStream { code: ErrorCode::CANCEL },
        6 => Act::PartialBodyThenResetStream { sent, code: ErrorCode::NO_ERROR },
        7 => Act::PartialBodyThenResetStream { sent, code: ErrorCode::INTERNAL_ERROR },
        8 => Act::FreezeThenRun,
        _ => Act::RunThenFreeze,
    }
}

/// What concerns all streams of a connection. The last stream of a `GOAWAY` is never a lie.
fn fault_of_many_streams(chance: &mut fastrand::Rng) -> Act {
    let below = GoAway::new(LastStream::BelowThis);
    let this = GoAway::new(LastStream::This);
    match chance.u32(..9) {
        0 => Act::ReadThenGoAway(below),
        1 => Act::ReadThenGoAway(below.stay_open()),
        2 => Act::ReadThenGoAway(below.code(ErrorCode::ENHANCE_YOUR_CALM)),
        3 => Act::RunThenGoAway(this),
        4 => Act::RunThenGoAway(this.stay_open()),
        5 => Act::RunThenGoAway(GoAway::new(LastStream::Id(u32::MAX >> 1)).stay_open()),
        6 => Act::RunThenClose,
        7 => Act::RunThenReset,
        _ => Act::RunThenFreezeConnection { until: Until::Thaw },
    }
}

/// The answer that says that this execution was none: the `execution`-th of its call, from 1.
pub(crate) fn refusal(seed: Seed, call: usize, execution: usize) -> Option<Response<Bytes>> {
    let status = match seed.draw(About::Refusal, call, execution).u32(..400) {
        0 | 1 => StatusCode::MISDIRECTED_REQUEST,
        2 | 3 => StatusCode::TOO_EARLY,
        _ => return None,
    };
    let mut response = Response::new(Bytes::from_static(REFUSED));
    *response.status_mut() = status;
    Some(response)
}

pub(crate) fn is_refusal(status: StatusCode) -> bool {
    matches!(status, StatusCode::MISDIRECTED_REQUEST | StatusCode::TOO_EARLY)
}

/// What the application answers to this call, whichever attempt of it is executed.
pub(crate) fn answer(seed: Seed, call: usize) -> Response<Bytes> {
    const REFUSING: [StatusCode; 8] = [
        StatusCode::NOT_FOUND,
        StatusCode::REQUEST_TIMEOUT,
        StatusCode::CONFLICT,
        StatusCode::TOO_MANY_REQUESTS,
        StatusCode::INTERNAL_SERVER_ERROR,
        StatusCode::BAD_GATEWAY,
        StatusCode::SERVICE_UNAVAILABLE,
        StatusCode::GATEWAY_TIMEOUT,
    ];
    let mut chance = seed.draw(About::Answer, call, 0);
    let filler = ".".repeat(chance.usize(..600));
    let mut response = Response::new(Bytes::from(format!("{call} {filler}")));
    match chance.u32(..1000) {
        0..60 => *response.status_mut() = chance.choice(REFUSING).unwrap_or_default(),
        60..63 => {
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            response.headers_mut().insert(LEAVING, HeaderValue::from_static("1"));
        }
        _ => {}
    }
    response
}

const REFUSED: &[u8] = b"not here";
