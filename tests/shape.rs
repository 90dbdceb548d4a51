//! The shape of the layers, shown on real leaves: six stacks that compile, run, and lose no call and repeat no write.
//!
//! Each is `ReadOnlyRetryLayer > ReresolveLayer > ClassifyLayer > AttemptTimeoutLayer > Dispatch` over a client that people use, against a
//! real server on a loopback socket (the fourth: a registry in memory). For each: the first handle is dead and a write is
//! recovered on the second by one re-resolve; a write that may have executed surfaces as that and is executed once; a read is repeated;
//! and the stack is cloned, sent, erased and called through one type. The sixth has tower's own layers above and in between.

mod shape {
    mod foreign_layers;
    #[rustfmt::skip]
    #[allow(unreachable_pub, unused_qualifications, reason = "generated")]
    mod greeter;
    mod greeter_is_current;
    mod http_server;
    mod legacy_client;
    mod openai_client;
    mod reqwest_client;
    mod rpc_enum;
    mod rpc_protocol;
    mod support;
    mod tonic_client;
    mod tonic_hand_back;
    mod tonic_server;
}
