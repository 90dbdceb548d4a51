//! The counterpart: `tower::retry` over the same transport, which repeats every error. It shows that the script has teeth.

use std::{
    collections::HashMap,
    future::{Ready, ready},
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tower::{BoxError, Service, ServiceBuilder, ServiceExt, retry::Policy, service_fn};
use tower_recovery::{Identity, Resolved};
use tower_recovery_http::{CollectLayer, CollectedBody, OriginHandle, Transport};

use super::{ATTEMPT_TIMEOUT, BODY_LIMIT, NAME, Stack};
use crate::audit::look_ups::LookUps;

/// As many as the other retry layers of this kind make.
const ATTEMPTS: usize = 3;

/// Every attempt asks the registry, so that a dead instance is left as soon as the name has moved. Each instance has one client.
pub(crate) fn stack(look_ups: LookUps) -> impl Stack<BoxError> {
    let pools = Arc::new(Mutex::new(HashMap::<Identity, OriginHandle<Full<Bytes>>>::new()));
    let leaf = service_fn(move |request: Request<Full<Bytes>>| {
        let (mut look_ups, pools) = (look_ups.clone(), Arc::clone(&pools));
        async move {
            let Resolved { identity, handle: origin } = look_ups.call(NAME).await?;
            let transport = Transport::new().connect_timeout(ATTEMPT_TIMEOUT / 2);
            let made = OriginHandle::new(origin, &transport)?;
            let pool = pools.lock().expect("nobody panics with it").entry(identity).or_insert(made).clone();
            pool.oneshot(request).await
        }
    });
    let stack = ServiceBuilder::new()
        .retry(EveryError { left: ATTEMPTS - 1 })
        .timeout(ATTEMPT_TIMEOUT)
        .layer(CollectLayer::new(BODY_LIMIT))
        .service(leaf);
    stack.map_response(|response: Response<CollectedBody>| response.map(CollectedBody::to_bytes))
}

#[derive(Clone)]
struct EveryError {
    left: usize,
}

impl<Answer> Policy<Request<Full<Bytes>>, Answer, BoxError> for EveryError {
    type Future = Ready<()>;

    fn retry(&mut self, _: &mut Request<Full<Bytes>>, outcome: &mut Result<Answer, BoxError>) -> Option<Ready<()>> {
        outcome.as_ref().err()?;
        self.left = self.left.checked_sub(1)?;
        Some(ready(()))
    }

    fn clone_request(&mut self, request: &Request<Full<Bytes>>) -> Option<Request<Full<Bytes>>> {
        Some(request.clone())
    }
}
