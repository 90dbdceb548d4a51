//! Heads, and errors that no socket has to make.

use std::io;

use http::{HeaderName, HeaderValue, Version};

use super::*;

fn head(classifier: &HttpClassifier, status: u16, headers: &[(&'static str, &'static str)]) -> Option<Verdict> {
    let headers = headers.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
    classifier.verdict_of_head(StatusCode::from_u16(status).unwrap(), &headers.collect())
}

#[test]
fn of_all_statuses_two_are_refusals_and_none_is_behind_an_intermediary() {
    let direct = HttpClassifier::new();
    let behind = HttpClassifier::new().behind(Intermediary::Present);
    for status in 100..=999 {
        let (refused, stale) = (head(&direct, status, &[]), head(&behind, status, &[]));
        let expected = match status {
            421 => (Some(Verdict::refused().stale()), Some(Verdict::answered().stale())),
            425 => (Some(Verdict::refused()), None),
            _ => (None, None),
        };
        assert_eq!((refused, stale), expected, "{status}");
    }
}

#[test]
fn a_response_is_judged_by_its_head() {
    let judge = |status| HttpClassifier::new().response(&Response::builder().status(status).body("whatever").unwrap());
    assert_eq!([judge(200), judge(425)], [None, Some(Verdict::refused())]);
}

#[test]
fn the_ready_made_rules_are_off_until_they_are_asked_for() {
    let nack = [("finagle-http-nack", "true")];
    let overloaded = [("x-envoy-overloaded", "true")];
    assert_eq!(head(&HttpClassifier::new(), 503, &nack), None);
    assert_eq!(head(&HttpClassifier::new(), 503, &overloaded), None);
    let ruled = HttpClassifier::new().refused_if(AnswerRule::finagle_nack()).refused_if(AnswerRule::envoy_overloaded());
    for intermediary in [Intermediary::Absent, Intermediary::Present] {
        let ruled = ruled.clone().behind(intermediary);
        assert_eq!(head(&ruled, 503, &nack), Some(Verdict::refused()), "the user's word counts");
        assert_eq!(head(&ruled, 503, &overloaded), Some(Verdict::refused()));
        assert_eq!(head(&ruled, 500, &nack), None);
        assert_eq!(head(&ruled, 503, &[("finagle-http-nonretryable-nack", "true")]), None);
        assert_eq!(head(&ruled, 503, &[]), None);
    }
}

#[test]
fn a_rule_matches_where_all_of_it_does() {
    let state = HeaderName::from_static("x-state");
    let draining = AnswerRule::status(StatusCode::SERVICE_UNAVAILABLE)
        .with_header_value(state, HeaderValue::from_static("draining"))
        .with_header(HeaderName::from_static("x-node"));
    let stale = HttpClassifier::new().stale_if(draining.clone());
    assert_eq!(head(&stale, 503, &[("x-state", "draining"), ("x-node", "7")]), Some(Verdict::answered().stale()));
    assert_eq!(head(&stale, 503, &[("x-state", "Draining"), ("x-node", "7")]), None);
    assert_eq!(head(&stale, 503, &[("x-state", "draining")]), None);
    assert_eq!(head(&stale, 200, &[("x-state", "draining"), ("x-node", "7")]), None);
    let both = stale.refused_if(draining);
    assert_eq!(head(&both, 503, &[("x-state", "draining"), ("x-node", "7")]), Some(Verdict::refused().stale()));
}

fn incomplete(status: StatusCode, source: impl Into<tower::BoxError>) -> crate::IncompleteBody {
    crate::IncompleteBody { status, headers: HeaderMap::new(), source: source.into() }
}

#[test]
fn a_short_body_is_maybe_sent_after_a_2xx_and_what_its_status_says_after_any_other() {
    let lost = || io::Error::from(io::ErrorKind::UnexpectedEof);
    let judge = |classifier: &HttpClassifier, status| classifier.verdict_of_error(&incomplete(status, lost()));
    let direct = HttpClassifier::new();
    assert_eq!(judge(&direct, StatusCode::OK), Verdict::maybe_sent().stale());
    assert_eq!(judge(&direct, StatusCode::NOT_FOUND), Verdict::answered().stale());
    assert_eq!(judge(&direct, StatusCode::MISDIRECTED_REQUEST), Verdict::refused().stale());
    let behind = direct.behind(Intermediary::Present);
    assert_eq!(judge(&behind, StatusCode::MISDIRECTED_REQUEST), Verdict::answered().stale());
}

