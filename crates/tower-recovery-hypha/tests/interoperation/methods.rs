//! What is called: methods within objects, methods that are not there, and wrong arguments.

use tower_recovery_hypha::{Call, CallError, Value};

use crate::hypha::{echoing, probe, with_hypha};

#[tokio::test]
async fn a_dot_leads_into_an_object_of_the_service() {
    with_hypha(async |hypha| {
        let client = hypha.client("nested-caller").await;
        let call = Call::new("arithmetic.of_two.add").arg(2).keyword("second", 3);
        assert_eq!(probe(&client).await.call_method(call).await.unwrap(), Value::from(5));
        client.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_method_with_a_dot_in_its_name_is_called_by_python_through_its_object() {
    with_hypha(async |hypha| {
        let client = hypha.client("nested").await;
        let service = echoing("nested").method("arithmetic.double", |call| async move {
            Ok(Value::from(2 * call.argument(0, "number").and_then(Value::as_i64).unwrap_or_default()))
        });
        client.offer(service).await.unwrap();
        let script = "async def main(server):\n\
                      \x20   service = await server.get_service('nested')\n\
                      \x20   return [await service.arithmetic.double(number=21), await service.echo(1)]\n";
        assert_eq!(hypha.user.run(script, []).await, Ok(Value::Array(vec![42.into(), 1.into()])));
        let url = format!("{}/ws-user-root/services/nested/arithmetic.double?number=4", hypha.server.url());
        assert_eq!(reqwest::get(url).await.unwrap().text().await.unwrap(), "8");
        client.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_method_that_is_not_there_is_told_from_one_that_fails() {
    with_hypha(async |hypha| {
        let client = hypha.client("unknown").await;
        client.offer(echoing("unknown")).await.unwrap();
        let probe = probe(&client).await;
        for method in ["nothing", "echo.nothing", "arithmetic.nothing.add", "arithmetic"] {
            let error = probe.call_method(Call::new(method)).await.unwrap_err();
            if method == "arithmetic" {
                assert!(matches!(&error, CallError::Remote(error) if error.kind() == "AssertionError"), "{error:?}");
                continue;
            }
            assert!(matches!(error, CallError::MethodNotFound { .. }), "{method}: {error:?}");
        }
        let script = "async def main(server):\n\
                      \x20   service = await server.get_service('unknown')\n\
                      \x20   service.echo.__rpc_object__['_rmethod'] = 'services.unknown.nothing'\n\
                      \x20   return await server.rpc._generate_remote_method(service.echo.__rpc_object__)(1)\n";
        let raised = hypha.user.run(script, []).await.unwrap_err();
        assert!(raised.text().contains("Method not found"), "{raised}");
        client.close().await;
    })
    .await;
}

#[tokio::test]
async fn wrong_arguments_are_a_type_error_of_pythons() {
    with_hypha(async |hypha| {
        let client = hypha.client("wrong-arguments").await;
        let probe = probe(&client).await;
        for call in [
            Call::new("two").arg(1),
            Call::new("two").arg(1).arg(2).arg(3),
            Call::new("two").arg(1).keyword("third", 3),
            Call::new("slow"),
        ] {
            let error = probe.call_method(call).await.unwrap_err();
            assert!(matches!(&error, CallError::Remote(error) if error.kind() == "TypeError"), "{error:?}");
        }
        client.close().await;
    })
    .await;
}
