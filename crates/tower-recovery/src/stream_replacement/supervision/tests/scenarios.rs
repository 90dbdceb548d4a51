//! Orders of events that have a name. Times are those of the default policy: idle 900 s, keep-alives 3600 s, probe 60 s every 300 s, grace 60 s.

use super::*;

/// A fault of the origin: reaching the limit cancelled a silent original that was alive.
#[test]
fn where_no_replacement_is_left_a_silent_attempt_still_has_its_probe_and_its_grace() {
    let mut stream = Stream::new(StreamMode::RetryOnHealthyProbe, 0);
    assert_eq!(stream.due_at(900), probe(1));
    assert_eq!(stream.at(910).probed(Probed::Healthy), Some(Order::StartGrace));
    assert_eq!(stream.at(969).sign(Sign::Content), None, "it was alive, and goes on");
    assert_eq!(stream.due_at(969 + 900), probe(1));
    assert_eq!(stream.at(1880).probed(Probed::Healthy), Some(Order::StartGrace));
    assert_eq!(stream.due_at(1940), Some(Order::End(StreamEnd::Silent, NotReplaced::Spent)));
}

/// A fault of the origin: such a failure stopped all later probes and left a wait that never slept.
#[test]
fn an_attempt_that_fails_while_a_probe_is_out_is_replaced_and_its_replacement_is_probed_when_it_falls_silent() {
    let mut stream = Stream::new(StreamMode::RetryOnHealthyProbe, 2);
    assert_eq!(stream.due_at(900), probe(1));
    assert_eq!(stream.at(905).dropped(), FOR_A_FAILURE);
    stream.replaced();
    assert_eq!((stream.machine.attempt(), stream.is_silent()), (2, false));
    assert_eq!(stream.probed(Probed::Healthy), None, "the answer of a probe of the first attempt says nothing");
    assert_eq!(stream.due_at(905 + 5 + 900), probe(1));
    assert_eq!(stream.at(1820).probed(Probed::Healthy), Some(Order::StartGrace));
    assert_eq!(stream.due_at(1880), Some(FOR_SILENCE));
}

#[test]
fn ten_replacements_are_ten_whatever_each_of_them_is_for() {
    for mix in 0..1 << 10 {
        let mut stream = Stream::new(StreamMode::RetryOnHealthyProbe, 10);
        for replacement in 0..=10 {
            assert_eq!(stream.machine.attempt(), replacement + 1);
            let order = if mix >> replacement & 1 == 0 {
                if replacement % 2 == 0 { stream.dropped() } else { stream.machine.ended_incomplete() }
            } else {
                let silent = stream.now - stream.called + Duration::from_secs(900);
                assert_eq!(stream.due_at(silent.as_secs()), probe(1));
                stream.probed(Probed::Healthy);
                stream.due_at(silent.as_secs() + 60).expect("the grace is over")
            };
            match order {
                Order::Replace(_) => assert!(replacement < 10, "the eleventh, in mix {mix:b}"),
                order => {
                    assert!(matches!(order, Order::End(_, NotReplaced::Spent)), "{order:?}");
                    assert_eq!(replacement, 10, "in mix {mix:b}");
                    break;
                }
            }
            stream.replaced();
        }
    }
}

#[test]
fn keep_alives_do_not_hide_a_stuck_stream_for_ever() {
    let mut stream = Stream::new(StreamMode::RetryOnHealthyProbe, 1);
    for second in (60..3600).step_by(60) {
        assert_eq!(stream.at(second).sign(Sign::KeepAlive), None);
        assert!(!stream.is_silent());
    }
    assert_eq!(stream.due_at(3600), probe(1));
    assert_eq!(stream.at(3601).sign(Sign::KeepAlive), None, "the probe is not cancelled");
    assert_eq!(stream.at(3605).probed(Probed::Healthy), Some(Order::StartGrace));
    assert_eq!(stream.at(3664).sign(Sign::KeepAlive), None, "nor the grace");
    assert_eq!(stream.due_at(3665), Some(FOR_SILENCE));
}

#[test]
fn keep_alives_that_come_too_rarely_end_each_silence_until_there_was_no_content_for_too_long() {
    let mut stream = Stream::new(StreamMode::RetryOnHealthyProbe, 1);
    for keep_alive in [1000, 2000, 3000] {
        assert_eq!(stream.due_at(keep_alive - 100), probe(1));
        assert_eq!(stream.at(keep_alive).sign(Sign::KeepAlive), Some(Order::CancelProbe));
    }
    assert_eq!(stream.due_at(3600), probe(1));
    assert_eq!(stream.at(3601).sign(Sign::KeepAlive), None);
    assert_eq!(stream.at(3602).sign(Sign::Content), Some(Order::CancelProbe));
    assert_eq!(stream.due_at(3602 + 900), probe(1));
}

