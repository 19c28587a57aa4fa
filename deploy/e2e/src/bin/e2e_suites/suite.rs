//! Which suites there are, and in which order they start.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// Those that take minutes. They start first, so that none of them runs alone at the end.
const LONGEST_FIRST: [&str; 14] = [
    "storms",
    "operator_killed",
    "heal",
    "upgrade",
    "drains",
    "rollouts",
    "one_bad_host",
    "halts",
    "shared_drain",
    "gate_checks",
    "conformance_host",
    "life_of_a_service",
    "join",
    "interruptions",
];

/// What the tests inside the library are called here.
const LIBRARY: &str = "library";

/// The program of which each module is a suite.
const TESTSUITE: &str = "testsuite";

/// A test program, or one module of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Suite {
    pub(crate) name: String,
    pub(crate) program: PathBuf,
    /// The full names of the tests to run; empty means all tests of the program.
    pub(crate) tests: Vec<String>,
}

/// The suites of this crate among what cargo says it has built, in the order in which they are to start.
pub(crate) fn built(messages: &str) -> Result<Vec<Suite>> {
    let mut suites = Vec::new();
    for program in programs(messages) {
        if program.name == TESTSUITE {
            suites.extend(modules(&program, &listing(&program.program)?));
        } else {
            suites.push(program);
        }
    }
    suites.sort_by_key(|suite| (place(&suite.name), suite.name.clone()));
    Ok(suites)
}

/// The names of a program's tests, as the program prints them: `module::test: test`.
fn listing(program: &Path) -> Result<String> {
    let failed = || format!("cannot list the tests of {}", program.display());
    let output = Command::new(program).args(["--list", "--format", "terse"]).output().with_context(failed)?;
    ensure!(output.status.success(), "{}: {}", failed(), output.status);
    String::from_utf8(output.stdout).with_context(failed)
}

/// One suite for each module of a program.
fn modules(program: &Suite, listing: &str) -> Vec<Suite> {
    let mut modules = BTreeMap::<&str, Vec<String>>::new();
    for test in listing.lines().filter_map(|line| line.strip_suffix(": test")) {
        let module = test.split_once("::").map_or(test, |(module, _)| module);
        modules.entry(module).or_default().push(test.to_owned());
    }
    let suite =
        |(name, tests): (&str, _)| Suite { name: name.to_owned(), program: program.program.clone(), tests };
    modules.into_iter().map(suite).collect()
}

/// Those that were asked for, or all.
pub(crate) fn chosen(mut suites: Vec<Suite>, only: &[String]) -> Result<Vec<Suite>> {
    if let Some(unknown) = only.iter().find(|name| !suites.iter().any(|suite| suite.name == **name)) {
        let known = suites.iter().map(|suite| suite.name.as_str()).collect::<Vec<_>>().join(" ");
        bail!("there is no suite {unknown}; these were built: {known}");
    }
    suites.retain(|suite| only.is_empty() || only.contains(&suite.name));
    if suites.is_empty() {
        bail!("no suite was built");
    }
    Ok(suites)
}

/// The test programs of this crate among what cargo says it has built.
fn programs(messages: &str) -> Vec<Suite> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    messages.lines().filter_map(|line| program(line, &own)).collect()
}

fn program(message: &str, manifest: &Path) -> Option<Suite> {
    let message: Value = serde_json::from_str(message).ok()?;
    let is_ours = message["manifest_path"].as_str().map(Path::new) == Some(manifest);
    let is_test = message["reason"] == "compiler-artifact" && message["profile"]["test"] == true;
    if !is_ours || !is_test {
        return None;
    }
    let is_library = message["target"]["kind"] == serde_json::json!(["lib"]);
    let name = if is_library { LIBRARY } else { message["target"]["name"].as_str()? };
    let program = message["executable"].as_str()?.into();
    Some(Suite { name: name.to_owned(), program, tests: Vec::new() })
}

fn place(name: &str) -> usize {
    LONGEST_FIRST.iter().position(|long| *long == name).unwrap_or(LONGEST_FIRST.len())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(kind: &str, name: &str, is_test: bool) -> String {
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        json!({
            "reason": "compiler-artifact",
            "manifest_path": manifest,
            "target": {"kind": [kind], "name": name},
            "profile": {"test": is_test},
            "executable": format!("/target/{name}-1"),
        })
        .to_string()
    }

    #[test]
    fn the_test_programs_of_this_crate_are_suites_and_long_ones_start_first() {
        let of_others = message("test", "tidy", true).replace("deploy/e2e", "core/check");
        let messages = [
            "not JSON".to_owned(),
            message("bin", "e2e-up", false),
            message("bin", "cleanup", true),
            message("lib", "seaworthy_e2e", true),
            of_others,
            message("bin", "storms", true),
        ];
        let suites = built(&messages.join("\n")).unwrap();
        let names = suites.iter().map(|suite| suite.name.as_str()).collect::<Vec<_>>();
        assert_eq!(names, ["storms", "cleanup", "library"]);
        assert_eq!(suites[0].program, Path::new("/target/storms-1"));
    }

    #[test]
    fn each_module_of_the_testsuite_is_a_suite() {
        let programs = programs(&message("test", TESTSUITE, true));
        let listing =
            "heal::one: test\nheal::deep::two: test\njoin::one: test\nalone: test\nheal::speed: benchmark\n";
        let suites = modules(&programs[0], listing);
        let found = suites.iter().map(|suite| (suite.name.as_str(), suite.tests.join(" ")));
        let expected = [("alone", "alone"), ("heal", "heal::one heal::deep::two"), ("join", "join::one")];
        assert!(found.eq(expected.map(|(name, tests)| (name, tests.to_owned()))), "{suites:?}");
        assert!(suites.iter().all(|suite| suite.program == programs[0].program));
        let error = built(&message("test", TESTSUITE, true)).unwrap_err().to_string();
        assert_eq!(error, "cannot list the tests of /target/testsuite-1");
    }

    #[test]
    fn a_suite_that_does_not_exist_is_named_with_those_that_do() {
        let suites = built(&message("test", "cleanup", true)).unwrap();
        assert_eq!(chosen(suites.clone(), &[]).unwrap(), suites);
        assert_eq!(chosen(suites.clone(), &["cleanup".to_owned()]).unwrap(), suites);
        let error = chosen(suites, &["clean".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("no suite clean;") && error.ends_with("built: cleanup"), "{error}");
        assert!(chosen(Vec::new(), &[]).is_err());
    }

    #[test]
    fn the_long_suites_exist() {
        for name in LONGEST_FIRST {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(TESTSUITE);
            let file = folder.join(format!("{name}.rs"));
            assert!(file.is_file(), "{}", file.display());
        }
    }
}
