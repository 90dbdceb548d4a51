//! Which requests read, and how they are copied and silenced.

use std::{collections::HashMap, fmt, sync::Arc};

use http::{
    Method, Request, Uri,
    uri::{Parts, PathAndQuery},
};
use tower_recovery::{Access, InvalidSetting, RequestRules};

/// Which methods and routes only read.
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

/// How a read is asked not to count: by a query parameter. One that the caller set itself stays as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Silence {
    name: String,
    value: String,
}

impl Silence {
    /// By this parameter with this value, both as they are to stand in the query.
    ///
    /// # Errors
    ///
    /// Text that cannot stand in a query as it is.
    pub fn query(name: impl Into<String>, value: impl Into<String>) -> Result<Self, InvalidSetting> {
        let silence = Self { name: name.into(), value: value.into() };
        let alone = |text: &str| !text.contains(['&', '=', '#']);
        match silence.applied_to(&Uri::from_static("/")) {
            Some(_) if !silence.name.is_empty() && alone(&silence.name) && alone(&silence.value) => Ok(silence),
            _ => {
                let pair = format!("{}={}", silence.name, silence.value);
                Err(InvalidSetting::new("silence", pair, "a name and a value that can stand in a query as they are"))
            }
        }
    }

    /// The same URI with the parameter, or `None` where it has one, or no room.
    fn applied_to(&self, uri: &Uri) -> Option<Uri> {
        let query = uri.query().unwrap_or_default();
        if query.split('&').any(|pair| pair.split('=').next() == Some(self.name.as_str())) {
            return None;
        }
        let separator = if query.is_empty() { "" } else { "&" };
        let path_and_query = format!("{}?{query}{separator}{}={}", uri.path(), self.name, self.value);
        let mut parts = Parts::from(uri.clone());
        parts.path_and_query = Some(PathAndQuery::try_from(path_and_query).ok()?);
        Uri::from_parts(parts).ok()
    }
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

    fn find<Body>(&self, request: &Request<Body>) -> Option<&Route> {
        let routes = self.routes_of(request.method())?;
        Some(routes.at(request.uri().path()).ok()?.value)
    }

    /// A HEAD is answered by what answers the GET, unless it has routes of its own.
    fn routes_of(&self, method: &Method) -> Option<&matchit::Router<Route>> {
        let own = self.routes.get(method);
        if *method == Method::HEAD { own.or_else(|| self.routes.get(&Method::GET)) } else { own }
    }

    fn access<Body>(&self, request: &Request<Body>) -> Access {
        match self.find(request) {
            Some(Route::Write) => Access::Write,
            Some(Route::Read) => Access::Read,
            Some(Route::Silent(_)) => Access::SilentRead,
            // A server may take another spelling of a path for the path of a route that is no plain read.
            None if self.routes_of(request.method()).is_some() && !is_plain(request.uri().path()) => Access::Write,
            None if self.safe_methods && request.method().is_safe() => Access::Read,
            None => Access::Write,
        }
    }
}

/// Whether there is one way alone to write this path: no escapes, no empty or dotted segments, no slash at the end.
fn is_plain(path: &str) -> bool {
    let mut segments = path.split('/').skip(1);
    path == "/" || (!path.contains('%') && segments.all(|segment| !matches!(segment, "" | "." | "..")))
}

impl fmt::Debug for ReadRoutes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ReadRoutes").field("safe_methods", &self.safe_methods).finish_non_exhaustive()
    }
}

/// What the layers must know of an `http::Request`.
pub struct HttpRules<Body> {
    reads: ReadRoutes,
    copy: fn(&Request<Body>) -> Option<Request<Body>>,
}

impl<Body> HttpRules<Body> {
    /// Requests are copied whole, body included.
    #[must_use]
    pub fn new(reads: ReadRoutes) -> Self
    where
        Body: Clone,
    {
        Self { reads, copy: |request| Some(request.clone()) }
    }

    /// Requests are never copied, because their bodies can be sent only once: repeated is only what a transport hands back.
    #[must_use]
    pub fn without_copies(reads: ReadRoutes) -> Self {
        Self { reads, copy: |_| None }
    }
}

impl<Body> RequestRules<Request<Body>> for HttpRules<Body> {
    type Method = Method;

    fn method(&self, request: &Request<Body>) -> Method {
        request.method().clone()
    }

    fn access(&self, request: &Request<Body>, _: &Method) -> Access {
        self.reads.access(request)
    }

    fn copy(&self, request: &Request<Body>) -> Option<Request<Body>> {
        (self.copy)(request)
    }

