//! What the server's workspace manager is asked.

use std::sync::Arc;

use rmpv::Value;

use crate::{
    Call, CallError, SelectionMode, ServiceId,
    calls::Target,
    client::{self, Lane, Shared},
    serving::{LocalService, NONCE, map},
};

/// What the registry knows of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServiceInfo {
    /// Who offers it: `workspace/client`.
    pub peer: Arc<str>,
    /// What it is called there.
    pub name: Arc<str>,
    /// The application that it belongs to, if to one.
    pub app: Option<Arc<str>>,
    /// The mark of the registration, if this crate made it.
    pub(crate) nonce: Option<Box<str>>,
}

pub(crate) async fn register(shared: &Arc<Shared>, service: &LocalService, lane: Lane) -> Result<(), CallError> {
    let (workspace, settings) = (shared.workspace().unwrap_or_default(), &shared.settings);
    let info = service.registration(&workspace, &settings.client_id, &settings.app_id, &shared.services.nonce());
    register_info(shared, info, lane).await
}

pub(crate) async fn register_info(shared: &Arc<Shared>, info: Value, lane: Lane) -> Result<(), CallError> {
    ask_in(shared, Call::new("register_service").arg(info), lane).await.map(drop)
}

pub(crate) async fn unregister(shared: &Arc<Shared>, id: &str) -> Result<(), CallError> {
    ask(shared, Call::new("unregister_service").arg(id)).await.map(drop)
}

/// Over a new connection, before it is said to be there.
pub(crate) async fn subscribe(shared: &Arc<Shared>, events: &[&str]) -> Result<(), CallError> {
    let events = Value::Array(events.iter().map(|event| Value::from(*event)).collect());
    ask_in(shared, Call::new("subscribe").arg(events), Lane::Urgent).await.map(drop)
}

/// The one service that a name means, by this mode. The registry alone is asked, not the one who offers it.
pub(crate) async fn service_info(
    shared: &Arc<Shared>,
    id: &ServiceId,
    mode: &SelectionMode,
) -> Result<ServiceInfo, CallError> {
    let call = Call::new("get_service_info").arg(id.within(&shared.workspace().unwrap_or_default()));
    let call = match mode.spelled() {
        Some(mode) => call.arg(map([("mode", mode.into())])),
        None => call,
    };
    let answer = ask(shared, call).await?;
    read_info(&answer).ok_or_else(|| unreadable("get_service_info"))
}

/// All services that a name means, as far as they are listed for this client.
pub(crate) async fn list_services(shared: &Arc<Shared>, id: &ServiceId) -> Result<Vec<ServiceInfo>, CallError> {
    let own = shared.workspace().unwrap_or_default();
    let workspace = id.workspace().unwrap_or(&own);
    let query = map([
        ("workspace", workspace.into()),
        ("client_id", id.client().unwrap_or("*").into()),
        ("service_id", id.name().into()),
        ("app_id", id.app().unwrap_or("*").into()),
    ]);
    list(shared, query, workspace == &*own).await
}

/// What is registered under this client id.
pub(crate) async fn list_services_of(shared: &Arc<Shared>, client_id: &str) -> Result<Vec<ServiceInfo>, CallError> {
    let query = map([
        ("workspace", shared.workspace().unwrap_or_default().as_ref().into()),
        ("client_id", client_id.into()),
        ("service_id", "*".into()),
    ]);
    list(shared, query, true).await
}

/// What is not listed is told to clients of its own workspace alone, and for others it is an error to ask.
async fn list(shared: &Arc<Shared>, query: Value, is_own: bool) -> Result<Vec<ServiceInfo>, CallError> {
    let call = Call::new("list_services").arg(query);
    let call = if is_own { call.keyword("include_unlisted", true) } else { call };
    let answer = ask(shared, call).await?;
    // An entry that cannot be read is nobody's reason not to find the others.
    let found = answer.as_array().map(|found| found.iter().filter_map(read_info).collect());
    found.ok_or_else(|| unreadable("list_services"))
}

async fn ask(shared: &Arc<Shared>, call: Call) -> Result<Value, CallError> {
    ask_in(shared, call, Lane::Rest).await
}

async fn ask_in(shared: &Arc<Shared>, call: Call, lane: Lane) -> Result<Value, CallError> {
    client::call(shared, Target::Manager, "default", &call, shared.settings.patience, lane).await
}

fn read_info(info: &Value) -> Option<ServiceInfo> {
    let field = |value: &Value, name: &str| {
        let fields = value.as_map()?;
        fields.iter().find(|(key, _)| key.as_str() == Some(name)).map(|(_, value)| value.clone())
    };
    let id = field(info, "id")?;
    let (peer, name) = id.as_str()?.split_once(':')?;
    let app = field(info, "app_id").and_then(|app| app.as_str().map(Arc::from)).filter(|app: &Arc<str>| &**app != "*");
    let nonce = field(info, "config").and_then(|config| field(&config, NONCE));
    let nonce = nonce.and_then(|nonce| nonce.as_str().map(Into::into));
    Some(ServiceInfo { peer: peer.into(), name: name.into(), app, nonce })
}

fn unreadable(method: &'static str) -> CallError {
    CallError::UnexpectedAnswer { method: method.into() }
}
