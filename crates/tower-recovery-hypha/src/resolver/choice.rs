//! Which of several clients is taken. Pure: who answers is asked by others.

use std::sync::Arc;

use crate::{SelectionMode, ServiceInfo, ServiceQuery};

/// What the registry says of a name.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Found {
    /// This one, whether or not there are others.
    One(ServiceInfo),
    /// There must be only one, and there are several.
    Several,
}

#[derive(Debug, PartialEq)]
pub(super) enum Choice {
    Take(ServiceInfo),
    /// The preferred one if it answers, or the first of the others that does, or else the last resort if it does.
    FirstToAnswer {
        preferred: Option<ServiceInfo>,
        others: Vec<ServiceInfo>,
        last_resort: Option<ServiceInfo>,
    },
    /// These are too many.
    Ambiguous(Vec<Arc<str>>),
}

/// Whether the registry names one client by this mode only where no other offers the service.
pub(super) fn is_the_only_one(query: &ServiceQuery, workspace: &str) -> bool {
    match query.mode {
        SelectionMode::Exact => true,
        SelectionMode::Unspecified => query.id.workspace().unwrap_or(workspace) != "public" && query.id.app().is_none(),
        _ => false,
    }
}

/// What the registry chose, where nothing speaks for asking who else there is: it is the only one, or nobody was evicted and nobody serves. One that was evicted is never settled.
pub(super) fn settled<'a>(
    found: &'a Found,
    evicted: Option<&str>,
    serving: Option<&str>,
    is_the_only_one: bool,
) -> Option<&'a ServiceInfo> {
    match found {
        Found::One(info) if evicted == Some(&*info.peer) => None,
        Found::One(info) => (is_the_only_one || (evicted.is_none() && serving.is_none())).then_some(info),
        Found::Several => None,
    }
}