    fn silence(&self, request: &mut Request<Body>) {
        if let Some(Route::Silent(silence)) = self.reads.find(request)
            && let Some(silenced) = silence.applied_to(request.uri())
        {
            *request.uri_mut() = silenced;
        }
    }
}

impl<Body> Clone for HttpRules<Body> {
    fn clone(&self) -> Self {
        Self { reads: self.reads.clone(), copy: self.copy }
    }
}

impl<Body> fmt::Debug for HttpRules<Body> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HttpRules").field("reads", &self.reads).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> HttpRules<()> {
        let silence = Silence::query("silent", "true").unwrap();
        HttpRules::new(
            ReadRoutes::safe()
                .read(Method::POST, "/search")
                .and_then(|reads| reads.silent(Method::GET, "/artifacts/{id}", silence))
                .and_then(|reads| reads.write(Method::GET, "/logout"))
                .unwrap(),
        )
    }

    fn request(method: Method, uri: &str) -> Request<()> {
        Request::builder().method(method).uri(uri).body(()).unwrap()
    }

    #[test]
    fn routes_come_before_the_safe_methods_and_what_nobody_listed_is_a_write() {
        for (method, uri, access) in [
            (Method::GET, "/anything", Access::Read),
            (Method::HEAD, "/anything", Access::Read),
            (Method::POST, "/search?q=1", Access::Read),
            (Method::POST, "http://name/search", Access::Read),
            (Method::GET, "/artifacts/7", Access::SilentRead),
            (Method::GET, "/artifacts/7/files", Access::Read),
            (Method::GET, "/logout", Access::Write),
            (Method::HEAD, "/logout", Access::Write),
            (Method::GET, "/logout/", Access::Write),
            (Method::GET, "//logout", Access::Write),
            (Method::GET, "/%6Cogout", Access::Write),
            (Method::GET, "/./logout", Access::Write),
            (Method::OPTIONS, "/a//b", Access::Read),
            (Method::GET, "/", Access::Read),
            (Method::HEAD, "/artifacts/7", Access::SilentRead),
            (Method::POST, "/search/deep", Access::Write),
            (Method::PUT, "/artifacts/7", Access::Write),
            (Method::DELETE, "/artifacts/7", Access::Write),
        ] {
            assert_eq!(rules().access(&request(method.clone(), uri), &method), access, "{method} {uri}");
        }
        let listed_only = HttpRules::<()>::new(ReadRoutes::listed_only());
        assert_eq!(listed_only.access(&request(Method::GET, "/"), &Method::GET), Access::Write);
    }

    #[test]
    fn silence_adds_its_parameter_once_and_leaves_the_callers_own_value() {
        for (given, sent) in [
            ("/artifacts/7", "/artifacts/7?silent=true"),
            ("/artifacts/7?", "/artifacts/7?silent=true"),
            ("/artifacts/7?version=2", "/artifacts/7?version=2&silent=true"),
            ("http://name:80/artifacts/7?a", "http://name:80/artifacts/7?a&silent=true"),
            ("/artifacts/7?silent=false", "/artifacts/7?silent=false"),
            ("/artifacts/7?silent=true", "/artifacts/7?silent=true"),
            ("/artifacts/7?silent", "/artifacts/7?silent"),
            ("/artifacts/7?not_silent=1", "/artifacts/7?not_silent=1&silent=true"),
            ("/plain", "/plain"),
        ] {
            let mut read = request(Method::GET, given);
            rules().silence(&mut read);
            rules().silence(&mut read);
            assert_eq!(read.uri(), sent);
        }
    }

    #[test]
    fn a_parameter_that_cannot_stand_in_a_query_is_refused() {
        for (name, value) in [("no count", "true"), ("", "true"), ("a&b", "1"), ("a=b", "1"), ("a", "1#"), ("a", "1&b")]
        {
            let refused = Silence::query(name, value).unwrap_err();
            assert_eq!((refused.field, refused.value), ("silence", format!("{name}={value}")));
        }
    }

    #[test]
    fn a_route_that_overlaps_is_refused_by_name() {
        let refused = ReadRoutes::safe().read(Method::GET, "/a/{b").unwrap_err();
        assert_eq!((refused.field, refused.value.as_str()), ("path", "/a/{b"));
        let twice = ReadRoutes::safe().read(Method::GET, "/a").and_then(|reads| reads.write(Method::GET, "/a"));
        assert!(twice.unwrap_err().bound.starts_with("a route of its own: "));
    }
}
