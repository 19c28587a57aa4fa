//! Tests that need an engine with mutants. They make a mutated copy of the workspace below cargo's target folder, and the
//! same tests run there.

use std::path::Path;
use std::sync::LazyLock;

use seaworthy_mutants::{NAMES, Tree};

/// The root of the workspace.
pub(crate) const HOUSE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// This mutant, beside another one, switches the checks off, so that only the oracle judges.
pub(crate) const UNCHECKED: &str = "checks-left-out";

static TREE: LazyLock<Tree> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("mutants").join("named");
    Tree::of_all(Path::new(HOUSE), &folder).unwrap_or_else(|error| panic!("{error}"))
});

/// Runs the test `name` of `file` in the mutated copy, where it executes `test`.
pub(crate) fn run(file: &str, name: &str, test: impl FnOnce()) {
    if !NAMES.is_empty() {
        return test();
    }
    let mut cargo = TREE.cargo();
    cargo.args(["test", "--quiet", "--release", "--package", "seaworthy-scenarios", "--test", file]);
    let status = cargo.args(["--", name, "--exact", "--nocapture"]).status().unwrap();
    assert!(status.success(), "{cargo:?}: {status}");
}
