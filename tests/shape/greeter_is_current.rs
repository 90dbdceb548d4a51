//! Shows that the committed `greeter.rs` is what `greeter.proto` generates, without `protoc`: protox compiles the descriptors and
//! tonic-prost-build writes the code. `RENEW_GREETER=1 cargo test --test shape greeter_rs` writes it anew.

use std::{env, fs, path::Path};

#[test]
fn greeter_rs_is_what_greeter_proto_generates() {
    let shape = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shape");
    let committed = shape.join("greeter.rs");

    let descriptors = protox::compile(["greeter.proto"], [&shape]).unwrap();
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("greeter");
    fs::create_dir_all(&scratch).unwrap();
    tonic_prost_build::configure()
        .build_transport(false)
        .emit_rerun_if_changed(false)
        .out_dir(&scratch)
        .compile_fds(descriptors)
        .unwrap();
    let generated = fs::read_to_string(scratch.join("greeter.rs")).unwrap();

    if env::var_os("RENEW_GREETER").is_some() {
        fs::write(&committed, &generated).unwrap();
    }
    assert!(
        fs::read_to_string(&committed).unwrap_or_default() == generated,
        "tests/shape/greeter.rs is out of date: run `RENEW_GREETER=1 cargo test --test shape greeter_rs` and commit it"
    );
}
