//! Stage: what is done to the worker, and what came of it.

use std::time::Duration;

use tokio::time::{Instant, timeout};
use tower::BoxError;
use tower_recovery_hypha::Value;
use tower_recovery_test::hypha::{Behaviour, no_keywords};

use super::{
    model::Model,
    report::Row,
    stage::{ARTIFACT, Over, Stage},
    worker::INTERVAL,
};

const WORKER: &str = "ws-user-root/worker-7:worker";
const WITHIN: Duration = Duration::from_secs(60);

/// The artifact manager dies while reads and a commit are under way, and comes back under another id.
pub(crate) async fn killed_manager(stage: &mut Stage, over: Over, name: &'static str) -> Result<Row, BoxError> {
    let successor = stage.next_manager().await?;
    println!("{} is killed in the middle of a commit; {} comes", stage.manager.client_id(), successor.client_id());
    let readers = stage.readers(over);
    readers.read_on().await;
    let (resolves, commits) = (stage.resolves(), stage.commits());
    // It executes the commit, and dies before it answers.
    stage.manager.behave("commit", Behaviour::hang_after()).await?;
    let id = format!("commit on {}", stage.manager.client_id());
    let (commit, registered) = tokio::join!(stage.commit(over, &id), async {
        stage.server.wait_until_executed("commit", commits + 1).await;
        stage.manager.kill();
        successor.register_artifact_manager().await
    });
    registered?;
    readers.read_on().await;
    let reads = readers.stop().await;
    stage.manager = successor;
    let resolves = stage.resolves() - resolves;
    let row = Row::new(name, reads.slowest).reads(reads, stage).commit(&id, commit, stage);
    Ok(row.resolves(resolves, 1))
}

/// The artifact manager is frozen with its connection open, and another one takes its place.
pub(crate) async fn frozen_manager(stage: &mut Stage, over: Over, name: &'static str) -> Result<Row, BoxError> {
    let successor = stage.next_manager().await?;
    println!("{} freezes; {} comes", stage.manager.client_id(), successor.client_id());
    let readers = stage.readers(over);
    readers.read_on().await;
    let resolves = stage.resolves();
    stage.manager.freeze();
    let id = format!("commit on {}", stage.manager.client_id());
    let (commit, registered) = tokio::join!(stage.commit(over, &id), successor.register_artifact_manager());
    registered?;
    readers.read_on().await;
    let reads = readers.stop().await;
    let resolves = stage.resolves() - resolves;
    // It executes now what it was sent while it was frozen, and then answers to this. Had anybody repeated the commit, it would be there twice.
    stage.manager.thaw();
    let frozen = format!("{}/{}:artifact-manager", stage.manager.workspace(), stage.manager.client_id());
    stage.outsider.call(&frozen, "read_file", [Value::from(ARTIFACT), Value::from("card")], no_keywords()).await.ok();
    stage.manager.kill();
    stage.manager = successor;
    let row = Row::new(name, reads.slowest).reads(reads, stage).commit(&id, commit, stage);
    Ok(row.resolves(resolves, 1))
}

/// The registry forgets the worker, whose socket stays open.
pub(crate) async fn forgotten_registration(stage: &Stage) -> Result<Row, BoxError> {
    println!("the registry is told to forget worker-7");
    let mut registration = stage.worker.registration.clone();
    let readers = stage.readers(Over::Websocket);
    readers.read_on().await;
    let (resolves, before) = (stage.resolves(), registration.status());
    let began = Instant::now();
    stage.outsider.unregister_service(WORKER).await?;
    let is_back = registration.wait_until(|status| status.confirmed > before.confirmed && status.is_registered());
    let status = timeout(WITHIN, is_back).await?.ok_or("the probe has ended")?;
    let found = stage.outsider.call(WORKER, "status", [], no_keywords()).await;
    let recovered = began.elapsed();
    readers.read_on().await;
    let row = Row::new("registration forgotten", recovered)
        .happened(format!(
            "found again, and says {}",
            found.as_ref().map_or("nothing", |status| status.as_str().unwrap_or_default())
        ))
        .promise(status.flaps == before.flaps + 1, "it was gone once")
        .promise(found == Ok(Value::from("busy")), "Python calls it again")
        .promise(recovered < 2 * INTERVAL, "it is back within the interval, and a rebuild")
        .reads(readers.stop().await, stage);
    // The handles go on over the connection that follows.
    Ok(row.resolves(stage.resolves() - resolves, 0))
}

/// A model's answer breaks off after two words, while Python waits for the worker.
pub(crate) async fn dropped_stream(stage: &Stage) -> Result<Row, BoxError> {
    println!("the model's stream breaks off after two words");
    let began = Instant::now();
    let answer = stage.outsider.call(WORKER, "ask", [Value::from("How did it go?")], no_keywords()).await;
    let told = answer.map_or_else(|error| error.to_string(), |answer| answer.to_string());
    Ok(Row::new("stream dropped", began.elapsed())
        .happened(format!("asked {} times, one answer: {told}", stage.model.calls()))
        .promise(told == Value::from(Model::whole_answer()).to_string(), "Python has one whole answer")
        .promise(stage.model.calls() == 2, "the model was asked once more, and no more"))
}
