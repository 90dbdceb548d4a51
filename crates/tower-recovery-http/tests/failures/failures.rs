//! The rows.

use http::StatusCode;
use tower_recovery_http::Intermediary;
use tower_recovery_test::{
    Act, ConnectionAct,
    faulty::{ErrorCode, GoAway, LastStream, StreamEnding, StreamScript, Until},
};

use crate::{
    case::{Failure, Group, OwnBody, PeerKind, Shown, Silence},
    clients::Http,
};

const NONE: Failure = Failure::NONE;

/// In the order of the guide.
#[rustfmt::skip]
pub(crate) fn failures() -> Vec<Failure> { vec![
    connecting("connection refused", PeerKind::Nobody),
    connecting("name that nobody knows", PeerKind::UnknownName),
    connecting("`SYN` without an answer, until the connect time-out", PeerKind::BlackHole),
    Failure { silence: Some(Silence::Connecting), ..connecting("`SYN` without an answer, and a connect time-out that is too long", PeerKind::BlackHole) },
    Failure { is_race: true, ..connecting("closed at accept", PeerKind::Plain(ConnectionAct::CloseAtAccept)) },
    Failure { is_race: true, ..connecting("reset at accept", PeerKind::Plain(ConnectionAct::ResetAtAccept)) },

    tls("certificate expired", ConnectionAct::Serve, Shown::Expired),
    tls("certificate of another name", ConnectionAct::Serve, Shown::OfAnotherName),
    tls("certificate of an unknown authority", ConnectionAct::Serve, Shown::OfAStranger),
    tls("closed at accept", ConnectionAct::CloseAtAccept, Shown::Good),
    tls("handshake cut off, FIN", ConnectionAct::CutHandshake, Shown::Good),
    tls("handshake cut off, RST", ConnectionAct::ResetHandshake, Shown::Good),
    tls("handshake frozen, until the connect time-out", ConnectionAct::FreezeAtAccept { until: Until::Never }, Shown::Good),

    reused("FIN on the idle connection, before the call", Act::AnswerThenClose, Act::Answer),
    Failure { is_late: true, ..reused("FIN on the idle connection, after it was found ready", Act::AnswerThenClose, Act::Answer) },
    Failure { only: Some(Http::One), ..reused("unsolicited 408 on the idle connection, before the call", TIMED_OUT, Act::Answer) },
    Failure { only: Some(Http::Two), ..reused("GOAWAY on the idle connection, before the call", TIMED_OUT, Act::Answer) },
    reused("FIN on the reused connection, the request read", Act::Answer, Act::ReadThenClose),
    reused("RST on the reused connection, the request read", Act::Answer, Act::ReadThenReset),

    unanswered("FIN, the request read", Act::ReadThenClose),
    unanswered("RST, the request read", Act::ReadThenReset),
    unanswered("FIN, the request executed", Act::RunThenClose),
    unanswered("RST, the request executed", Act::RunThenReset),
    unanswered("FIN in the middle of the head", Act::PartialHead),
    Failure { only: Some(Http::One), peer: PeerKind::Garbage, ..unanswered("an answer that is not HTTP", Act::Answer) },
    silent("slow head, until the attempt's time-out", Silence::Executed, Act::RunThenFreeze),
    silent("connection frozen, the request executed", Silence::Executed, Act::RunThenFreezeConnection { until: Until::Thaw }),
    silent("server frozen, the request executed after the client has gone", Silence::Held, Act::FreezeThenRun),

    broken("2xx head, then FIN", 200, Act::PartialBody { sent: 0 }),
    broken("2xx head, then RST", 200, Act::PartialBodyThenReset { sent: 0 }),
    broken("2xx, FIN in the middle of the body", 200, Act::PartialBody { sent: 2 }),
    broken("2xx, RST in the middle of the body", 200, Act::PartialBodyThenReset { sent: 2 }),
    http2(broken("2xx, reset `NO_ERROR` in the middle of the body", 200, in_body(ErrorCode::NO_ERROR))),
    http2(broken_stream("2xx without a length, reset `NO_ERROR` before the body", 200, || StreamScript::new().then(NO_ERROR))),
    http2(broken_stream("2xx without a length, reset `NO_ERROR` in the middle of the body", 200, || StreamScript::new().send_answer(2).then(NO_ERROR))),
    http2(broken("2xx, reset `REFUSED_STREAM` in the middle of the body", 200, in_body(ErrorCode::REFUSED_STREAM))),
    http2(broken("2xx, reset `INTERNAL_ERROR` in the middle of the body", 200, in_body(ErrorCode::INTERNAL_ERROR))),
    broken("404, FIN in the middle of the body", 404, Act::PartialBody { sent: 2 }),
    broken("404, RST in the middle of the body", 404, Act::PartialBodyThenReset { sent: 2 }),
    http2(broken("404, reset `INTERNAL_ERROR` in the middle of the body", 404, in_body(ErrorCode::INTERNAL_ERROR))),
    http2(broken("404, reset `NO_ERROR` in the middle of the body", 404, in_body(ErrorCode::NO_ERROR))),
    http2(broken_stream("404 without a length, reset `NO_ERROR` in the middle of the body", 404, || StreamScript::new().send_answer(2).then(NO_ERROR))),

    stream("reset `REFUSED_STREAM`", Act::RefuseStream),
    Failure { intermediary: Intermediary::Present, ..stream("reset `REFUSED_STREAM`, behind an intermediary", Act::RefuseStream) },
    stream("reset `INTERNAL_ERROR`, the request read", Act::ReadThenResetStream { code: ErrorCode::INTERNAL_ERROR }),
    stream("reset `INTERNAL_ERROR`, the request executed", Act::RunThenResetStream { code: ErrorCode::INTERNAL_ERROR }),
    stream("reset `CANCEL`, the request read", Act::ReadThenResetStream { code: ErrorCode::CANCEL }),
    stream("reset `CANCEL`, the request executed", Act::RunThenResetStream { code: ErrorCode::CANCEL }),

    go_away("below the request, `NO_ERROR`, then FIN", Act::ReadThenGoAway(below(ErrorCode::NO_ERROR))),
    go_away("below the request, `ENHANCE_YOUR_CALM`, then FIN", Act::ReadThenGoAway(below(ErrorCode::ENHANCE_YOUR_CALM))),
    go_away("below the request, `NO_ERROR`, left open", Act::ReadThenGoAway(below(ErrorCode::NO_ERROR).stay_open())),
    go_away("at the request, `NO_ERROR`, not executed, then FIN", Act::ReadThenGoAway(at(ErrorCode::NO_ERROR))),
    go_away("at the request, `NO_ERROR`, executed, then FIN", Act::RunThenGoAway(at(ErrorCode::NO_ERROR))),
    go_away("at the request, `ENHANCE_YOUR_CALM`, executed, then FIN", Act::RunThenGoAway(at(ErrorCode::ENHANCE_YOUR_CALM))),
    go_away("at the request, `NO_ERROR`, executed and answered", Act::RunThenGoAway(at(ErrorCode::NO_ERROR).stay_open())),

    refusal("421", 421),
    refusal("425", 425),
    Failure { intermediary: Intermediary::Present, ..refusal("421, behind an intermediary", 421) },
    Failure { intermediary: Intermediary::Present, ..refusal("425, behind an intermediary", 425) },
    refusal("413, the body unread", 413),
    answer("408", 408),
    answer("429", 429),
    answer("502", 502),
    answer("503", 503),
    answer("504", 504),

    own("the request's own body fails in the middle", OwnBody::Fails),
    own("the request's own body fails, since a connection of its source was refused", OwnBody::FailsToConnect),
] }

