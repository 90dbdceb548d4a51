//! Which requests only read.

use std::{collections::HashMap, fmt, sync::Arc};

use http::Method;
use percent_encoding::percent_decode_str;
use tower_recovery::{Access, InvalidSetting};

use super::Silence;

/// Which methods and routes only read.
///
/// Paths are exact, their case included. A path that a server may take for another one (dotted segments, escapes, a slash at the end) is no read where that
/// matters; of a server that ignores case, list the routes that write in no other way than by [`listed_only`](Self::listed_only).
///
/// # Examples
///
/// ```
/// use http::Method;
/// use tower_recovery_http::{ReadRoutes, Silence};
///
/// let reads = ReadRoutes::safe()                                                  // GET, HEAD, OPTIONS and TRACE read,
///     .read(Method::POST, "/search")?                                             // and so does this POST;
///     .silent(Method::GET, "/artifacts/{id}", Silence::query("silent", "true")?)? // this GET counts its views,
///     .write(Method::GET, "/logout")?;                                            // and this one is no read at all.
/// # let _ = reads;
/// # Ok::<(), tower_recovery::InvalidSetting>(())
/// ```
#[derive(Clone, Default)]
pub struct ReadRoutes {
    safe_methods: bool,
    // Shared, because every clone of a stack has its rules.
    routes: Arc<HashMap<Method, matchit::Router<Route>>>,
}

#[derive(Clone, Debug)]
enum Route {
    Write,
    Read,
    Silent(Silence),
}

impl ReadRoutes {
    /// Nothing is a read but what is listed.
    #[must_use]
    pub fn listed_only() -> Self {
        Self::default()
    }

    /// The safe methods of RFC 9110 §9.2.1 are reads: GET, HEAD, OPTIONS and TRACE.
    #[must_use]
    pub fn safe() -> Self {
        Self { safe_methods: true, ..Self::default() }
    }

    /// This route changes nothing. A path may hold `{parameters}` and end in `{*rest}`.
    ///
    /// # Errors
    ///
    /// A path that is not well formed, or that overlaps with one of this method's other routes.
    pub fn read(self, method: Method, path: &str) -> Result<Self, InvalidSetting> {
        self.route(method, path, Route::Read)
    }

    /// This route changes nothing but a counter, which it leaves alone if it is asked to.
    ///
    /// # Errors
    ///
    /// As of [`read`](Self::read).
    pub fn silent(self, method: Method, path: &str, silence: Silence) -> Result<Self, InvalidSetting> {
        self.route(method, path, Route::Silent(silence))
    }

    /// This route changes something, although its method is safe.
    ///
    /// # Errors
    ///
    /// As of [`read`](Self::read).
    pub fn write(self, method: Method, path: &str) -> Result<Self, InvalidSetting> {
        self.route(method, path, Route::Write)
    }

    fn route(mut self, method: Method, path: &str, route: Route) -> Result<Self, InvalidSetting> {
        let routes = Arc::make_mut(&mut self.routes).entry(method).or_default();
        match routes.insert(path, route) {
            Ok(()) => Ok(self),
            Err(error) => Err(InvalidSetting::new("path", path, format!("a route of its own: {error}"))),
        }
    }

    /// A HEAD is answered by what answers the GET, unless it has routes of its own.
    fn routes_of(&self, method: &Method) -> Option<&matchit::Router<Route>> {
        let own = self.routes.get(method);
        if *method == Method::HEAD { own.or_else(|| self.routes.get(&Method::GET)) } else { own }
    }

    fn find(&self, method: &Method, path: &str) -> Option<&Route> {
        Some(self.routes_of(method)?.at(path).ok()?.value)
    }

    pub(super) fn access(&self, method: &Method, path: &str) -> Access {
        match self.find(method, path) {
            Some(Route::Write) => Access::Write,
            // A parameter takes any segment: a server that goes up at `..`, or that decodes what it is given, executes another route than the one that
            // was listed.
            Some(route @ (Route::Read | Route::Silent(_))) if !self.is_this_for_all(route, method, path) => {
                Access::Write
            }
            Some(Route::Read) => Access::Read,
            Some(Route::Silent(_)) => Access::SilentRead,
            // A server may take another spelling of a path for the path of a route that is no plain read.
            None if self.routes_of(method).is_some() && !is_plain(path) => Access::Write,
            None if self.safe_methods && method.is_safe() => Access::Read,
            None => Access::Write,
        }
    }

    /// Whether a server that reads this path in another way comes to the same route.
    fn is_this_for_all(&self, route: &Route, method: &Method, path: &str) -> bool {
        if goes_up(path) {
            return false;
        }
        is_plain(path) || self.find(method, &plainly(path)).is_some_and(|other| std::ptr::eq(other, route))
    }

    /// How this request is asked not to count, if it can be.
    pub(super) fn silence(&self, method: &Method, path: &str) -> Option<&Silence> {
        match self.find(method, path)? {
            Route::Silent(silence) => Some(silence),
            Route::Write | Route::Read => None,
        }
    }
}

/// Whether there is one way alone to write this path: no escapes and parameters, no empty or dotted segments, no slash at the end.
fn is_plain(path: &str) -> bool {
    let mut segments = path.split('/').skip(1);
    path == "/" || (!path.contains(['%', ';']) && segments.all(|segment| !matches!(segment, "" | "." | "..")))
}

/// The plain path that the most lenient server makes of this one: decoded, without parameters and without empty segments.
fn plainly(path: &str) -> String {
    let decoded = percent_decode_str(path).decode_utf8_lossy();
    let names = decoded.split('/').map(|segment| segment.split(';').next().unwrap_or_default());
    names.filter(|name| !name.is_empty()).fold(String::new(), |plain, name| plain + "/" + name)
}

/// Whether some server may take this path for another one that lies elsewhere: by a dotted segment, also one with a parameter behind a `;`, and
/// by the escapes of what makes one.
fn goes_up(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let escapes = ["%2e", "%2f", "%5c", "\\"];
    let mut names = path.split('/').map(|segment| segment.split(';').next().unwrap_or_default());
    escapes.iter().any(|escape| path.contains(escape)) || names.any(|name| matches!(name, "." | ".."))
}

impl fmt::Debug for ReadRoutes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ReadRoutes").field("safe_methods", &self.safe_methods).finish_non_exhaustive()
    }
}
