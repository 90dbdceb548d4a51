//! How a service is named, and which of several is meant.

use std::{fmt, str::FromStr};

/// The name of a service: `name`, `client:name`, `workspace/name` or `workspace/client:name`, each with `@app` behind it or not.
///
/// A bare name means any client that offers it, in the workspace of the connection.
///
/// # Examples
///
/// ```
/// use tower_recovery_hypha::ServiceId;
///
/// let manager: ServiceId = "public/artifact-manager".parse()?;
/// assert_eq!((manager.workspace(), manager.client(), manager.name()), (Some("public"), None, "artifact-manager"));
///
/// let one = "public/marvelous-chameleon-04319715:artifact-manager@store".parse::<ServiceId>()?;
/// assert_eq!((one.client(), one.app()), (Some("marvelous-chameleon-04319715"), Some("store")));
///
/// let refused = "public//artifact-manager".parse::<ServiceId>().unwrap_err();
/// assert_eq!(refused.to_string(), "the service id is \"public//artifact-manager\", but it must have at most one '/'");
/// # Ok::<(), tower_recovery_hypha::InvalidServiceId>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ServiceId {
    workspace: Option<Box<str>>,
    client: Option<Box<str>>,
    name: Box<str>,
    app: Option<Box<str>>,
}

impl ServiceId {
    /// The workspace, or `None` for that of the connection.
    #[must_use]
    pub fn workspace(&self) -> Option<&str> {
        self.workspace.as_deref()
    }

    /// The client that offers it, or `None` for any.
    #[must_use]
    pub fn client(&self) -> Option<&str> {
        self.client.as_deref()
    }

    /// What the service is called by its client.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The application that it must belong to, or `None` for any.
    #[must_use]
    pub fn app(&self) -> Option<&str> {
        self.app.as_deref()
    }

    /// The whole name, as the registry understands it from everywhere: `workspace/client:name@app`, with `*` for any client, and without the application if it is any.
    pub(crate) fn within(&self, workspace: &str) -> String {
        let workspace = self.workspace().unwrap_or(workspace);
        let client = self.client().unwrap_or("*");
        match self.app() {
            Some(app) => format!("{workspace}/{client}:{}@{app}", self.name),
            None => format!("{workspace}/{client}:{}", self.name),
        }
    }
}

impl FromStr for ServiceId {
    type Err = InvalidServiceId;

    fn from_str(text: &str) -> Result<Self, InvalidServiceId> {
        let refused = |bound| InvalidServiceId { id: text.to_owned(), bound };
        for (separator, bound) in
            [('/', "have at most one '/'"), (':', "have at most one ':'"), ('@', "have at most one '@'")]
        {
            if text.matches(separator).count() > 1 {
                return Err(refused(bound));
            }
        }
        let (workspace, rest) = match text.split_once('/') {
            Some((workspace, rest)) => (Some(workspace), rest),
            None => (None, text),
        };
        let (client, rest) = match rest.split_once(':') {
            Some((client, rest)) => (Some(client), rest),
            None => (None, rest),
        };
        let (name, app) = match rest.split_once('@') {
            Some((name, app)) => (name, Some(app)),
            None => (rest, None),
        };
        // A star stands for any client, and any application.
        let (client, app) = (client.filter(|client| *client != "*"), app.filter(|app| *app != "*"));
        for part in [workspace, client, Some(name), app].into_iter().flatten() {
            check_part(part).map_err(refused)?;
        }
        Ok(Self {
            workspace: workspace.map(Into::into),
            client: client.map(Into::into),
            name: name.into(),
            app: app.map(Into::into),
        })
    }
}

/// The registry looks names up by patterns: a star, say, in one of them would find other services, too.
pub(crate) fn check_part(part: &str) -> Result<(), &'static str> {
    if part.is_empty() {
        return Err("have no empty part");
    }
    let is_plain = |char: char| !char.is_control() && !char.is_whitespace() && !"*?[]{}^|\\/:@".contains(char);
    if !part.chars().all(is_plain) {
        return Err("have parts of plain characters: no space and none of * ? [ ] { } ^ | \\ / : @");
    }
    Ok(())
}

