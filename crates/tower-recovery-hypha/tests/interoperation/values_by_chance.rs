//! Values that nobody thought of, both ways over one connection.

use std::collections::BTreeMap;

use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use tower_recovery_hypha::{Call, Value};

use crate::hypha::{echoing, encoded, probe, with_hypha};

const CASES: usize = 100;

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Nil),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        prop::collection::vec(any::<u8>(), 0..300).prop_map(Value::Binary),
    ];
    leaf.prop_recursive(5, 64, 8, |inner| {
        // Names that begin with an underscore mean something to hypha-rpc.
        let name = "[^_]{0,8}";
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::Array),
            prop::collection::btree_map(name, inner, 0..8).prop_map(in_order),
        ]
    })
}

fn in_order(map: BTreeMap<String, Value>) -> Value {
    Value::Map(map.into_iter().map(|(name, value)| (name.into(), value)).collect())
}

#[tokio::test]
async fn any_value_comes_back_as_it_was_sent() {
    with_hypha(async |hypha| {
        let client = hypha.client("by-chance").await;
        client.offer(echoing("by-chance")).await.unwrap();
        let probe = probe(&client).await;
        let mut runner = TestRunner::deterministic();
        for _ in 0..CASES {
            let sent = value().new_tree(&mut runner).unwrap().current();
            let from_python = probe.call_method(Call::new("echo").arg(sent.clone())).await.unwrap();
            let from_rust = hypha.user.call("by-chance", "echo", [sent.clone()], []).await.unwrap();
            assert_eq!(encoded(&from_python), encoded(&sent), "{sent} came back from Python as {from_python}");
            assert_eq!(encoded(&from_rust), encoded(&sent), "{sent} came back from Rust as {from_rust}");
        }
        assert_eq!(client.malformed_frames(), 0);
        client.close().await;
    })
    .await;
}
