//! Hypha's artifact manager: which of its methods read, and which of those count.

use tower_recovery::ReadMethods;

use crate::HyphaRules;

/// What events and the log call the handle.
pub const NAME: &str = "artifact manager service proxy";

/// The methods that read: `read`, `list` and `get_file` count a view or a download unless they are told `silent=True`; `search`, `read_file` and `list_files` count nothing, and raise an error on
/// `silent`.
///
/// Everything else is a write and is never repeated once it may have been executed: `create`, `edit`, `commit`, `delete`, `publish`, `discard`, `put_file`, and all operations on vectors, branches and pull
/// requests, those that only look included.
///
/// As of the worker that this project's first incident befell (BioEngine, 2026-09), and of Hypha 0.21.137.
#[must_use]
pub fn reads() -> ReadMethods {
    let counted = ["read", "list", "get_file"].into_iter().fold(ReadMethods::new(), ReadMethods::silent);
    ["search", "read_file", "list_files"].into_iter().fold(counted, ReadMethods::read)
}

/// The same as rules, with the places that `silent` has among the parameters.
#[must_use]
pub fn rules() -> HyphaRules {
    HyphaRules::new(reads()).silent_at("read", 1).silent_at("get_file", 2).silent_at("list", 7)
}

#[cfg(test)]
mod tests {
    use tower_recovery::{Access, RequestRules};

    use super::*;
    use crate::{Call, Value};

    fn silenced(mut call: Call) -> Call {
        rules().silence(&mut call);
        call
    }

    #[test]
    fn what_may_be_repeated_is_what_the_origin_repeats() {
        let access = |method: &str| rules().access(&Call::new(method), &method.into());
        for method in ["read", "list", "get_file"] {
            assert_eq!(access(method), Access::SilentRead, "{method}");
        }
        for method in ["search", "read_file", "list_files"] {
            assert_eq!(access(method), Access::Read, "{method}");
        }
        for method in [
            "create",
            "commit",
            "edit",
            "delete",
            "publish",
            "discard",
            "put_file",
            "remove_file",
            "write_file",
            "add_vectors",
            "search_vectors",
            "remove_vectors",
            "list_vectors",
            "get_vector",
            "create_pr",
            "merge_pr",
            "list_prs",
            "duplicate",
            "reset_stats",
            "set_secret",
            "get_secret",
        ] {
            assert_eq!(access(method), Access::Write, "{method}");
        }
    }

    #[test]
    fn a_read_is_silenced_by_a_keyword() {
        let read = Call::new("read").arg("ws/a").keyword("stage", true);
        let read = silenced(rules().copy(&read).expect("a call can be copied"));
        assert_eq!(read.keywords(), [("stage".into(), true.into()), ("silent".into(), Value::from(true))]);
    }

    #[test]
    fn a_value_that_the_caller_set_stays_by_keyword_and_by_position() {
        for call in [
            Call::new("read").arg("ws/a").keyword("silent", false),
            Call::new("read").arg("ws/a").arg(false),
            Call::new("get_file").arg("ws/a").arg("weights.pt").arg(false),
            (0..8).fold(Call::new("list"), |call, _| call.arg(Value::Nil)),
        ] {
            assert_eq!(silenced(call.clone()), call);
        }
        assert!(silenced(Call::new("get_file").arg("ws/a").arg("weights.pt")).has_keyword("silent"));
        assert!(silenced((0..7).fold(Call::new("list"), |call, _| call.arg(Value::Nil))).has_keyword("silent"));
    }
}
