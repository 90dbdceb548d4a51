//! reqwest in both of its versions, as the front door makes it: one over HTTP/2, one over HTTP/1. They have the same API and no type in
//! common.

use ::reqwest as reqwest_0_13;
use bytes::Bytes;
use futures::FutureExt;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use tower::ServiceExt;

use super::{Client, Stack, front_door};
use crate::audit::{look_ups::LookUps, script::Wire, watch::Watch};

macro_rules! client {
    ($client:ident, $name:literal, $wire:ident, $library:ident, $build:ident $(, $setting:ident)*) => {
        pub(crate) struct $client;

        impl Client for $client {
            const NAME: &'static str = $name;
            const WIRE: Wire = Wire::$wire;

            fn stack(look_ups: LookUps, watch: Watch) -> impl Stack {
                let stack = front_door(look_ups, watch).$build(|client| client.no_proxy()$(.$setting())*);
                stack
                    .expect("the settings are within their bounds")
                    .map_request(|request| $library::Request::try_from(with_host(request)).expect("its URL is whole"))
                    .and_then(|response: $library::Response| async move {
                        let response = Response::<$library::Body>::from(response);
                        let (head, body) = response.into_parts();
                        let body = body.collect().await.expect("the stack has collected it");
                        Ok(Response::from_parts(head, body.to_bytes()))
                    })
            }
        }
    };
}

client!(Reqwest013, "reqwest 0.13, HTTP/2", Streams, reqwest_0_13, reqwest, http2_prior_knowledge);
client!(Reqwest012, "reqwest 0.12, HTTP/1", Pool, reqwest_0_12, reqwest_0_12);

/// reqwest knows no path alone: any host will do.
fn with_host(request: Request<Full<Bytes>>) -> Request<Bytes> {
    let (mut head, body) = request.into_parts();
    head.uri = format!("http://orders{}", head.uri).parse().expect("a path follows");
    let body = body.collect().now_or_never().expect("all of it is there").expect("it cannot fail");
    Request::from_parts(head, body.to_bytes())
}
