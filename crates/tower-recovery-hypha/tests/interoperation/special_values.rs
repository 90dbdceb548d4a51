//! What Python has and MessagePack has not: it comes as a map with a tag.

use std::time::Duration;

use tower_recovery_hypha::{Call, CallError, Value};

use crate::hypha::{assert_same, echoing, probe, with_hypha};

fn tag(value: &Value) -> Option<&str> {
    value["_rtype"].as_str()
}

#[tokio::test]
async fn what_only_python_has_comes_as_a_map_with_a_tag() {
    with_hypha(async |hypha| {
        let client = hypha.client("special").await;
        let probe = probe(&client).await;
        let special = async |kind: &str| probe.call_method(Call::new("special").arg(kind)).await.unwrap();

        let set = special("set").await;
        assert_eq!((tag(&set), &set["_rvalue"]), (Some("set"), &Value::Array(vec![1.into()])));
        let array = special("ndarray").await;
        assert_eq!((tag(&array), array["_rdtype"].as_str()), (Some("ndarray"), Some("int32")));
        assert_eq!(array["_rshape"], Value::Array(vec![2.into(), 3.into()]));
        assert_eq!(array["_rvalue"].as_slice().map(<[u8]>::len), Some(24));
        let error = special("error").await;
        assert_eq!((tag(&error), error["_rvalue"].as_str()), (Some("error"), Some("'x'")));
        let view = special("memoryview").await;
        assert_eq!((tag(&view), view["_rvalue"].as_slice()), (Some("memoryview"), Some(&b"abc"[..])));
        for kind in ["function", "callback"] {
            let function = special(kind).await;
            assert_eq!(
                (tag(&function), function["_rtarget"].as_str()),
                (Some("method"), Some("ws-user-root/provider")),
                "{kind}"
            );
        }
        assert_eq!(tag(&special("generator").await), Some("generator"));
        let nested = special("nested").await;
        assert_eq!(tag(&nested["list"][0]), Some("set"));
        assert_eq!(tag(&nested["list"][1]["deep"]), Some("set"));

        // Python makes of it what it was.
        for (value, shown) in [(&set, "{1}"), (&array, "array([[0, 1, 2],\n       [3, 4, 5]], dtype=int32)")] {
            let described = probe.call_method(Call::new("describe").arg(value.clone())).await.unwrap();
            assert_eq!(described[1].as_str(), Some(shown));
            assert_same(&probe.call_method(Call::new("echo").arg(value.clone())).await.unwrap(), value);
        }
        assert_eq!(client.malformed_frames(), 0);
        client.close().await;
    })
    .await;
}

#[tokio::test]
async fn rust_gives_back_what_only_python_has() {
    with_hypha(async |hypha| {
        let client = hypha.client("special-echo").await;
        client.offer(echoing("special-echo")).await.unwrap();
        // A callback lives as long as the call that it was given to, so it is only shown that it comes back.
        let script = "import numpy\n\
                      async def main(server):\n\
                      \x20   echo = (await server.get_service('special-echo')).echo\n\
                      \x20   array = numpy.arange(6.0).reshape(2, 3)\n\
                      \x20   back = await echo(array)\n\
                      \x20   callback = await echo(lambda value: value + 1)\n\
                      \x20   return [await echo({1, 2}) == {1, 2}, bool((back == array).all()) and back.dtype == array.dtype, \
                      callable(callback), bytes(await echo(memoryview(b'abc')))]\n";
        let back = hypha.user.run(script, []).await.unwrap();
        let expected = [true.into(), true.into(), true.into(), Value::Binary(b"abc".to_vec())];
        assert_eq!(back, Value::Array(expected.to_vec()));
        client.close().await;
    })
    .await;
}

/// `hypha-rpc` takes maps whose keys are texts, and drops a frame with others: the call is never answered.
#[tokio::test]
async fn a_map_with_numbers_for_keys_is_not_understood_by_python() {
    with_hypha(async |hypha| {
        let client = hypha.builder("numbered").answer_timeout(Duration::from_secs(1)).connect().await.unwrap();
        let numbered = Value::Map(vec![(1.into(), "one".into())]);
        let error = probe(&client).await.call_method(Call::new("echo").arg(numbered)).await.unwrap_err();
        assert!(matches!(error, CallError::TimedOut { .. }), "{error:?}");
        client.close().await;
    })
    .await;
}