#[test]
fn a_short_body_indicts_the_handle_unless_what_ended_it_is_known_to_leave_it_alone() {
    let judge = |source: tower::BoxError| HttpClassifier::new().verdict_of_error(&incomplete(StatusCode::OK, source));
    let alive = crate::BodyTooLong { status: StatusCode::OK, headers: HeaderMap::new(), limit: 7 };
    assert_eq!(judge(alive.into()), Verdict::maybe_sent());
    assert_eq!(judge("nobody knows".into()), Verdict::maybe_sent().stale());
}

#[test]
fn an_end_that_one_stream_alone_can_have_indicts_nobody() {
    use crate::{EndedEarly, UnprovenEnd, Unterminated};

    let judge = |error: &(dyn Error + 'static)| HttpClassifier::new().verdict_of_error(error);
    let early = |version| EndedEarly { received: 6, promised: 7, version };
    let unproven = |end| Unterminated { received: 6, end };
    let of_one_stream =
        [UnprovenEnd::Reset, UnprovenEnd::ConnectionClosed].map(|end| tower::BoxError::from(unproven(end)));
    for error in of_one_stream.into_iter().chain([early(Version::HTTP_2).into()]) {
        assert_eq!(judge(error.as_ref()), Verdict::maybe_sent(), "{error:?}");
        let headed = incomplete(StatusCode::NOT_FOUND, error);
        assert_eq!(judge(&headed), Verdict::answered(), "{headed:?}");
    }
    for version in [Version::HTTP_10, Version::HTTP_11, Version::HTTP_3] {
        assert_eq!(judge(&early(version)), Verdict::maybe_sent().stale(), "{version:?}");
        assert_eq!(judge(&incomplete(StatusCode::OK, early(version))), Verdict::maybe_sent().stale(), "{version:?}");
    }
}

#[test]
fn the_users_rules_see_heads_whose_bodies_are_broken_or_too_long() {
    let leaving = HeaderName::from_static("x-leaving");
    let rule = || AnswerRule::status(StatusCode::SERVICE_UNAVAILABLE).with_header(leaving.clone());
    let classifier = HttpClassifier::new().refused_if(rule());
    let headers = HeaderMap::from_iter([(leaving.clone(), HeaderValue::from_static("yes"))]);
    let status = StatusCode::SERVICE_UNAVAILABLE;
    let broken = crate::IncompleteBody { status, headers: headers.clone(), source: "broken".into() };
    let too_long = crate::BodyTooLong { status, headers: headers.clone(), limit: 7 };
    assert_eq!(classifier.verdict_of_error(&broken), Verdict::refused().stale());
    assert_eq!(classifier.verdict_of_error(&too_long), Verdict::refused().permanent());
    let stale = HttpClassifier::new().stale_if(AnswerRule::status(StatusCode::OK).with_header(leaving.clone()));
    let short = crate::IncompleteBody { status: StatusCode::OK, headers, source: "broken".into() };
    assert_eq!(stale.verdict_of_error(&short), Verdict::maybe_sent().stale(), "a 2xx is no answer without its body");
    let refused = stale.refused_if(AnswerRule::status(StatusCode::OK));
    assert_eq!(refused.verdict_of_error(&short), Verdict::refused().stale(), "the user's word counts");
}

#[test]
fn an_io_error_is_the_transports_wherever_it_stands_and_a_foreign_error_is_not_recognised() {
    let classifier = HttpClassifier::new();
    let wrapped = io::Error::other(io::Error::from(io::ErrorKind::ConnectionRefused));
    assert_eq!(
        classifier.verdict_of_error(&wrapped),
        Verdict::maybe_sent().stale(),
        "an io::Error alone says not where"
    );
    assert_eq!(classifier.verdict_of_error(&std::fmt::Error), Verdict::unrecognised());
}

#[cfg(feature = "__errors-of-rustls")]
mod tls {
    use rustls::{AlertDescription, CertificateError, Error};

    use super::*;

    #[test]
    fn what_the_other_side_is_stays_and_what_happened_to_a_handshake_may_not_happen_again() {
        for (error, is_permanent) in [
            (Error::InvalidCertificate(CertificateError::Expired), true),
            (Error::InvalidCertificate(CertificateError::NotValidForName), true),
            (Error::InvalidCertificate(CertificateError::UnknownIssuer), true),
            (Error::NoApplicationProtocol, true),
            (Error::AlertReceived(AlertDescription::UnknownCA), true),
            (Error::AlertReceived(AlertDescription::InternalError), false),
            (Error::AlertReceived(AlertDescription::CloseNotify), false),
            (Error::General("whatever".into()), false),
        ] {
            let expected = Verdict::never_sent().stale();
            let expected = if is_permanent { expected.permanent() } else { expected };
            let text = error.to_string();
            assert_eq!(unconnected(&io::Error::new(io::ErrorKind::InvalidData, error)), expected, "{text}");
        }
    }
}