impl fmt::Display for ServiceId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(workspace) = self.workspace() {
            write!(formatter, "{workspace}/")?;
        }
        if let Some(client) = self.client() {
            write!(formatter, "{client}:")?;
        }
        formatter.write_str(&self.name)?;
        self.app().map_or(Ok(()), |app| write!(formatter, "@{app}"))
    }
}

/// This is not the name of a service.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the service id is {id:?}, but it must {bound}")]
#[non_exhaustive]
pub struct InvalidServiceId {
    /// What was given.
    pub id: String,
    /// What it must do.
    pub bound: &'static str,
}

/// Which of several services is taken if a name means more than one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SelectionMode {
    /// What the registry takes for the service's workspace or application: in the workspace `public` a random one, elsewhere it must be the only one.
    #[default]
    Unspecified,
    /// It must be the only one.
    Exact,
    /// A random one.
    Random,
    /// The first that the registry finds, in no promised order.
    First,
    /// The last that the registry finds, in no promised order.
    Last,
    /// The one with the least load, of clients that are balanced by their load.
    MinLoad,
    /// A random one of those that run on the server itself.
    NativeRandom,
    /// The one whose method of this name answers with the `min` or `max`, or with true (`first_success`): `select:criterion:method`.
    Select {
        /// What is compared.
        criterion: String,
        /// The method that each of them is asked.
        method: String,
    },
}

impl SelectionMode {
    /// As the registry spells it; `None` where it is not said.
    pub(crate) fn spelled(&self) -> Option<String> {
        Some(match self {
            Self::Unspecified => return None,
            Self::Exact => "exact".to_owned(),
            Self::Random => "random".to_owned(),
            Self::First => "first".to_owned(),
            Self::Last => "last".to_owned(),
            Self::MinLoad => "min_load".to_owned(),
            Self::NativeRandom => "native:random".to_owned(),
            Self::Select { criterion, method } => format!("select:{criterion}:{method}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_name_is_told_apart_and_written_as_it_was_read() {
        for (text, within) in [
            ("worker", "mine/*:worker"),
            ("worker@app", "mine/*:worker@app"),
            ("client-1:worker", "mine/client-1:worker"),
            ("public/worker", "public/*:worker"),
            ("public/client-1:worker@app", "public/client-1:worker@app"),
            ("ws-user-root/worker@app", "ws-user-root/*:worker@app"),
        ] {
            let id: ServiceId = text.parse().unwrap();
            assert_eq!(id.name(), "worker");
            assert_eq!((id.to_string().as_str(), id.within("mine").as_str()), (text, within));
        }
    }

    #[test]
    fn a_star_is_any_client_and_any_application() {
        assert_eq!("public/*:worker@*".parse::<ServiceId>(), "public/worker".parse());
    }

    #[test]
    fn what_is_no_name_is_refused_by_what_it_breaks() {
        for (text, bound) in [
            ("", "have no empty part"),
            ("a/b/c", "have at most one '/'"),
            ("a:b:c", "have at most one ':'"),
            ("a@b@c", "have at most one '@'"),
            ("/worker", "have no empty part"),
            ("public/", "have no empty part"),
            ("public/client:", "have no empty part"),
            ("*/worker", "have parts of plain characters: no space and none of * ? [ ] { } ^ | \\ / : @"),
            ("pub*/worker", "have parts of plain characters: no space and none of * ? [ ] { } ^ | \\ / : @"),
            ("a service", "have parts of plain characters: no space and none of * ? [ ] { } ^ | \\ / : @"),
            ("work[e]r", "have parts of plain characters: no space and none of * ? [ ] { } ^ | \\ / : @"),
        ] {
            assert_eq!(text.parse::<ServiceId>().unwrap_err().bound, bound, "{text:?}");
        }
    }

    #[test]
    fn modes_are_spelled_as_the_registry_spells_them() {
        let select = SelectionMode::Select { criterion: "min".into(), method: "get_load".into() };
        assert_eq!(select.spelled().as_deref(), Some("select:min:get_load"));
        assert_eq!(SelectionMode::Unspecified.spelled(), None);
    }
}
