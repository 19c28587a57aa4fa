//! Tests that need an engine with mutants. They make a mutated copy of the workspace, and the same tests run there.

pub(crate) mod tree;

use seaworthy_mutants::NAMES;
use tree::{PACKAGES, TREE};

/// This mutant, beside another one, switches the checks off, so that only the oracle judges.
pub(crate) const UNCHECKED: &str = "checks-left-out";

/// Runs the test `name` of `file` in the mutated copy, where it executes `test`.
pub(crate) fn run(file: &str, name: &str, test: impl FnOnce()) {
    if !NAMES.is_empty() {
        return test();
    }
    let mut cargo = TREE.cargo();
    cargo.args(["test", "--quiet"]).args(PACKAGES).args(["--test", file]);
    let status = cargo.args(["--", name, "--exact", "--nocapture"]).status().unwrap();
    assert!(status.success(), "{cargo:?}: {status}");
}
