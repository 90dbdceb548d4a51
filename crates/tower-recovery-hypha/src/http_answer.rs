//! What an answer of Hypha's HTTP API proves.

use http::StatusCode;
use serde::Deserialize;
use tower_recovery::Verdict;

/// The words of the server, version 0.21.137, as far as they do not name the callee.
const ENTRY_REMOVED: &str = "KeyError: 'Service not available (corrupted entry was removed, please retry)'";
const LOOK_UP_TIMED_OUT: &str = "RemoteException: TimeoutError";
const CALL_TIMED_OUT: &str = "TimeoutError: Method call timed out: ";

/// Says what an answer of Hypha's HTTP API proves (`/workspace/services/client:service/method`), or `None` where it is an answer like any other. `peer` is whom the request named, `workspace/client`,
/// and `service` the name of its service there: what [`RemoteService`](crate::RemoteService) tells of itself.
///
/// | status | what it says | proves | indicts the handle |
/// |---|---|---|---|
/// | 404 | the registry knows no such service, this very one | maybe sent | yes |
/// | 404 | its entry in the registry was of no use, and is removed | maybe sent | yes |
/// | 500 | this very client is not connected | maybe sent | yes |
/// | 500 | a look-up was not answered (`TimeoutError`, without a text) | maybe sent | yes |
/// | 504 | the method, or a look-up, was not answered | maybe sent | if it was this client's method |
/// | any | anything else: another service that is not found, an application's errors, no such method | answered | |
///
/// None of them is proof that the request was not executed, although the server asks its registry before it passes a request on: it gives an error of the method's in the same words as its own. A method
/// that raises a `KeyError`, or lets one pass that it got itself, gives byte for byte the body that the server gives for a service that it does not know.
///
/// It knows nothing of a proxy before the server. Ask a classifier of HTTP for all else: this is for a classifier of your own that asks both.
///
/// # Examples
///
/// ```
/// use http::StatusCode;
/// use tower_recovery::Verdict;
/// use tower_recovery_hypha::http_verdict;
///
/// let gone = br#"{"success":false,"detail":"RemoteException: KeyError: 'Service not found: ws/store-1:store@*'"}"#;
/// assert_eq!(http_verdict(StatusCode::NOT_FOUND, gone, "ws/store-1", "store"), Some(Verdict::maybe_sent().stale()));
///
/// let unknown = br#"{"success":false,"detail":"RemoteException: KeyError: 'no such artifact'"}"#;
/// assert_eq!(http_verdict(StatusCode::NOT_FOUND, unknown, "ws/store-1", "store"), None);
/// ```
#[must_use]
pub fn http_verdict(status: StatusCode, body: &[u8], peer: &str, service: &str) -> Option<Verdict> {
    if !matches!(status, StatusCode::NOT_FOUND | StatusCode::INTERNAL_SERVER_ERROR | StatusCode::GATEWAY_TIMEOUT) {
        return None;
    }
    let refusal: Refusal = serde_json::from_slice(body).ok()?;
    if refusal.success {
        return None;
    }
    // A server that is told to show tracebacks says it in their last line.
    let said = refusal.detail.trim_end().lines().next_back()?.trim();
    let is_unreachable = match status {
        StatusCode::NOT_FOUND => {
            let not_found = format!("KeyError: 'Service not found: {peer}:{service}@*'");
            said.ends_with(&not_found) || said.ends_with(ENTRY_REMOVED)
        }
        StatusCode::INTERNAL_SERVER_ERROR => {
            said.ends_with(&format!("Target peer {peer} is not connected")) || said == LOOK_UP_TIMED_OUT
        }
        _ => {
            let call = said.strip_prefix(CALL_TIMED_OUT)?;
            if !call.starts_with(&format!("{peer}:")) {
                return Some(Verdict::maybe_sent());
            }
            true
        }
    };
    is_unreachable.then(|| Verdict::maybe_sent().stale())
}

#[derive(Deserialize)]
struct Refusal {
    success: bool,
    detail: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(status: u16, detail: &str) -> Option<Verdict> {
        let body = serde_json::json!({ "success": false, "detail": detail }).to_string();
        http_verdict(StatusCode::from_u16(status).unwrap(), body.as_bytes(), "ws/store-1", "store")
    }

    const UNREACHABLE: Option<Verdict> = Some(Verdict::maybe_sent().stale());

    #[test]
    fn a_server_that_cannot_reach_this_very_service_may_have_passed_the_request_on() {
        for (status, detail) in [
            (404, "RemoteException: KeyError: 'Service not found: ws/store-1:store@*'"),
            (404, "RemoteException: KeyError: 'Service not available (corrupted entry was removed, please retry)'"),
            (
                500,
                "RemoteException: Exception: Failed to send the request when calling method (ws/store-1:services.built-in.get_service), error: Target peer ws/store-1 is not connected",
            ),
            (500, "RemoteException: TimeoutError"),
            (504, "TimeoutError: Method call timed out: ws/store-1:services.store.read, context: method: …"),
            (
                404,
                "Traceback (most recent call last):\n  File \"a.py\", line 1\nhypha_rpc.rpc.RemoteException: Traceback\nKeyError: 'Service not found: ws/store-1:store@*'\n\n",
            ),
        ] {
            assert_eq!(verdict(status, detail), UNREACHABLE, "{status} {detail}");
        }
    }

    #[test]
    fn an_error_of_the_application_is_an_answer() {
        for (status, detail) in [
            (404, "RemoteException: KeyError: 'x'"),
            (404, "RemoteException: KeyError: 'Service not found: ws/other:store@*'"),
            (404, "RemoteException: KeyError: 'Service not found: ws/store-1:store@app'"),
            (404, "RemoteException: KeyError: 'Service not found: ws/store-1:store@*, and more'"),
            (404, "RemoteException: Exception: Service not found: ws/store-1:store@*"),
            (404, "read not found."),
            (500, "RemoteException: TimeoutError: the bucket does not answer"),
            (500, "RemoteException: Exception: Target peer ws/other is not connected"),
            (500, "RemoteException: Exception: Target peer ws/store-1 is not connected, said the store"),
            (500, "RemoteException: TimeoutError: Method call timed out: ws/store-1:services.store.read"),
            (403, "RemoteException: KeyError: 'Service not found: ws/store-1:store@*'"),
            (400, "RemoteException: TimeoutError"),
        ] {
            assert_eq!(verdict(status, detail), None, "{status} {detail}");
        }
    }

    #[test]
    fn a_look_up_that_was_not_answered_says_nothing_of_the_callee() {
        let detail = "TimeoutError: Method call timed out: ws/manager:services.default.get_service, context: …";
        assert_eq!(verdict(504, detail), Some(Verdict::maybe_sent()));
    }

    #[test]
    fn what_the_server_does_not_say_is_no_word_of_it() {
        let verdict = |status: StatusCode, body: &[u8]| http_verdict(status, body, "ws/store-1", "store");
        let success = br#"{"success":true,"detail":"RemoteException: TimeoutError"}"#;
        for body in [b"".as_slice(), b"<html>504</html>", b"\"RemoteException: TimeoutError\"", b"{}", success] {
            for status in [StatusCode::NOT_FOUND, StatusCode::INTERNAL_SERVER_ERROR, StatusCode::GATEWAY_TIMEOUT] {
                assert_eq!(verdict(status, body), None, "{status} {body:?}");
            }
        }
        // An application's own result may look like anything.
        let answer = br#"{"success":false,"detail":"RemoteException: TimeoutError"}"#;
        assert_eq!(verdict(StatusCode::OK, answer), None);
    }
}
