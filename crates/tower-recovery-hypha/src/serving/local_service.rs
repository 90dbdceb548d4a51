//! One service that this client offers.

use std::{collections::HashMap, fmt, sync::Arc};

use futures_util::{FutureExt, future::BoxFuture};
use rmpv::Value;
use tower_recovery::InvalidSetting;

use crate::{RemoteError, service_id::check_part};

/// What a method gives back: its result, or an error that the caller sees with its type and message.
pub(super) type Handler = dyn Fn(Invocation) -> BoxFuture<'static, Result<Value, RemoteError>> + Send + Sync;

/// Who finds a service, and who may call it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Visibility {
    /// Clients of the same workspace.
    #[default]
    Protected,
    /// Everybody.
    Public,
    /// Everybody who knows its id; it is not listed.
    Unlisted,
}

impl Visibility {
    pub(crate) fn spelled(&self) -> &'static str {
        match self {
            Self::Protected => "protected",
            Self::Public => "public",
            Self::Unlisted => "unlisted",
        }
    }
}

/// A call that came in.
#[derive(Clone)]
#[non_exhaustive]
pub struct Invocation {
    /// The arguments by position.
    pub arguments: Vec<Value>,
    /// The arguments by name.
    pub keywords: Vec<(Value, Value)>,
    /// Who calls, `workspace/client`, by the server's word.
    pub caller: Arc<str>,
    /// What the server knows of the caller's user.
    pub user: Value,
}

impl Invocation {
    /// The argument with this name, or else the one at this position.
    #[must_use]
    pub fn argument(&self, position: usize, name: &str) -> Option<&Value> {
        let named = self.keywords.iter().find(|(set, _)| set.as_str() == Some(name)).map(|(_, value)| value);
        named.or_else(|| self.arguments.get(position))
    }
}

/// Without the arguments: payloads are never logged.
impl fmt::Debug for Invocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Invocation")
            .field("caller", &self.caller)
            .field("arguments", &self.arguments.len())
            .field("keywords", &self.keywords.len())
            .finish_non_exhaustive()
    }
}

/// A service that a client [offers](crate::HyphaClient::offer).
///
/// A method runs in a task of its own, which a lost connection does not end: its result is sent over the next one. A method that panics gives its caller an error.
///
/// # Examples
///
/// ```
/// use tower_recovery_hypha::{LocalService, RemoteError, Value, Visibility};
///
/// let worker = LocalService::new("worker")?
///     .visibility(Visibility::Public)
///     .method("double", |call| async move {
///         let number = call.argument(0, "number").and_then(Value::as_i64);
///         let number = number.ok_or_else(|| RemoteError::new("TypeError", "number must be an int"))?;
///         Ok(Value::from(2 * number))
///     });
/// # let _ = worker;
/// # Ok::<(), tower_recovery::InvalidSetting>(())
/// ```
#[derive(Clone)]
pub struct LocalService {
    name: Arc<str>,
    description: Option<Box<str>>,
    kind: Box<str>,
    visibility: Visibility,
    methods: HashMap<Box<str>, Arc<Handler>>,
}

impl LocalService {
    /// A service of this name, protected, without methods yet.
    ///
    /// # Errors
    ///
    /// The name is empty, is that of the service that every client has (`built-in`), or holds characters that mean something in a [`ServiceId`](crate::ServiceId).
    pub fn new(name: &str) -> Result<Self, InvalidSetting> {
        let refused = |bound| InvalidSetting::new("service", format_args!("{name:?}"), bound);
        check_part(name).map_err(refused)?;
        if name == "built-in" || name.contains('.') {
            return Err(refused("another than built-in, and without a dot"));
        }
        Ok(Self {
            name: name.into(),
            description: None,
            kind: "generic".into(),
            visibility: Visibility::default(),
            methods: HashMap::new(),
        })
    }

