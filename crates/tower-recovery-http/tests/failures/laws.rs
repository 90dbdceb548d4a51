//! What must hold in every cell, whatever the committed table says.

use tower_recovery::Delivery;
use tower_recovery_http::Intermediary;
use tower_recovery_test::{Act, ConnectionAct};

use crate::{
    case::{Failure, OwnBody, PeerKind, Silence},
    clients::{Column, Http},
    outcome::{Cell, Outcome},
};

/// The laws that this cell breaks.
pub(crate) fn broken(cell: &Cell<'_>) -> Vec<&'static str> {
    let Cell { failure, column, outcome } = cell;
    let proven = outcome.verdict.delivery();
    let is_send_side = proven.is_some_and(Delivery::is_send_side);
    let is_maybe_sent = proven == Some(Delivery::MaybeSent);
    let is_http2 = column.http == Http::Two;
    let is_refused = is_http2 && failure.act == Act::RefuseStream;
    let is_go_away = is_http2 && matches!(failure.act, Act::ReadThenGoAway(_) | Act::RunThenGoAway(_));

    let laws = [
        (proven.is_some(), "what a transport says is recognised"),
        (outcome.executed <= 1, "one attempt is executed once at the most"),
        (!is_send_side || outcome.executed == 0, "what is proven not to have been processed was not executed"),
        (
            outcome.executed == 0 || matches!(proven, Some(Delivery::MaybeSent | Delivery::Answered)),
            "what was executed is maybe sent, or answered",
        ),
        (!outcome.is_handed_back || proven == Some(Delivery::NeverSent), "what is handed back was never sent"),
        (!fails_to_connect(failure) || is_unconnected(column, outcome), "without a connection nothing was sent"),
        (
            outcome.verdict.is_permanent() == shows_a_bad_certificate(failure),
            "a certificate that is not accepted is permanent, and nothing else here is",
        ),
        (
            !shows_a_bad_certificate(failure) || outcome.handshakes == 1,
            "a certificate that is not accepted costs one handshake",
        ),
        (
            failure.body == OwnBody::Whole || is_maybe_sent && !outcome.verdict.is_stale(),
            "a body that fails by itself proves nothing and indicts nobody",
        ),
        (
            !failure.is_ended_before() || survives(column, outcome),
            "an end before the call costs a pool nothing, and a connection nothing but the turn",
        ),
        (
            failure.silence.is_none_or(|silence| proves_nothing(silence, column, outcome)),
            "silence proves nothing, and indicts",
        ),
        (
            !failure.is_late || proven == Some(Delivery::NeverSent) && outcome.is_handed_back,
            "what hyper did not take is handed back",
        ),
        (
            !is_refused || proven == Some(of_a_refused_stream(failure.intermediary)),
            "a refused stream is refused by a direct peer, and proves nothing behind an intermediary",
        ),
        (
            !(is_http2 && resets_one_stream(failure) && outcome.verdict.is_stale()),
            "a reset of one stream indicts nobody",
        ),
        (
            !failure.is_race || matches!(proven, Some(Delivery::NeverSent | Delivery::MaybeSent)),
            "what the system decides is never sent, or maybe",
        ),
        (
            !fails_as_an_answer(failure) || proven == Some(Delivery::Answered),
            "a verdict is final, with half of its body too",
        ),
        (!is_go_away || outcome.is_handed_back || !is_send_side, "a GOAWAY through hyper is no proof"),
    ];
    laws.into_iter().filter(|(holds, _)| !holds).map(|(_, law)| law).collect()
}

fn shows_a_bad_certificate(failure: &Failure) -> bool {
    matches!(failure.peer, PeerKind::Tls(_, shown) if !shown.is_good())
}

fn fails_to_connect(failure: &Failure) -> bool {
    match failure.peer {
        PeerKind::Nobody | PeerKind::UnknownName => true,
        // By the attempt's time-out nobody knows how far it came.
        PeerKind::BlackHole => failure.silence.is_none(),
        PeerKind::Plain(_) | PeerKind::Garbage => false,
        PeerKind::Tls(act, shown) => act != ConnectionAct::Serve || !shown.is_good(),
    }
}

fn resets_one_stream(failure: &Failure) -> bool {
    let by_the_act = matches!(
        failure.act,
        Act::RefuseStream
            | Act::ReadThenResetStream { .. }
            | Act::RunThenResetStream { .. }
            | Act::PartialBodyThenResetStream { .. }
    );
    by_the_act || failure.stream.is_some()
}

/// Whether its head is a verdict that refuses nothing.
fn fails_as_an_answer(failure: &Failure) -> bool {
    failure.status >= 400
}

/// A client that is connected by its resolver has no handle yet that could be stale.
fn is_unconnected(column: &Column, outcome: &Outcome) -> bool {
    let is_stale = !column.client.is_connected_by_the_resolver();
    (outcome.verdict.delivery(), outcome.verdict.is_stale()) == (Some(Delivery::NeverSent), is_stale)
}

/// A connection that the resolver makes is bounded with the resolving, and there nothing was sent.
fn proves_nothing(silence: Silence, column: &Column, outcome: &Outcome) -> bool {
    let proven = (outcome.verdict.delivery(), outcome.verdict.is_stale());
    if silence == Silence::Connecting && column.client.is_connected_by_the_resolver() {
        proven == (Some(Delivery::NeverSent), false)
    } else {
        proven == (Some(Delivery::MaybeSent), true)
    }
}

/// The call after the end of its connection: executed on a new one, or handed back.
fn survives(column: &Column, outcome: &Outcome) -> bool {
    if column.client.is_connected_by_the_resolver() {
        outcome.is_handed_back && outcome.connections == 1
    } else {
        (outcome.verdict.delivery(), outcome.executed, outcome.connections) == (Some(Delivery::Answered), 1, 2)
    }
}

fn of_a_refused_stream(intermediary: Intermediary) -> Delivery {
    match intermediary {
        Intermediary::Absent => Delivery::Refused,
        _ => Delivery::MaybeSent,
    }
}
