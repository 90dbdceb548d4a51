//! Requests by their path, and responses that are reqwest's own.

use bytes::Bytes;
use http::{Method, Response};
use tower::{Service, ServiceExt};
use tower_recovery::Delivery;
use tower_recovery_test::FaultyServer;

use super::{
    adapter::InvalidTarget,
    bounded, door,
    library::{Error, Request},
    server, streaming, unary,
};

/// Answers with the method, the target and the body of the request, as a list in JSON.
async fn echo() -> FaultyServer {
    FaultyServer::builder()
        .application(|request| {
            let body = std::str::from_utf8(request.body()).expect("the tests send text");
            let told = format!("[{:?},{:?},{body:?}]", request.method().as_str(), request.uri().to_string());
            let mut response = Response::new(Bytes::from(told));
            response.headers_mut().insert("x-kept", "1".parse().expect("a value"));
            response
        })
        .start()
        .await
        .expect("a port is free")
}

#[tokio::test]
async fn a_path_goes_to_the_origin_with_all_that_a_builder_says_and_the_response_is_reqwests_own() {
    let server = echo().await;
    let api = unary(door([server.origin()]), |client| client).unwrap();

    let call = api.post("/files?limit=3").with(|request| request.query(&[("after", "a b")]).json(&["x"]));
    let response = bounded(call.send()).await.unwrap();

    assert_eq!(response.url().as_str(), format!("{}/files?limit=3&after=a+b", server.origin()));
    assert_eq!((response.status().as_u16(), &response.headers()["x-kept"]), (200, &"1".parse().unwrap()));
    assert_eq!(response.content_length(), Some(45));
    assert_eq!(response.remote_addr(), Some(server.address()), "what reqwest keeps in extensions is kept");
    let told: Vec<String> = response.json().await.unwrap();
    assert_eq!(told, ["POST", "/files?limit=3&after=a+b", "[\"x\"]"]);
}

#[tokio::test]
async fn each_method_has_its_word_and_any_host_is_the_origins() {
    let server = echo().await;
    let api = unary(door([server.origin()]), |client| client).unwrap();
    let absolute = "https://elsewhere:1/x?y=1";
    for (call, method) in [
        (api.get(absolute), "GET"),
        (api.post(absolute), "POST"),
        (api.put(absolute), "PUT"),
        (api.patch(absolute), "PATCH"),
        (api.delete(absolute), "DELETE"),
        (api.request(Method::OPTIONS, absolute), "OPTIONS"),
    ] {
        let told: Vec<String> = bounded(call.send()).await.unwrap().json().await.unwrap();
        assert_eq!(told, [method, "/x?y=1", ""]);
    }
    let response = bounded(api.head(absolute).send()).await.unwrap();
    assert_eq!(
        response.headers()["content-length"],
        "20",
        "a HEAD promises a body that never comes, which is not short"
    );
    assert_eq!(response.bytes().await.unwrap(), "");
}

#[tokio::test]
async fn a_request_of_the_callers_own_goes_through_the_stack_as_a_service() {
    let server = echo().await;
    let mut api = unary(door([server.origin()]), |client| client).unwrap();
    let request = Request::new(Method::PUT, "http://user:secret@artifact-manager/x#part".parse().unwrap());
    let response = bounded(async { api.ready().await.unwrap().call(request).await }).await.unwrap();
    assert_eq!(response.text().await.unwrap(), r#"["PUT","/x",""]"#);
}

#[tokio::test]
async fn a_stream_comes_out_while_it_is_read() {
    let server = server([]).await;
    let api = streaming(door([server.origin()]), |client| client).unwrap();
    let whole = bounded(api.get("/events").send()).await.unwrap();
    assert_eq!((whole.url().path(), whole.content_length()), ("/events", Some(4)));
    assert_eq!(bounded(whole.text()).await.unwrap(), "done");
}

#[tokio::test]
async fn what_is_no_request_is_never_sent_and_says_why() {
    let server = echo().await;
    let api = unary(door([server.origin()]), |client| client).unwrap();
    for path in ["", "files", "//evil", "/\\evil", "http://[::1", "ftp://name/x", "data:text/plain,x"] {
        let call = api.post(path).with(|request| request.header("x-kept", "1"));
        let failure = bounded(call.send()).await.unwrap_err();
        assert_eq!((failure.delivery(), failure.is_permanent()), (Some(Delivery::NeverSent), true), "{path}");
        assert_eq!(failure.find::<InvalidTarget>().unwrap().path, path);
    }
    let failure = bounded(api.post("/x").with(|request| request.header("no name", "1")).send()).await.unwrap_err();
    assert_eq!((failure.delivery(), failure.is_permanent()), (Some(Delivery::NeverSent), true));
    assert!(failure.find::<Error>().unwrap().is_builder());

    let foreign = Request::new(Method::POST, "foo://user:secret@name/a\\b?token=secret".parse().unwrap());
    let failure = bounded(api.oneshot(foreign)).await.unwrap_err();
    assert_eq!(failure.find::<Error>().unwrap().url().unwrap().as_str(), "foo://name/a\\b");
    assert_eq!((failure.delivery(), failure.is_permanent()), (Some(Delivery::NeverSent), true));
    assert_eq!((failure.attempts(), server.connections_accepted()), (1, 0));
}