const TIMED_OUT: Act = Act::AnswerThenTimeOut { idle: Until::Thaw };

fn connecting(name: &'static str, peer: PeerKind) -> Failure {
    Failure { group: Group::Connecting, name, peer, ..NONE }
}

fn tls(name: &'static str, act: ConnectionAct, shown: Shown) -> Failure {
    Failure { group: Group::Tls, name, peer: PeerKind::Tls(act, shown), ..NONE }
}

fn reused(name: &'static str, before: Act, act: Act) -> Failure {
    Failure { group: Group::Reused, name, before: Some(before), act, ..NONE }
}

fn unanswered(name: &'static str, act: Act) -> Failure {
    Failure { group: Group::Unanswered, name, act, ..NONE }
}

fn silent(name: &'static str, silence: Silence, act: Act) -> Failure {
    Failure { silence: Some(silence), ..unanswered(name, act) }
}

fn broken(name: &'static str, status: u16, act: Act) -> Failure {
    Failure { group: Group::Broken, name, status, act, ..NONE }
}

fn broken_stream(name: &'static str, status: u16, script: fn() -> StreamScript) -> Failure {
    Failure { stream: Some(script), ..broken(name, status, Act::Stream) }
}

const NO_ERROR: StreamEnding = StreamEnding::ResetStream { code: ErrorCode::NO_ERROR };

fn http2(failure: Failure) -> Failure {
    Failure { only: Some(Http::Two), ..failure }
}

fn in_body(code: ErrorCode) -> Act {
    Act::PartialBodyThenResetStream { sent: 2, code }
}

fn stream(name: &'static str, act: Act) -> Failure {
    http2(Failure { group: Group::Streams, name, act, ..NONE })
}

fn go_away(name: &'static str, act: Act) -> Failure {
    Failure { group: Group::GoAway, ..stream(name, act) }
}

fn below(code: ErrorCode) -> GoAway {
    GoAway::new(LastStream::BelowThis).code(code)
}

fn at(code: ErrorCode) -> GoAway {
    GoAway::new(LastStream::This).code(code)
}

fn answer(name: &'static str, status: u16) -> Failure {
    Failure { name, status, ..NONE }
}

fn own(name: &'static str, body: OwnBody) -> Failure {
    Failure { group: Group::Own, name, body, ..NONE }
}

/// An answer without an execution.
fn refusal(name: &'static str, status: u16) -> Failure {
    let status = StatusCode::from_u16(status).expect("a status");
    Failure { name, act: Act::RejectAtHead { status, unread: Until::Thaw }, ..NONE }
}