#[test]
fn a_route_is_unreachable_when_three_probes_in_a_row_got_no_answer() {
    for mode in [StreamMode::RetryOnHealthyProbe, StreamMode::Preserve] {
        let mut stream = Stream::new(mode, 1);
        assert_eq!(stream.due_at(900), probe(1));
        assert_eq!(stream.at(901).probed(Probed::Unanswered), None);
        assert_eq!(stream.due_at(900 + 300), probe(2));
        assert_eq!(stream.due_at(1260), Some(Order::TimeOutProbe));
        assert_eq!(stream.probed(Probed::Unanswered), None);
        assert_eq!(stream.due_at(1200 + 600), probe(3));
        let unreachable = Order::End(StreamEnd::Unreachable, NotReplaced::Final);
        assert_eq!(stream.at(1801).probed(Probed::Unanswered), Some(unreachable));
    }
}

#[test]
fn an_answer_or_a_sign_of_life_between_them_starts_the_count_of_unanswered_probes_anew() {
    let mut stream = Stream::new(StreamMode::Preserve, 1);
    let answers = [Probed::Unanswered, Probed::Unanswered, Probed::Healthy, Probed::Unanswered, Probed::Unanswered];
    for ((second, round), answer) in [900, 1200, 1800, 3000, 5400].into_iter().zip(1..).zip(answers) {
        assert_eq!(stream.due_at(second), probe(round));
        let preserve = (answer == Probed::Healthy).then_some(Order::Preserve(PreservedBecause::Mode));
        assert_eq!(stream.probed(answer), preserve);
    }
    assert_eq!(stream.at(5500).sign(Sign::Content), None, "no probe is out");
    for (second, round) in [6400, 6700].into_iter().zip(1..) {
        assert_eq!(stream.due_at(second), probe(round));
        assert_eq!(stream.probed(Probed::Unanswered), None);
    }
}

#[test]
fn a_healthy_probe_leads_to_a_replacement_although_probes_before_it_got_no_answer() {
    let mut stream = Stream::new(StreamMode::RetryOnHealthyProbe, 1);
    assert_eq!(stream.due_at(900), probe(1));
    assert_eq!(stream.probed(Probed::Unanswered), None);
    assert_eq!(stream.due_at(1200), probe(2));
    assert_eq!(stream.at(1259).probed(Probed::Healthy), Some(Order::StartGrace));
    assert_eq!(stream.due_at(1259 + 60), Some(FOR_SILENCE));
}

#[test]
fn a_verdict_while_a_probe_is_out_cancels_it_and_ends_the_watch() {
    let mut stream = Stream::new(StreamMode::RetryOnHealthyProbe, 1);
    assert_eq!(stream.due_at(900), probe(1));
    assert_eq!(stream.machine.settle(), Some(Order::CancelProbe));
    assert!(!stream.machine.is_watched() && !stream.machine.may_replace() && !stream.is_silent());
    assert_eq!(stream.probed(Probed::Unanswered), None);
    assert_eq!(stream.dropped(), Order::End(StreamEnd::Dropped, NotReplaced::Final));
}

#[test]
fn the_rest_of_a_verdict_is_not_waited_for_for_ever_and_not_probed_for_either() {
    let mut stream = Stream::new(StreamMode::RetryOnHealthyProbe, 1);
    assert_eq!(stream.machine.settle(), None);
    assert_eq!(stream.at(10).sign(Sign::Content), None);
    assert_eq!(stream.due_at(910), Some(Order::End(StreamEnd::Silent, NotReplaced::Final)));

    let mut preserved = Stream::new(StreamMode::Preserve, 1);
    assert_eq!(preserved.machine.settle(), None);
    assert_eq!((preserved.machine.deadline(), preserved.at(9_000).due()), (None, None));
}

#[test]
fn what_was_handed_out_is_never_replaced_and_a_silent_rest_of_it_ends_after_its_grace() {
    let mut stream = Stream::new(StreamMode::RetryOnHealthyProbe, 1);
    stream.machine.commit();
    assert!(!stream.machine.may_replace());
    assert_eq!(stream.due_at(900), probe(1));
    assert_eq!(stream.probed(Probed::Healthy), Some(Order::StartGrace));
    assert_eq!(stream.due_at(960), Some(Order::End(StreamEnd::Silent, NotReplaced::Committed)));
}

