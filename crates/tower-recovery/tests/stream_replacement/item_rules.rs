//! `ItemRules`: rules made of functions, for responses that are streams themselves.

use std::io;

use futures_util::{StreamExt, TryStreamExt, stream};
use tower::{Layer, ServiceExt};
use tower_recovery::{
    Failure, StreamReplacementLayer, StreamRules, Verdict,
    stream_replacement::{ItemRules, Sight, StreamBroken, StreamEnd, UntilFirstItem, Whole},
};
use tower_recovery_test::{ScriptedService, ScriptedStream, Step};

use super::{
    support::{Call, Fault, rules},
    world::{Line, replacing, whole},
};

type Lines = ScriptedStream<Line>;

fn content() -> ItemRules<Line> {
    ItemRules::new(|line: &Line| if *line == "." { Sight::Terminal } else { Sight::Content })
}

/// What becomes of a stream of these lines and this end, by these rules, with one replacement that is complete.
async fn read(
    rules_of_items: ItemRules<Line>,
    lines: &'static [Line],
    fault: Option<Fault>,
) -> Result<Vec<Line>, Failure> {
    let streams = [(lines, fault), (&["again", "."], None)].map(|(lines, fault)| {
        let (handle, stream) = Lines::pair();
        lines.iter().copied().for_each(|line| handle.send(line));
        match fault {
            Some(fault) => handle.fail(fault),
            None => handle.end(),
        }
        Step::answer_once(stream)
    });
    let peer = ScriptedService::<Call, Lines>::new(streams);
    let layer = StreamReplacementLayer::new(replacing().build().unwrap(), rules(), rules_of_items, whole());
    Ok(layer.layer(peer).oneshot(Call::write()).await?.items)
}

#[tokio::test(start_paused = true)]
async fn until_told_otherwise_a_clean_end_is_complete() {
    assert_eq!(read(content(), &["a"], None).await.unwrap(), ["a"]);
    assert_eq!(read(content(), &["a", ".", "b"], None).await.unwrap(), ["a", "."], "but for what ends it before");
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_needs_its_last_item_is_cut_off_without_it() {
    assert_eq!(read(content().incomplete_without_terminal(), &["a"], None).await.unwrap(), ["again", "."]);
    assert_eq!(read(content().incomplete_without_terminal(), &["a", "."], None).await.unwrap(), ["a", "."]);
}

#[tokio::test(start_paused = true)]
async fn until_told_otherwise_no_error_is_recognised() {
    let failure = read(content(), &["a"], Some(Fault::Lost)).await.unwrap_err();
    assert_eq!((failure.delivery(), failure.cause().unwrap().downcast_ref()), (None, Some(&Fault::Lost)));
}

#[tokio::test(start_paused = true)]
async fn what_an_error_proves_the_rules_say() {
    let rules = || {
        content().broken_by(|error| match error.downcast_ref::<Fault>() {
            Some(fault) => fault.verdict(),
            None => Verdict::unrecognised(),
        })
    };
    assert_eq!(read(rules(), &["a"], Some(Fault::Lost)).await.unwrap(), ["again", "."]);
    let failure = read(rules(), &["a"], Some(Fault::NoSuchFile)).await.unwrap_err();
    assert_eq!(failure.verdict(), Verdict::answered());
}

#[tokio::test(start_paused = true)]
async fn items_are_measured_as_told() {
    let measured = content().measured_by(|line| 100 * line.len() as u64).incomplete_without_terminal();
    let stream = || stream::iter([Ok::<_, io::Error>("abc"), Ok("d")]);
    let peer = ScriptedService::<Call, _>::new([Step::answer_with(stream)]);
    let layer = StreamReplacementLayer::new(replacing().build().unwrap(), rules(), measured, whole());
    let failure = layer.layer(peer).oneshot(Call::write()).await.unwrap_err();
    let broken: &StreamBroken = failure.find().unwrap();
    assert_eq!((broken.reason, broken.report.discarded[0].bytes), (StreamEnd::Incomplete, 400));
}

#[test]
fn what_the_rules_say_of_themselves() {
    let mut rules = content();
    assert_eq!(StreamRules::<Lines>::look(&mut rules, &"."), Sight::Terminal);
    assert_eq!(StreamRules::<Lines>::bytes(&rules, &"abc"), 0);
    assert!(StreamRules::<Lines>::is_complete(&rules));
    assert!(!StreamRules::<Lines>::is_verdict(&rules, &Lines::pair().1));
    let rules = rules.incomplete_without_terminal();
    assert!(!StreamRules::<Lines>::is_complete(&rules.clone()), "a clone sees alike");
    assert_eq!(format!("{rules:?}"), "ItemRules { complete_without_terminal: false, .. }");
}

#[tokio::test(start_paused = true)]
async fn any_stream_of_results_will_do_and_the_layer_can_be_made_another() {
    let layer = StreamReplacementLayer::new(replacing().build().unwrap(), rules(), content(), Whole::up_to(1))
        .streams(ItemRules::new(|_: &u32| Sight::Content))
        .admission(UntilFirstItem);
    let stream = || stream::iter([1_u32, 2]).map(Ok::<_, io::Error>);
    let peer = ScriptedService::<Call, _>::new([Step::answer_with(stream)]);
    let answer = layer.layer(peer).oneshot(Call::write()).await.unwrap();
    assert_eq!(answer.items.try_collect::<Vec<_>>().await.unwrap(), [1, 2]);
}
