//! What a method raises is its answer, whatever it says.

use tower_recovery::Delivery;
use tower_recovery_hypha::CallError;
use tower_recovery_test::hypha::Behaviour;

use crate::support::{Watched, World, cause, create, of, outcome, within};

#[tokio::test]
async fn an_error_of_the_application_that_reads_like_the_registrys_is_an_answer() {
    within(async {
        let Some(world) = World::start("answered").await else { return };
        let (manager, watched) = (world.manager("one").await, Watched::default());
        let stack = world.recovery(&watched).build().unwrap();
        outcome(&stack, &watched, create("answered-books")).await.unwrap();

        let peer = world.identity(&manager);
        for (at, (class, text, shown)) in [
            ("KeyError", "Service not found: ws-answered/*:artifact-manager@*", true),
            ("Exception", &*format!("Target peer {peer} is not connected"), false),
            ("Exception", &*format!("Connection has already been closed (client: {})", world.worker.id()), false),
            ("TimeoutError", "Method call timed out: read", false),
            ("RuntimeError", "Client disconnected", false),
        ]
        .into_iter()
        .enumerate()
        {
            for method in ["read", "commit"] {
                manager.behave(method, Behaviour::raise(class, text).times(1)).await.unwrap();
                let failure = outcome(&stack, &watched, of(method, "answered-books")).await.unwrap_err();
                assert_eq!(failure.delivery(), Some(Delivery::Answered), "{failure:?}");
                assert_eq!(failure.attempts(), 1);
                let CallError::Remote(error) = cause(&failure) else { panic!("{failure:?}") };
                // The text of a KeyError is quoted by Python.
                let expected = if shown { format!("'{text}'") } else { text.to_owned() };
                assert_eq!((error.kind(), error.message()), (class, expected.as_str()));
                let executed = world.executed();
                assert_eq!(executed.iter().filter(|one| one.method == method).count(), at + 1, "it is executed once");
            }
        }
        assert_eq!(watched.evicted(), Vec::<String>::new());
        assert_eq!(watched.resolved(), [peer]);
    })
    .await;
}
