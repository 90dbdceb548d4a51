//! Streams that end in the middle, whatever ends them, and what is handed out then.

use std::pin::pin;

use futures_util::StreamExt;
use tower::ServiceExt;
use tower_recovery::{
    Delivery,
    stream_replacement::{MarkedItem, StreamEnd},
};
use tower_recovery_http::sse::SseItem;
use tower_recovery_test::faulty::StreamEnding;

use super::support::{Model, Wire, bounded, broken, complete, question, replacing, saying, texts};

#[tokio::test]
async fn b69_a_stream_that_ends_in_the_middle_is_replaced_and_only_the_replacement_is_handed_out() {
    for wire in Wire::all() {
        for cut in wire.cuts() {
            let scripts = [saying(["one", "two"]).then(cut), complete(["1", "2", "3"])];
            let model = Model::streaming(wire, scripts).await;
            let whole = model.whole(replacing(1)).await.unwrap();
            assert_eq!(texts(&whole.items), ["1", "2", "3", "[DONE]"], "{wire:?} {cut:?}");
            assert_eq!((model.calls(), whole.report.attempts), (2, 2), "{wire:?} {cut:?}");
        }
    }
}

#[tokio::test]
async fn b69_without_a_budget_the_call_ends_with_what_broke_the_stream() {
    for wire in Wire::all() {
        for cut in wire.cuts() {
            let model = Model::streaming(wire, saying(["one", "two"]).then(cut)).await;
            let failure = model.whole(replacing(0)).await.unwrap_err();
            let broken = broken(&failure);
            assert_eq!((broken.reason, failure.delivery()), (StreamEnd::Dropped, Some(Delivery::MaybeSent)));
            assert!(std::error::Error::source(broken).is_some(), "what broke it is kept: {wire:?} {cut:?}");
            assert_eq!((model.calls(), failure.attempts()), (1, 1));
        }
    }
}

const HALF: &str = "Hello wor";
const WHOLE: &str = "Hello world";

/// Half an answer, and then the whole of it.
async fn interrupted(wire: Wire) -> Model {
    Model::streaming(wire, [saying([HALF]).then(wire.reset()), complete([WHOLE])]).await
}

#[tokio::test]
async fn b70_what_is_handed_out_whole_is_one_answer() {
    for wire in Wire::all() {
        let model = interrupted(wire).await;
        let whole = model.whole(replacing(1)).await.unwrap();
        assert_eq!((texts(&whole.items), model.calls()), (vec![WHOLE.into(), "[DONE]".into()], 2));
    }
}

#[tokio::test]
async fn b70_once_an_item_is_handed_out_the_reader_is_told_and_nothing_is_glued_to_it() {
    for wire in Wire::all() {
        let model = interrupted(wire).await;
        bounded(async {
            let admitted = model.chat(replacing(1)).until_first_item().oneshot(question()).await.unwrap();
            let mut items = pin!(admitted.items);
            assert_eq!(texts([&items.next().await.unwrap().unwrap()]), [HALF]);
            let failure = items.next().await.unwrap().unwrap_err();
            assert_eq!((broken(&failure).reason, failure.gave_up()), (StreamEnd::Dropped, None), "nothing was spent");
            assert!(items.next().await.is_none());
        })
        .await;
        assert_eq!(model.calls(), 1, "nothing may be replaced any more");
    }
}

#[tokio::test]
async fn b70_before_the_first_item_a_stream_is_replaced_unseen() {
    for wire in Wire::all() {
        let scripts = [saying([]).send(": hello\n\ndata: Hel").then(wire.reset()), complete([WHOLE])];
        let model = Model::streaming(wire, scripts).await;
        bounded(async {
            let admitted = model.chat(replacing(1)).until_first_item().oneshot(question()).await.unwrap();
            assert_eq!(admitted.report.attempts, 2);
            let items: Vec<_> = admitted.items.map(Result::unwrap).collect().await;
            assert_eq!((texts(&items), model.calls()), (vec![WHOLE.into(), "[DONE]".into()], 2));
        })
        .await;
    }
}

#[tokio::test]
async fn b70_a_mark_comes_before_anything_of_the_replacement() {
    for wire in Wire::all() {
        let model = interrupted(wire).await;
        bounded(async {
            let admitted = model.chat(replacing(1)).marked().oneshot(question()).await.unwrap();
            let seen: Vec<_> = admitted.items.map(Result::unwrap).map(told).collect().await;
            assert_eq!(
                (seen, model.calls()),
                (vec![HALF.into(), "restart 2".into(), WHOLE.into(), "[DONE]".into()], 2)
            );
        })
        .await;
    }
}

fn told<Head>(item: MarkedItem<Head, SseItem>) -> String {
    match item {
        MarkedItem::Item(item) => texts([&item]).remove(0),
        MarkedItem::Restarted(restarted) => format!("restart {}", restarted.report.attempts),
    }
}

#[tokio::test]
async fn b79_an_end_in_good_order_without_the_terminal_event_is_no_end() {
    for wire in Wire::all() {
        let model = Model::streaming(wire, [saying(["one", "two"]), complete(["1", "2"])]).await;
        let whole = model.whole(replacing(1)).await.unwrap();
        assert_eq!((texts(&whole.items), model.calls()), (vec!["1".into(), "2".into(), "[DONE]".into()], 2));
    }
}

#[tokio::test]
async fn b79_out_of_budget_what_came_is_kept_apart_as_partial() {
    for wire in Wire::all() {
        let model = Model::streaming(wire, [saying(["one"]), saying(["1", "2"]).then(StreamEnding::End)]).await;
        let failure = model.whole(replacing(1)).await.unwrap_err();
        let broken = broken(&failure);
        assert_eq!((broken.reason, failure.is_exhausted()), (StreamEnd::Incomplete, true));
        let partial = broken.take_partial::<SseItem>().expect("it was held back");
        assert_eq!(texts(&partial), ["1", "2"], "of the last attempt alone");
        assert_eq!((broken.report.attempts, broken.report.discarded[0].items, model.calls()), (2, 1, 2));
    }
}
