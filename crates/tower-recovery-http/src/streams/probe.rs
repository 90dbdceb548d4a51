//! A request that asks whether a route works.

use std::{
    fmt,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::{FutureExt, future::BoxFuture};
use http::Response;
use http_body::Body;
use http_body_util::{BodyExt, Limited};
use tower::{BoxError, ServiceExt};
use tower_recovery::stream_replacement::{Health, ProbeRequest};
use tower_service::Service;

use crate::sse::is_error_object;

/// A health probe over HTTP: a small request on the same route, and a judge of what comes.
///
/// Healthy is an answer with a success for its status and the whole of its body, against which the [judge](Self::healthy_if) has nothing: by default, a body that is no JSON
/// object with an `error` at its top, by which providers refuse in the text of a success. A route that answers its
/// metadata can be stuck in its work: let the probe do a little of what the route does, with the same credentials.
///
/// # Examples
///
/// A chat route is healthy if it says a word:
///
/// ```
/// use bytes::Bytes;
/// use http::{Request, Response};
/// use http_body_util::Full;
/// use tower::service_fn;
/// use tower_recovery_http::HttpProbe;
///
/// # let api = service_fn(|_: Request<Full<Bytes>>| async { Ok::<_, std::convert::Infallible>(Response::new(Full::<Bytes>::default())) });
/// let probe = HttpProbe::new(api, || {
///     let body = r#"{"model": "large", "max_tokens": 1, "messages": [{"role": "user", "content": "Say yes."}]}"#;
///     Request::post("/v1/chat/completions").body(Full::<Bytes>::from(body)).expect("a request")
/// })
/// .healthy_if(|answer| answer.body().starts_with(b"{\"id\""));
/// # let _ = probe;
/// ```
///
/// # Readiness
///
/// Always ready: a clone of the service is readied inside the probe.
///
/// # Cancel safety
///
/// Dropping the future drops the request that is under way.
///
/// # Errors
///
/// What the service below fails with, and a body that breaks, or is longer than 1 MiB: none of them is an answer.
pub struct HttpProbe<Api, MakeRequest> {
    api: Api,
    request: MakeRequest,
    judge: Arc<Judge>,
}

type Judge = dyn Fn(&Response<Bytes>) -> bool + Send + Sync;

const BODY_LIMIT: usize = 1 << 20;

impl<Api, MakeRequest> HttpProbe<Api, MakeRequest> {
    /// Sends such a request, made anew for each probe, over this service.
    pub fn new(api: Api, request: MakeRequest) -> Self {
        Self { api, request, judge: Arc::new(is_no_error) }
    }

    /// What a success must be like besides. This judge takes the place of the default one, which a JSON object with an `error` at its top is not healthy to.
    #[must_use]
    pub fn healthy_if(mut self, judge: impl Fn(&Response<Bytes>) -> bool + Send + Sync + 'static) -> Self {
        self.judge = Arc::new(judge);
        self
    }
}

impl<Api, MakeRequest, Request, ProbeBody> Service<ProbeRequest> for HttpProbe<Api, MakeRequest>
where
    Api: Service<Request, Response = Response<ProbeBody>> + Clone + Send + 'static,
    Api::Error: Into<BoxError>,
    Api::Future: Send,
    MakeRequest: Fn() -> Request,
    Request: Send + 'static,
    ProbeBody: Body<Data = Bytes> + Send + 'static,
    ProbeBody::Error: Into<BoxError>,
{
    type Response = Health;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Health, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        // A clone is readied inside the probe.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: ProbeRequest) -> Self::Future {
        let (api, request, judge) = (self.api.clone(), (self.request)(), Arc::clone(&self.judge));
        async move {
            let (head, body) = api.oneshot(request).await.map_err(Into::into)?.into_parts();
            let body = Limited::new(body, BODY_LIMIT).collect().await?.to_bytes();
            let is_healthy = head.status.is_success() && judge(&Response::from_parts(head, body));
            Ok(if is_healthy { Health::Healthy } else { Health::Refused })
        }
        .boxed()
    }
}

fn is_no_error(answer: &Response<Bytes>) -> bool {
    !is_error_object(answer.body())
}

impl<Api: Clone, MakeRequest: Clone> Clone for HttpProbe<Api, MakeRequest> {
    fn clone(&self) -> Self {
        Self { api: self.api.clone(), request: self.request.clone(), judge: Arc::clone(&self.judge) }
    }
}

impl<Api, MakeRequest> fmt::Debug for HttpProbe<Api, MakeRequest> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HttpProbe").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_success_that_says_an_error_is_not_healthy_unless_another_judge_says_so() {
        let probe = HttpProbe::new((), ());
        for (body, is_healthy) in [
            ("", true),
            ("OK", true),
            (r#"{"data": [], "error": null}"#, true),
            (r#"{"text": "\"error\": 1"}"#, true),
            (r#"{"error": {"type": "overloaded_error", "message": "Overloaded"}}"#, false),
        ] {
            assert_eq!((probe.judge)(&Response::new(Bytes::from(body))), is_healthy, "{body}");
        }
        assert!((probe.healthy_if(|_| true).judge)(&Response::new(Bytes::from(r#"{"error": 1}"#))));
    }
}
