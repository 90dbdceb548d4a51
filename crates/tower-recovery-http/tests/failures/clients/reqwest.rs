//! reqwest, a pool, in both versions.

use std::future::ready;

use tower::service_fn;
use tower_recovery::Resolved;

use super::{Client, Http, Stack, Way, over};

/// The versions have the same API in all that is needed, and no type in common.
macro_rules! client {
    ($type:ident, $name:literal, $library:ident, $adapter:ident, $trusting:expr, $hides_ends:literal) => {
        pub(crate) struct $type;

        impl Client for $type {
            fn name(&self) -> &'static str {
                $name
            }

            fn has_tls(&self) -> bool {
                $trusting.is_some()
            }

            fn hides_ends(&self) -> bool {
                $hides_ends
            }

            fn stack(&self, way: &Way) -> Stack {
                let (origin, http, tls, limit) = (way.origin.clone(), way.http, way.tls.clone(), way.connect_timeout);
                let configured = move || {
                    let client = $library::ClientBuilder::new().no_proxy().connect_timeout(limit);
                    let client = match http {
                        Http::One => client.http1_only(),
                        Http::Two => client.http2_prior_knowledge(),
                    };
                    match (&tls, $trusting) {
                        (Some(tls), Some(trusting)) => trusting(client, tls.clone()),
                        _ => client,
                    }
                };
                let handles = service_fn(move |()| {
                    let handle = tower_recovery_http::$adapter::ReqwestHandle::new(origin.clone(), configured());
                    ready(handle.map(|handle| Resolved::new(origin.to_string(), handle)))
                });
                over(way, handles, |request| {
                    $library::Request::try_from(request.map($library::Body::wrap)).expect("a request of reqwest")
                })
            }
        }
    };
}

type Trusting<Builder> = Option<fn(Builder, rustls::ClientConfig) -> Builder>;

/// Compiled without TLS.
const NO_TLS: Trusting<reqwest::ClientBuilder> = None;

const TLS: Trusting<reqwest_0_12::ClientBuilder> = Some(|client, tls| client.use_preconfigured_tls(tls));

// 0.12 is built with a decompression.
client!(Reqwest013, "reqwest 0.13", reqwest, reqwest, NO_TLS, false);
client!(Reqwest012, "reqwest 0.12", reqwest_0_12, reqwest_0_12, TLS, true);