    /// What it does, for those who list services.
    #[must_use]
    pub fn description(mut self, description: impl Into<Box<str>>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// What kind of service it is, for those who list services. Default: `generic`.
    #[must_use]
    pub fn kind(mut self, kind: impl Into<Box<str>>) -> Self {
        self.kind = kind.into();
        self
    }

    /// Who finds and calls it. Default: clients of the same workspace.
    #[must_use]
    pub fn visibility(mut self, visibility: Visibility) -> Self {
        self.visibility = visibility;
        self
    }

    /// Adds a method, or replaces one of the same name. A dot in the name leads into an object, as it does for a [`Call`](crate::Call).
    #[must_use]
    pub fn method<Method, Running>(mut self, name: impl Into<Box<str>>, method: Method) -> Self
    where
        Method: Fn(Invocation) -> Running + Send + Sync + 'static,
        Running: Future<Output = Result<Value, RemoteError>> + Send + 'static,
    {
        self.methods.insert(name.into(), Arc::new(move |invocation| method(invocation).boxed()));
        self
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn handler(&self, method: &str) -> Option<Arc<Handler>> {
        self.methods.get(method).cloned()
    }

    pub(super) fn is_open_to(&self, workspace: &str, own_workspace: &str) -> bool {
        self.visibility != Visibility::Protected || workspace == own_workspace
    }

    /// How the registry is told of it.
    pub(crate) fn registration(&self, workspace: &str, client: &str, app: &str, nonce: &str) -> Value {
        let schema = self.methods.keys().map(|method| (Value::from(&**method), schema(method))).collect();
        let config = map([
            ("visibility", self.visibility.spelled().into()),
            ("require_context", false.into()),
            ("workspace", workspace.into()),
            (NONCE, nonce.into()),
        ]);
        map([
            ("id", format!("{workspace}/{client}:{}", self.name).into()),
            ("name", (*self.name).into()),
            ("type", (*self.kind).into()),
            ("description", self.description.as_deref().map_or(Value::Nil, Value::from)),
            ("docs", Value::Nil),
            ("app_id", app.into()),
            ("config", config),
            ("service_schema", Value::Map(schema)),
        ])
    }

    /// How a caller is told of it who resolves it here.
    pub(super) fn as_remote(&self, own_id: &str, base_url: Option<&str>) -> Value {
        let config = map([("visibility", self.visibility.spelled().into()), ("require_context", false.into())]);
        let mut fields = vec![
            ("id".into(), (*self.name).into()),
            ("name".into(), (*self.name).into()),
            ("type".into(), (*self.kind).into()),
            ("description".into(), self.description.as_deref().map_or(Value::Nil, Value::from)),
            ("config".into(), config),
        ];
        for name in self.methods.keys() {
            let path = format!("services.{}.{name}", self.name);
            nest(&mut fields, name, remote_method(own_id, base_url, &path, name));
        }
        Value::Map(fields)
    }
}

/// Puts a method where its name leads: callers look into an object, and not for a name with a dot.
fn nest(fields: &mut Vec<(Value, Value)>, name: &str, method: Value) {
    let Some((object, rest)) = name.split_once('.') else {
        fields.push((name.into(), method));
        return;
    };
    let found = fields.iter().position(|(field, value)| field.as_str() == Some(object) && value.is_map());
    let at = found.unwrap_or_else(|| {
        fields.push((object.into(), Value::Map(Vec::new())));
        fields.len() - 1
    });
    if let Value::Map(fields) = &mut fields[at].1 {
        nest(fields, rest, method);
    }
}

/// The field of a registration's configuration by which it is told which one it is.
pub(crate) const NONCE: &str = "registration";

/// A method as callers call it.
pub(super) fn remote_method(own_id: &str, base_url: Option<&str>, path: &str, name: &str) -> Value {
    map([
        ("_rtype", "method".into()),
        ("_rserver", base_url.map_or(Value::Nil, Value::from)),
        ("_rtarget", own_id.into()),
        ("_rmethod", path.into()),
        ("_rpromise", "*".into()),
        ("_rname", name.into()),
        ("_rasync", true.into()),
        ("_rdoc", "".into()),
    ])
}

fn schema(method: &str) -> Value {
    let parameters = map([("type", "object".into()), ("properties", Value::Map(Vec::new()))]);
    let function = map([("name", method.into()), ("description", "".into()), ("parameters", parameters)]);
    map([("type", "function".into()), ("function", function)])
}

pub(crate) fn map<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value::Map(fields.into_iter().map(|(name, value)| (name.into(), value)).collect())
}

impl fmt::Debug for LocalService {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("LocalService")
            .field("name", &self.name)
            .field("visibility", &self.visibility)
            .field("methods", &self.methods.len())
            .finish()
    }
}
