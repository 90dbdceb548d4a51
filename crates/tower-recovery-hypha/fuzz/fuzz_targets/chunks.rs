#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tower_recovery_hypha::fuzzing::chunks(bytes));
