//! Every kind of value, both ways.

use tower_recovery_hypha::{Call, Value};

use crate::hypha::{assert_same, echoing, map, probe, with_hypha};

/// With how Python shows them.
fn values() -> Vec<(Value, &'static str)> {
    let list = |values: &[Value]| Value::Array(values.to_vec());
    vec![
        (Value::Nil, "None"),
        (true.into(), "True"),
        (false.into(), "False"),
        (0.into(), "0"),
        (1.into(), "1"),
        ((-1).into(), "-1"),
        ((-33).into(), "-33"),
        (255.into(), "255"),
        (i64::MIN.into(), "-9223372036854775808"),
        (i64::MAX.into(), "9223372036854775807"),
        (u64::MAX.into(), "18446744073709551615"),
        (0.0.into(), "0.0"),
        ((-0.0).into(), "-0.0"),
        (1.0.into(), "1.0"),
        (0.1.into(), "0.1"),
        (f64::MAX.into(), "1.7976931348623157e+308"),
        (f64::from_bits(1).into(), "5e-324"),
        (f64::INFINITY.into(), "inf"),
        (f64::NEG_INFINITY.into(), "-inf"),
        (f64::NAN.into(), "nan"),
        ("".into(), "''"),
        ("a\u{0}b\n".into(), r"'a\x00b\n'"),
        ("Grüße, 世界 🦀".into(), "'Grüße, 世界 🦀'"),
        (Value::Binary(vec![]), "b''"),
        (Value::Binary(vec![0]), r"b'\x00'"),
        (Value::Binary(vec![0, 255, 128]), r"b'\x00\xff\x80'"),
        (list(&[]), "[]"),
        (list(&[1.into(), "1".into(), list(&[Value::Nil, 0.5.into()])]), "[1, '1', [None, 0.5]]"),
        (map([]), "{}"),
        (map([("", 1.into())]), "{'': 1}"),
        (
            map([("a", map([("b", list(&[map([("ü", true.into())])]))])), ("c", 1.into())]),
            "{'a': {'b': [{'ü': True}]}, 'c': 1}",
        ),
    ]
}

/// As long as that, of which no two parts are the same.
fn bytes(length: usize) -> Value {
    let mut bytes = vec![0; length];
    fastrand::Rng::with_seed(length as u64).fill(&mut bytes);
    Value::Binary(bytes)
}

/// About where a message becomes one of pieces: 256 KiB, and 512 or 1024 bytes for what stands around the value.
fn lengths() -> impl Iterator<Item = usize> {
    const KIB: usize = 1024;
    let exact = [255 * KIB, 256 * KIB - 1, 256 * KIB, 256 * KIB + 1, 257 * KIB, 512 * KIB, 512 * KIB + 1, 1024 * KIB];
    let around = [400, 450, 470, 480, 490, 500, 505, 510, 512, 600, 700, 750, 800, 850, 900, 1000, 1023, 1024, 1025];
    exact.into_iter().chain(around.map(|over| 256 * KIB + over))
}

#[tokio::test]
async fn python_sees_each_value_as_it_was_sent_and_it_comes_back_so() {
    with_hypha(async |hypha| {
        let client = hypha.client("values-caller").await;
        let probe = probe(&client).await;
        for (value, shown) in values() {
            let described = probe.call_method(Call::new("describe").arg(value.clone())).await.unwrap();
            assert_eq!(described[1].as_str(), Some(shown));
            let back = probe.call_method(Call::new("echo").arg(value.clone())).await.unwrap();
            assert_same(&back, &value);
        }
        client.close().await;
    })
    .await;
}

