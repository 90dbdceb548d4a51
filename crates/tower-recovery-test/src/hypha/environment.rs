//! Where the Python of the server and of its clients is.

use std::{env, fs, path::PathBuf};

use crate::process::skip;

/// The interpreter that `.ci/hypha` has installed everything for; `None` where it did not, and says so.
pub(super) fn python() -> Option<PathBuf> {
    let test = env::current_exe().unwrap_or_default();
    // The target directory is above the test. A variable may be relative to another directory than the test's, so it comes second.
    let above = test.ancestors().map(PathBuf::from);
    let named = env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let found = above.chain(named).map(|directory| directory.join("hypha")).find(|directory| {
        // Written last.
        directory.join("installed").is_file()
    });
    if found.is_none() {
        skip("the Hypha server is not installed in the target directory: `.ci/hypha` installs it");
    }
    // A symbolic link would lead out of the environment, so only the directory is made absolute.
    found.and_then(|directory| fs::canonicalize(directory).ok()).map(|directory| directory.join("venv/bin/python"))
}
