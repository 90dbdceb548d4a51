//! What is silenced, and when: `read`, `list` and `get_file`, on the repeat after an attempt that may have been executed.

use tower_recovery_hypha::{Call, Value};
use tower_recovery_test::hypha::Behaviour;

use crate::support::{Watched, World, create, of, outcome, outcomes, start, under, within};

/// The six that read, with what they need.
fn six() -> [Call; 6] {
    let of = |method, id: &str| Call::new(method).keyword("request_id", id);
    [
        of("read", "read").arg("silence-books"),
        of("list", "list").arg("silence-shelf"),
        of("get_file", "get_file").arg("silence-books").arg("a"),
        of("search", "search").arg("silence-shelf"),
        of("read_file", "read_file").arg("silence-books").arg("a"),
        of("list_files", "list_files").arg("silence-books"),
    ]
}

/// Those in which the caller has its say.
fn explicit() -> [Call; 6] {
    let read = |id: &str| Call::new("read").arg("silence-books").keyword("request_id", id);
    let file = Call::new("get_file").arg("silence-books").arg("a").arg(false);
    let list = [Value::from("silence-shelf"), Value::Nil, Value::Nil, "AND".into(), 0.into(), 100.into(), Value::Nil];
    let list = list.into_iter().fold(Call::new("list"), Call::arg).arg(false);
    [
        read("loud").keyword("silent", false),
        read("loud at its place").arg(false),
        read("silent").keyword("silent", true),
        read("silent at its place").arg(true),
        file.keyword("request_id", "loud file at its place"),
        list.keyword("request_id", "loud list at its place"),
    ]
}

#[tokio::test]
async fn only_a_repeat_of_what_may_have_counted_is_silenced_and_only_where_that_can_be() {
    within(async {
        let Some(world) = World::start("silence").await else { return };
        let (old, watched) = (world.manager("old").await, Watched::default());
        let stack = world.recovery(&watched).build().unwrap();
        outcome(&stack, &watched, create("silence-shelf")).await.unwrap();
        outcome(&stack, &watched, create("silence-books").keyword("parent_id", "silence-shelf")).await.unwrap();
        outcome(&stack, &watched, of("put_file", "silence-books").arg("a")).await.unwrap();

        let first = six();
        let methods: Vec<_> = first.iter().map(|call| call.method().to_owned()).collect();
        for call in first {
            outcome(&stack, &watched, call).await.unwrap();
        }
        let seen = world.executed();
        assert!(methods.iter().all(|id| under(&seen, id).iter().all(|one| !one.silent)), "a first attempt is loud");

        for method in &methods {
            old.behave(method, Behaviour::hang_after()).await.unwrap();
        }
        let new = world.manager("new").await;
        let (six, explicit) = (start(&stack, &watched, six().into()), start(&stack, &watched, explicit().into()));
        for (method, calls) in
            [("read", 6), ("list", 3), ("get_file", 3), ("search", 2), ("read_file", 2), ("list_files", 2)]
        {
            world.wait_until_received(method, calls).await;
        }
        old.kill();
        // Those that take no `silent` raise on it.
        for outcome in outcomes(six).await.into_iter().chain(outcomes(explicit).await) {
            outcome.unwrap();
        }

        let repeated = world.executed_by(&new);
        let silent = |id: &str| {
            let [one] = under(&repeated, id)[..] else { panic!("{id}: {repeated:#?}") };
            (one.silent, one.view)
        };
        for (id, expected) in [
            ("read", (true, false)),
            ("list", (true, false)),
            ("get_file", (true, false)),
            ("search", (false, false)),
            ("read_file", (false, false)),
            ("list_files", (false, false)),
            ("loud", (false, true)),
            ("loud at its place", (false, true)),
            ("silent", (true, false)),
            ("silent at its place", (true, false)),
            ("loud file at its place", (false, true)),
            ("loud list at its place", (false, true)),
        ] {
            assert_eq!(silent(id), expected, "{id}");
        }
    })
    .await;
}
