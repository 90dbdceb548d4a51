//! Routes, methods and parameters.

use super::*;

fn rules() -> HttpRules<String> {
    let silence = Silence::query("silent", "true").unwrap();
    HttpRules::new(
        ReadRoutes::safe()
            .read(Method::POST, "/search")
            .and_then(|reads| reads.silent(Method::GET, "/artifacts/{id}", silence))
            .and_then(|reads| reads.write(Method::GET, "/logout"))
            .and_then(|reads| reads.write(Method::GET, "/artifacts/purge"))
            .and_then(|reads| reads.read(Method::GET, "/files/{*rest}"))
            .and_then(|reads| reads.write(Method::GET, "/files/a/purge"))
            .unwrap(),
    )
}

fn request(method: Method, uri: &str) -> Request<String> {
    Request::builder().method(method).uri(uri).body(String::new()).unwrap()
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
        (Method::GET, "/logout;x=1", Access::Write),
        (Method::GET, "/artifacts/..", Access::Write),
        (Method::GET, "/artifacts/%2E%2e", Access::Write),
        (Method::GET, "/artifacts/..%2flogout", Access::Write),
        (Method::GET, "/artifacts/..;a", Access::Write),
        (Method::GET, "/artifacts/purge", Access::Write),
        (Method::GET, "/artifacts/pur%67e", Access::Write),
        (Method::GET, "/artifacts/purge;a", Access::Write),
        (Method::GET, "/artifacts/7;a", Access::SilentRead),
        (Method::GET, "/files/a//purge", Access::Write),
        (Method::GET, "/files/a/purge/", Access::Write),
        (Method::GET, "/files/a//b", Access::Read),
        (Method::GET, "/files/a/%62", Access::Read),
        (Method::GET, "/artifacts/7%20b", Access::SilentRead),
        (Method::GET, "/artifacts/a..b", Access::SilentRead),
        (Method::OPTIONS, "/a//b", Access::Read),
        (Method::GET, "/", Access::Read),
        (Method::HEAD, "/artifacts/7", Access::SilentRead),
        (Method::POST, "/search/deep", Access::Write),
        (Method::PUT, "/artifacts/7", Access::Write),
        (Method::DELETE, "/artifacts/7", Access::Write),
    ] {
        assert_eq!(rules().access(&request(method.clone(), uri), &method), access, "{method} {uri}");
    }
    let listed_only = HttpRules::<String>::new(ReadRoutes::listed_only());
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
    for (name, value) in [("no count", "true"), ("", "true"), ("a&b", "1"), ("a=b", "1"), ("a", "1#"), ("a", "1&b")] {
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