#[test]
fn without_a_probe_a_silent_stream_is_left_alone_up_to_the_ceiling_and_that_is_said_once_a_silence() {
    let mut stream = Stream::of(StreamPolicy::builder(StreamMode::RetryOnHealthyProbe), false);
    for (silent_at, sign_at) in [(900, 3_599), (4_499, 4_500)] {
        assert_eq!(stream.due_at(silent_at), Some(Order::Preserve(PreservedBecause::NoProbe)));
        assert!(stream.is_silent());
        assert_eq!(stream.due(), None);
        assert_eq!(stream.at(sign_at).sign(Sign::Content), None);
        assert!(!stream.is_silent());
    }
    assert_eq!(stream.clone().dropped(), FOR_A_FAILURE, "what failed is replaced all the same");
    assert_eq!(stream.due_at(5_400), Some(Order::Preserve(PreservedBecause::NoProbe)));
    assert_eq!(stream.due_at(8_100), Some(Order::End(StreamEnd::Silent, NotReplaced::Final)));
}

#[test]
fn without_a_probe_pings_do_not_put_off_the_ceiling_and_it_is_not_for_who_preserves() {
    for (mode, end) in [
        (StreamMode::RetryOnHealthyProbe, Order::End(StreamEnd::Silent, NotReplaced::Final)),
        (StreamMode::Preserve, Order::Preserve(PreservedBecause::NoProbe)),
    ] {
        let mut stream = Stream::of(StreamPolicy::builder(mode), false);
        for ping in (800..3_600).step_by(800) {
            assert_eq!(stream.at(ping).sign(Sign::KeepAlive), None);
        }
        assert_eq!(stream.due_at(3_600), Some(end));
        assert_eq!((stream.machine.deadline(), stream.due()), (None, None));
    }
}

#[test]
fn a_preserved_stream_is_replaced_neither_for_its_silence_nor_for_its_failure() {
    let mut stream = Stream::new(StreamMode::Preserve, 1);
    assert_eq!(stream.due_at(900), probe(1));
    assert_eq!(stream.probed(Probed::Healthy), Some(Order::Preserve(PreservedBecause::Mode)));
    assert_eq!(stream.machine.clone().ended_incomplete(), Order::End(StreamEnd::Incomplete, NotReplaced::Mode));
    assert_eq!(stream.dropped(), Order::End(StreamEnd::Dropped, NotReplaced::Mode));
}

#[test]
fn a_disabled_stream_is_not_watched_and_what_fails_ends_it() {
    let mut stream = Stream::new(StreamMode::Disabled, 1);
    assert!(!stream.machine.is_watched() && !stream.machine.may_replace());
    assert_eq!(stream.machine.deadline(), None);
    assert_eq!(stream.at(1_000_000).due(), None);
    assert_eq!(stream.dropped(), Order::End(StreamEnd::Dropped, NotReplaced::Mode));
}

/// Who repeats below has attempts of its own, for what provably did not execute.
#[test]
fn what_a_retry_below_gave_up_is_replaced_unless_it_spent_what_the_whole_call_has() {
    let never_sent = [Verdict::never_sent(), Verdict::refused()];
    let others = [Verdict::maybe_sent(), Verdict::answered(), Verdict::unrecognised()];
    for verdict in never_sent.into_iter().chain(others) {
        for gave_up in [GiveUp::Budget, GiveUp::Deadline] {
            assert!(Supervision::is_spent(verdict, Some(gave_up)), "{verdict:?}, {gave_up:?}");
        }
        for gave_up in [None, Some(GiveUp::NoRequest), Some(GiveUp::IncompleteCopy)] {
            assert!(!Supervision::is_spent(verdict, gave_up), "{verdict:?}, {gave_up:?}");
        }
        let is_spent = Supervision::is_spent(verdict, Some(GiveUp::Attempts));
        assert_eq!(is_spent, !never_sent.contains(&verdict), "{verdict:?}");
    }
}

#[test]
fn an_end_is_the_last_order() {
    let ends: [fn(&mut Stream) -> Option<Order>; 4] = [
        |stream| Some(stream.dropped()),
        |stream| Some(stream.machine.ended_incomplete()),
        |stream| stream.due_at(960),
        |stream| Some(stream.machine.failed(Verdict::answered(), false)),
    ];
    for end in ends {
        let mut stream = Stream::new(StreamMode::RetryOnHealthyProbe, 0);
        stream.due_at(900);
        stream.probed(Probed::Healthy);
        let order = end(&mut stream);
        assert!(matches!(order, Some(Order::End(..))), "{order:?}");
        assert_eq!((stream.machine.deadline(), stream.is_silent()), (None, false));
        assert_eq!(stream.at(1_000_000).due(), None);
        assert_eq!((stream.probed(Probed::Healthy), stream.sign(Sign::Content)), (None, None));
    }
}
