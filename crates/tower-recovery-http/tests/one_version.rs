//! Errors are recognised by their type: with two versions of a library in the tree, those of one of them would be nobody's.

use std::path::Path;

#[test]
fn the_tree_holds_one_version_of_each_library_whose_errors_are_proofs() {
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
    let lock = std::fs::read_to_string(lock).expect("the workspace has its Cargo.lock");
    for name in ["h2", "hyper", "hyper-util", "rustls"] {
        let entry = format!("name = \"{name}\"");
        assert_eq!(lock.lines().filter(|line| *line == entry).count(), 1, "{name}");
    }
}
