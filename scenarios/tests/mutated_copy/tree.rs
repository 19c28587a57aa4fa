//! The mutated copy of the workspace.

use std::path::Path;
use std::sync::LazyLock;

use seaworthy_mutants::Tree;

/// The root of the workspace.
pub(crate) const HOUSE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// What is built in the copy. Cargo chooses the features of libraries by the packages that are named: commands that name the same
/// ones share what is built.
pub(crate) const PACKAGES: [&str; 5] =
    ["--release", "--package", "seaworthy-scenarios", "--package", "seaworthy"];

/// The copy with all mutants that have files. It lies below cargo's target folder.
pub(crate) static TREE: LazyLock<Tree> = LazyLock::new(|| {
    let mutants = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("mutants");
    Tree::of_all(Path::new(HOUSE), &mutants).unwrap_or_else(|error| panic!("{error}"))
});
