//! `make same-as` finds a change of behaviour and names the first message that differs. The change is a mutant: one
//! simulator, with and without it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "mutated_copy/tree.rs"]
mod tree;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use seaworthy_mutants::switch::VARIABLE;
use tree::{HOUSE, PACKAGES, TREE};

/// Compares a program with the simulator in which no mutant is on.
fn compare(base: &Path, ours: &Path) -> Output {
    let mut compare = Command::new(Path::new(HOUSE).join(".ci/same-as"));
    compare
        .args(["HEAD", "quick"])
        .env("BASE_TREE", HOUSE)
        .env("BASE_PROGRAM", base)
        .env("OUR_PROGRAM", ours);
    compare.output().unwrap()
}

/// Builds the simulator of the mutated copy. Some test has to be built with it: only then do the features count that tests need.
fn simulator() -> PathBuf {
    let built =
        TREE.programs(&[&["build"][..], &PACKAGES, &["--bin", "seaworthy", "--test", "same_as"]].concat());
    let mut programs = built.unwrap().into_iter().map(|(program, _)| program);
    programs.find(|program| program.ends_with("seaworthy")).expect("cargo built the simulator")
}

#[test]
fn a_planted_change_of_behaviour_is_found_and_named() {
    let simulator = simulator();
    let same = compare(&simulator, &simulator);
    assert!(same.status.success(), "{}", String::from_utf8_lossy(&same.stderr));
    assert!(String::from_utf8_lossy(&same.stdout).contains(" cases are equal"), "{same:?}");

    let changed = Path::new(env!("CARGO_TARGET_TMPDIR")).join("changed-simulator");
    let program = simulator.display();
    fs::write(&changed, format!("#!/bin/sh\n{VARIABLE}=budget-off-by-one exec '{program}' \"$@\"\n"))
        .unwrap();
    fs::set_permissions(&changed, fs::Permissions::from_mode(0o755)).unwrap();
    let differs = compare(&simulator, &changed);
    let said = String::from_utf8_lossy(&differs.stderr);
    assert_eq!(differs.status.code(), Some(1), "{said}");
    for part in ["differ, first: scenarios/", "  message ", "  base: ", "  ours: "] {
        assert!(said.contains(part), "no {part:?} in {said}");
    }
}
