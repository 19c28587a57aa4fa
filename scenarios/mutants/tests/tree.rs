//! A small workspace and its mutated copy.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use seaworthy_mutants::Tree;

const SOURCE: &str = "pub const fn less(a: u8, b: u8) -> bool {\n    a < b\n}\n";
const MUTANT: &str = "breaks: Equal numbers are less.\nedits:\n  - file: core/a/src/lib.rs\n    find: a < b\n    replace: |\n      a <= b\n";

/// A workspace of one crate that has one mutant, and room for its copy.
fn house(name: &str) -> (PathBuf, PathBuf) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    let house = folder.join("house");
    put(&house, "core/a/Cargo.toml", "[package]\nname = \"a\"\n\n[dependencies]\nb.workspace = true\n");
    put(&house, "core/a/src/lib.rs", SOURCE);
    put(&house, "core/b/Cargo.toml", "[dependencies]\n");
    put(&house, "scenarios/mutants/less-or-equal.yaml", MUTANT);
    put(&house, "scenarios/mutants/src/built_in.rs", "pub const NAMES: &[&str] = &[];\n");
    put(&house, "target/debug/a", "built");
    (house, folder.join("mutants"))
}

fn put(root: &Path, path: &str, text: &str) {
    fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
    fs::write(root.join(path), text).unwrap();
}

#[test]
fn a_copy_has_every_mutant_behind_a_condition() {
    let (house, folder) = house("copy");
    let tree = Tree::of_all(&house, &folder).unwrap();
    let read = |path: &str| fs::read_to_string(tree.root().join(path)).unwrap();
    let mutated = " fn less(a: u8, b: u8) -> bool { if ::seaworthy_mutants::is(0) {\n    a <= b\n} else {\n    a < b\n} }\n";
    assert_eq!(read("core/a/src/lib.rs"), format!("pub {mutated}"));
    assert!(
        read("core/a/Cargo.toml").ends_with("\nseaworthy-mutants.workspace = true\nb.workspace = true\n")
    );
    assert_eq!(read("core/b/Cargo.toml"), "[dependencies]\n");
    assert!(read("scenarios/mutants/src/built_in.rs").contains("\"less-or-equal\""));
    assert!(!tree.root().join("target").exists());
}

#[test]
fn a_copy_that_is_made_again_changes_where_the_workspace_did() {
    let (house, folder) = house("again");
    let tree = Tree::of_all(&house, &folder).unwrap();
    let written = |path: &str| fs::metadata(tree.root().join(path)).unwrap().modified().unwrap();
    let (source, manifest) = (written("core/a/src/lib.rs"), written("core/a/Cargo.toml"));
    put(&house, "core/a/Cargo.toml", "[package]\nname = \"a2\"\n\n[dependencies]\n");
    fs::remove_file(house.join("core/b/Cargo.toml")).unwrap();
    Tree::of_all(&house, &folder).unwrap();
    assert_eq!(written("core/a/src/lib.rs"), source);
    assert_ne!(written("core/a/Cargo.toml"), manifest);
    assert!(!tree.root().join("core/b/Cargo.toml").exists());
}

#[test]
fn a_mutant_that_does_not_fit_is_named() {
    let (house, folder) = house("unfit");
    put(&house, "core/a/src/lib.rs", "");
    let error = Tree::of_all(&house, &folder).unwrap_err();
    assert!(error.starts_with("less-or-equal: ") && error.contains("core/a/src/lib.rs"), "{error}");
}