#[tokio::test]
async fn rust_gives_back_each_value_of_pythons_as_it_was_sent() {
    with_hypha(async |hypha| {
        let client = hypha.client("values-echo").await;
        client.offer(echoing("values-echo")).await.unwrap();
        let (values, shown): (Vec<_>, Vec<_>) = values().into_iter().unzip();
        let script = "async def main(server, values):\n\
                      \x20   service = await server.get_service('values-echo')\n\
                      \x20   return [repr(await service.echo(value)) for value in values]\n";
        let back = hypha.user.run(script, [("values", Value::Array(values.clone()))]).await.unwrap();
        let back: Vec<_> = back.as_array().unwrap().iter().map(|back| back.as_str().unwrap().to_owned()).collect();
        assert_eq!(back, shown);
        for value in values {
            let back = hypha.user.call("values-echo", "echo", [value.clone()], []).await.unwrap();
            assert_same(&back, &value);
        }
        client.close().await;
    })
    .await;
}

#[tokio::test]
async fn long_texts_and_bytes_come_back_from_python_also_at_the_length_of_a_piece() {
    with_hypha(async |hypha| {
        let client = hypha.client("lengths-caller").await;
        let probe = probe(&client).await;
        for length in lengths() {
            let value = bytes(length);
            let back = probe.call_method(Call::new("echo").arg(value.clone())).await.unwrap();
            assert!(back == value, "{length} bytes came back as others");
        }
        let text = Value::from("ü".repeat(512 * 1024));
        assert!(probe.call_method(Call::new("echo").arg(text.clone())).await.unwrap() == text);
        assert_eq!(client.malformed_frames(), 0);
        client.close().await;
    })
    .await;
}

#[tokio::test]
async fn long_texts_and_bytes_come_back_from_rust_also_at_the_length_of_a_piece() {
    with_hypha(async |hypha| {
        let client = hypha.client("lengths-echo").await;
        client.offer(echoing("lengths-echo")).await.unwrap();
        let script = "async def main(server, lengths):\n\
                      \x20   service = await server.get_service('lengths-echo')\n\
                      \x20   values = [(bytes(range(251)) * (length // 251 + 1))[:length] for length in lengths] + ['ü' * 512 * 1024]\n\
                      \x20   return [len(value) for value in values if await service.echo(value) != value]\n";
        let lengths = Value::Array(lengths().map(Value::from).collect());
        let differ = hypha.user.run(script, [("lengths", lengths)]).await.unwrap();
        assert_eq!(differ, Value::Array(vec![]));
        assert_eq!(client.malformed_frames(), 0);
        client.close().await;
    })
    .await;
}

#[tokio::test]
async fn arguments_by_position_and_by_name_arrive_as_such_both_ways() {
    with_hypha(async |hypha| {
        let client = hypha.client("arguments").await;
        let probe = probe(&client).await;
        client.offer(echoing("arguments")).await.unwrap();
        let all = |args: &[Value], kwargs: &[(&'static str, Value)]| {
            map([("args", Value::Array(args.to_vec())), ("kwargs", map(kwargs.iter().cloned()))])
        };
        let long = bytes(300 * 1024);
        let cases = [
            (vec![], Vec::<(&str, Value)>::new()),
            (vec![1.into(), Value::Nil], vec![]),
            (vec![], vec![("when", "now".into())]),
            (vec![1.into(), map([])], vec![("when", "now".into()), ("ü", Value::Nil)]),
            // A map at the end is no map of names.
            (vec![map([("when", "now".into())])], vec![]),
            (vec![long.clone()], vec![("when", long)]),
        ];
        for (args, kwargs) in cases {
            let call = args.iter().fold(Call::new("echo_all"), |call, value| call.arg(value.clone()));
            let call = kwargs.iter().fold(call, |call, (name, value)| call.keyword(name, value.clone()));
            assert_same(&probe.call_method(call).await.unwrap(), &all(&args, &kwargs));
            let back = hypha.user.call("arguments", "echo_all", args.clone(), kwargs.clone()).await.unwrap();
            assert_same(&back, &all(&args, &kwargs));
        }
        client.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_tuple_arrives_as_a_list() {
    with_hypha(async |hypha| {
        let client = hypha.client("tuples").await;
        let tuple = probe(&client).await.call_method(Call::new("special").arg("tuple")).await.unwrap();
        let inner = Value::Array(vec![2.into(), "three".into()]);
        assert_eq!(tuple, Value::Array(vec![1.into(), inner]));
        client.close().await;
    })
    .await;
}