/// Chooses among those that are listed. `serving` is the one whose handle serves meanwhile.
pub(super) fn choose(
    found: Found,
    listed: Vec<ServiceInfo>,
    evicted: Option<&str>,
    serving: Option<&str>,
    mode: &SelectionMode,
) -> Choice {
    let (gone, mut others): (Vec<_>, Vec<_>) = listed.into_iter().partition(|info| evicted == Some(&*info.peer));
    let last_resort = gone.into_iter().next();
    let mut take_out = |peer: Option<&str>| {
        let at = others.iter().position(|info| peer == Some(&*info.peer))?;
        Some(others.swap_remove(at))
    };
    // The one that serves, or, where it has gone from the registry, the registry's choice.
    let chosen = match &found {
        Found::One(info) if evicted != Some(&*info.peer) => Some(&*info.peer),
        Found::One(_) | Found::Several => None,
    };
    let preferred = take_out(serving).or_else(|| take_out(chosen));
    let must_be_the_only_one = found == Found::Several && *mode == SelectionMode::Exact;
    match (found, preferred, others.len()) {
        (_, Some(preferred), 0) => Choice::Take(preferred),
        // There is nobody else, or the others are listed for nobody.
        (Found::One(info), None, 0) => Choice::Take(info),
        (Found::Several, None, 1) => Choice::Take(others.swap_remove(0)),
        (_, preferred, _) if must_be_the_only_one => {
            Choice::Ambiguous(preferred.iter().chain(&others).map(|info| Arc::clone(&info.peer)).collect())
        }
        // One that is listed for nobody is not among those who can be compared with it.
        (Found::One(info), None, _) if evicted != Some(&*info.peer) => Choice::Take(info),
        (_, preferred, _) => Choice::FirstToAnswer { preferred, others, last_resort },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(peer: &str) -> ServiceInfo {
        ServiceInfo { peer: peer.into(), name: "manager".into(), app: None, nonce: None }
    }

    fn several(evicted: Option<&str>, last: Option<&str>, mode: SelectionMode, listed: &[&str]) -> Choice {
        choose(Found::Several, listed.iter().map(|peer| client(peer)).collect(), evicted, last, &mode)
    }

    #[test]
    fn what_the_registry_chose_is_taken_where_nothing_speaks_against_it() {
        let found = Found::One(client("ws/a"));
        for (evicted, last, is_the_only_one, is_settled) in [
            (None, None, true, true),
            (None, None, false, true),
            (None, Some("ws/a"), true, true),
            (None, Some("ws/a"), false, false),
            (Some("ws/b"), None, false, false),
            (Some("ws/a"), None, true, false),
            (None, Some("ws/b"), true, true),
            (None, Some("ws/b"), false, false),
            (Some("ws/b"), None, true, true),
        ] {
            let settled = settled(&found, evicted, last, is_the_only_one);
            assert_eq!(settled.is_some(), is_settled, "{evicted:?} {last:?} {is_the_only_one}");
        }
        assert_eq!(settled(&Found::Several, None, None, false), None);
    }

    #[test]
    fn one_that_the_registry_chose_by_chance_may_have_others_beside_it() {
        for (id, mode, expected) in [
            ("manager", SelectionMode::Unspecified, true),
            ("ws/a:manager", SelectionMode::Unspecified, true),
            ("public/manager", SelectionMode::Unspecified, false),
            ("manager@app", SelectionMode::Unspecified, false),
            ("public/manager", SelectionMode::Exact, true),
            ("manager", SelectionMode::Random, false),
            ("manager", SelectionMode::First, false),
        ] {
            let query = ServiceQuery::new(id.parse().unwrap(), mode);
            assert_eq!(is_the_only_one(&query, "ws"), expected, "{query:?}");
        }
        let bare = ServiceQuery::from("manager".parse::<crate::ServiceId>().unwrap());
        assert!(!is_the_only_one(&bare, "public"));
    }

    #[test]
    fn the_one_that_serves_is_not_pinged_if_it_is_alone() {
        let choice =
            choose(Found::One(client("ws/a")), vec![client("ws/a")], None, Some("ws/a"), &SelectionMode::Random);
        assert_eq!(choice, Choice::Take(client("ws/a")));
    }

    #[test]
    fn the_one_that_serves_is_pinged_if_there_are_others_also_where_chance_named_it() {
        let listed = vec![client("ws/a"), client("ws/b")];
        assert_eq!(
            choose(Found::One(client("ws/a")), listed, None, Some("ws/a"), &SelectionMode::Random),
            Choice::FirstToAnswer { preferred: Some(client("ws/a")), others: vec![client("ws/b")], last_resort: None }
        );
    }

    #[test]
    fn the_one_that_was_evicted_is_not_taken_while_there_is_another() {
        for found in [Found::Several, Found::One(client("ws/frozen"))] {
            let listed = vec![client("ws/frozen"), client("ws/new")];
            let choice = choose(found.clone(), listed, Some("ws/frozen"), None, &SelectionMode::Random);
            let taken = match choice {
                Choice::Take(info) => vec![info],
                Choice::FirstToAnswer { preferred: None, others, .. } => others,
                other => panic!("{other:?}"),
            };
            assert_eq!(taken, [client("ws/new")], "{found:?}");
        }
    }

    #[test]
    fn one_that_was_evicted_and_is_the_only_one_is_taken() {
        let choice =
            choose(Found::One(client("ws/a")), vec![client("ws/a")], Some("ws/a"), None, &SelectionMode::Unspecified);
        assert_eq!(choice, Choice::Take(client("ws/a")));
    }

    #[test]
    fn the_one_that_serves_is_preferred_while_it_is_listed() {
        let listed = vec![client("ws/b"), client("ws/a")];
        assert_eq!(
            choose(Found::One(client("ws/b")), listed, None, Some("ws/a"), &SelectionMode::Random),
            Choice::FirstToAnswer { preferred: Some(client("ws/a")), others: vec![client("ws/b")], last_resort: None }
        );
        assert_eq!(
            choose(Found::One(client("ws/b")), vec![client("ws/b")], None, Some("ws/a"), &SelectionMode::Random),
            Choice::Take(client("ws/b"))
        );
    }

    #[test]
    fn several_where_only_one_must_be_are_asked_who_answers() {
        assert_eq!(
            several(None, None, SelectionMode::Unspecified, &["ws/a", "ws/b"]),
            Choice::FirstToAnswer { preferred: None, others: vec![client("ws/a"), client("ws/b")], last_resort: None }
        );
        assert_eq!(
            several(Some("ws/a"), None, SelectionMode::Unspecified, &["ws/a", "ws/b"]),
            Choice::Take(client("ws/b"))
        );
    }

    #[test]
    fn where_exactly_one_was_asked_for_several_are_an_error() {
        assert_eq!(
            several(None, None, SelectionMode::Exact, &["ws/a", "ws/b"]),
            Choice::Ambiguous(vec!["ws/a".into(), "ws/b".into()])
        );
        assert_eq!(several(Some("ws/a"), None, SelectionMode::Exact, &["ws/a", "ws/b"]), Choice::Take(client("ws/b")));
        assert!(matches!(
            several(Some("ws/a"), None, SelectionMode::Exact, &["ws/a", "ws/b", "ws/c"]),
            Choice::Ambiguous(peers) if peers.len() == 2
        ));
    }

    #[test]
    fn the_one_that_serves_is_asked_where_there_are_others_though_the_registry_names_it() {
        let listed = || vec![client("ws/frozen"), client("ws/new")];
        for found in [Found::One(client("ws/frozen")), Found::Several] {
            assert_eq!(
                choose(found, listed(), None, Some("ws/frozen"), &SelectionMode::Random),
                Choice::FirstToAnswer {
                    preferred: Some(client("ws/frozen")),
                    others: vec![client("ws/new")],
                    last_resort: None
                }
            );
        }
        let alone =
            choose(Found::One(client("ws/a")), vec![client("ws/a")], None, Some("ws/a"), &SelectionMode::Random);
        assert_eq!(alone, Choice::Take(client("ws/a")));
    }

    #[test]
    fn the_one_that_was_evicted_is_the_last_resort_where_none_of_the_others_answers() {
        assert_eq!(
            several(Some("ws/a"), None, SelectionMode::Unspecified, &["ws/a", "ws/b", "ws/c"]),
            Choice::FirstToAnswer {
                preferred: None,
                others: vec![client("ws/b"), client("ws/c")],
                last_resort: Some(client("ws/a"))
            }
        );
        assert_eq!(
            several(Some("ws/a"), None, SelectionMode::Unspecified, &["ws/a"]),
            Choice::FirstToAnswer { preferred: None, others: vec![], last_resort: Some(client("ws/a")) }
        );
    }
}
