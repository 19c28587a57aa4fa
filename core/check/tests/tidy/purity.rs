//! What the core cannot use, and what the builds must not contain.

use std::collections::BTreeMap;
use std::fs;

use seaworthy_mutants::rust;
use serde_json::Value;

use crate::tree::{self, File, Offence};

/// The crates that do without `std`, so that the compiler proves that they have no clock, file or socket.
const NO_STD: &[&str] = &["model", "engine", "check"];

/// The crates of `core/`, with the features under which they are examined.
const CORE: &[(&str, &str)] = &[("model", ""), ("engine", ""), ("check", ""), ("api", ""), ("api", "crd")];

/// No crate of `core/` depends on one of these: I/O, entropy, threads.
const NOT_IN_CORE: &[&str] = &[
    "async-std",
    "getrandom",
    "hyper",
    "kube-client",
    "kube-runtime",
    "mio",
    "rand",
    "rand_os",
    "rayon",
    "reqwest",
    "russh",
    "rustls",
    "smol",
    "socket2",
    "tokio",
    "ureq",
];

/// No code of `core/` names one of these. The crates without `std` could not; this is for `api`. Its programs (`src/bin`)
/// only hand over what the library made.
const NOT_NAMED_IN_CORE: &[&str] = &[
    "std::env",
    "std::fs",
    "std::net",
    "std::os",
    "std::process",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
    "std::sync::mpsc",
];

/// `make run` builds none of these: the first picture has to come fast.
const NOT_IN_SIMULATOR: &[&str] = &[
    "hyper",
    "k8s-openapi",
    "kube",
    "kube-client",
    "kube-core",
    "kube-derive",
    "kube-runtime",
    "ring",
    "russh",
    "rustls",
    "schemars",
];

/// What people run. None of it is built from a mutated copy of the engine.
const PROGRAMS: &[(&str, &str)] = &[
    ("seaworthy", "simulator/cli"),
    ("seaworthy-operator", "adapters/operator"),
    ("seaworthy-host", "adapters/host"),
];

/// The lock file contains none of these: there is one TLS stack, rustls with ring.
const NOWHERE: &[&str] = &["aws-lc-rs", "aws-lc-sys", "native-tls", "openssl", "openssl-sys"];

/// A line of `cargo tree`.
#[derive(Debug, PartialEq, Eq)]
struct Dependency {
    name: String,
    version: String,
    features: Vec<String>,
}

/// What `package` is built from. Procedural macros run in the compiler and are left out.
fn dependencies(package: &str, features: &str) -> Vec<Dependency> {
    parse(&tree::cargo(&[
        "tree",
        "--package",
        package,
        "--features",
        features,
        "--edges",
        "normal,no-proc-macro",
        "--prefix",
        "none",
        "--format",
        "{p}|{f}",
    ]))
}

fn parse(tree: &str) -> Vec<Dependency> {
    let dependency = |line: &str| {
        let (package, features) = line.trim_end().trim_end_matches(" (*)").split_once('|')?;
        let (name, rest) = package.split_once(" v")?;
        let version = rest.split(' ').next().unwrap_or(rest);
        let features = features.split(',').filter(|feature| !feature.is_empty()).map(str::to_owned).collect();
        Some(Dependency { name: name.to_owned(), version: version.to_owned(), features })
    };
    let mut found: Vec<Dependency> = tree.lines().filter_map(dependency).collect();
    found.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    found.dedup();
    found
}

fn offence(path: &str, what: String) -> Offence {
    Offence { path: path.to_owned(), line: 1, what }
}

fn declares_no_std(code: &str) -> bool {
    rust::attributes(code).iter().any(|(_, text)| *text == "#![no_std]")
}

/// Where `std` comes in through the code itself.
fn std_in(file: &File) -> Vec<Offence> {
    let outside = |&at: &usize| !rust::is_test(&file.code, at);
    let objection = "brings in std outside tests: use core and alloc, and take from outside as an argument";
    let found = file.code.match_indices("extern crate std").map(|(at, _)| at).filter(outside);
    found.map(|at| file.offence(rust::line_of(&file.code, at), objection)).collect()
}

#[test]
fn the_inner_core_declares_no_std() {
    let mut offences = Vec::new();
    for name in NO_STD {
        let path = format!("core/{name}/src/lib.rs");
        let root = tree::file(tree::files(), &path).unwrap_or_else(|| panic!("{path} cannot be read"));
        if !declares_no_std(&root.code) {
            offences.push(root.offence(1, "must begin with `#![no_std]`, without a condition"));
        }
        let inside = tree::files().iter().filter(|file| file.path.starts_with(&format!("core/{name}/src/")));
        offences.extend(inside.filter(|file| file.is_rust()).flat_map(std_in));
    }
    tree::assert_none(&offences);
}

/// A dependency that uses `std` has clocks and files at hand, whatever the crate that uses it declares.
#[test]
fn the_inner_core_depends_on_nothing_that_uses_std() {
    let sources = library_sources();
    let mut offences = Vec::new();
    for name in NO_STD {
        let manifest = format!("core/{name}/Cargo.toml");
        for Dependency { name: dependency, version, features } in
            dependencies(&format!("seaworthy-{name}"), "")
        {
            if features.iter().any(|feature| feature == "std") {
                let what = format!(
                    "{dependency} {version} has its feature `std` on: switch it off in the root Cargo.toml"
                );
                offences.push(offence(&manifest, what));
            }
            let source = sources.get(&(dependency.clone(), version.clone()));
            let source = source.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
            if !rust::mask(&source).contains("no_std") {
                let what = format!("{dependency} {version} does not do without std: choose another crate");
                offences.push(offence(&manifest, what));
            }
        }
    }
    tree::assert_none(&offences);
}

/// The root source of every library that the workspace may use, by name and version.
fn library_sources() -> BTreeMap<(String, String), String> {
    let metadata: Value =
        serde_json::from_str(&tree::cargo(&["metadata", "--format-version=1"])).expect("cargo prints JSON");
    let library = |package: &Value| {
        let targets = package["targets"].as_array()?;
        let library = targets
            .iter()
            .find(|target| target["kind"][0].as_str().is_some_and(|kind| kind.ends_with("lib")))?;
        let key = (package["name"].as_str()?.to_owned(), package["version"].as_str()?.to_owned());
        Some((key, library["src_path"].as_str()?.to_owned()))
    };
    metadata["packages"].as_array().into_iter().flatten().filter_map(library).collect()
}

/// Where the code of a file in `core/` names the outside.
fn outside_in(file: &File) -> Vec<Offence> {
    let code = &file.code;
    let in_groups = |path: &'static str| {
        let inner = path.trim_start_matches("std::");
        let groups = code
            .match_indices("use std::{")
            .map(|(at, _)| (at, code[at..].split(';').next().unwrap_or_default()));
        groups.flat_map(move |(start, group)| rust::words(group, inner).map(move |at| start + at))
    };
    let named = NOT_NAMED_IN_CORE
        .iter()
        .flat_map(|&name| rust::words(code, name).chain(in_groups(name)).map(move |at| (at, name)));
    let found = named.filter(|(at, _)| !rust::is_test(&file.code, *at));
    let objection =
        |name| format!("names `{name}`: the core takes it as an argument, or orders it as an effect");
    found.map(|(at, name)| file.offence(rust::line_of(&file.code, at), objection(name))).collect()
}

#[test]
fn the_core_reaches_no_io() {
    let is_core = |file: &&File| {
        let mut parts = file.path.splitn(4, '/');
        file.is_rust()
            && (parts.next(), parts.nth(1)) == (Some("core"), Some("src"))
            && parts.next().is_some_and(|rest| !rest.starts_with("bin/"))
    };
    let mut offences: Vec<_> = tree::files().iter().filter(is_core).flat_map(outside_in).collect();
    for (name, features) in CORE {
        let found = dependencies(&format!("seaworthy-{name}"), features);
        assert!(found.len() > 3, "cargo tree of core/{name} was not understood: {found:?}");
        offences.extend(among(&found, NOT_IN_CORE, &format!("core/{name}/Cargo.toml"), features));
    }
    tree::assert_none(&offences);
}

#[test]
fn what_make_run_builds_is_light() {
    let found = dependencies("seaworthy", "");
    assert!(found.iter().any(|dependency| dependency.name == "seaworthy"), "{found:?}");
    tree::assert_none(&among(&found, NOT_IN_SIMULATOR, "simulator/cli/Cargo.toml", ""));
}

#[test]
fn nothing_that_people_run_contains_mutants() {
    let mut offences = Vec::new();
    for (package, room) in PROGRAMS {
        if dependencies(package, "").iter().any(|dependency| dependency.name == "seaworthy-mutants") {
            let what = "depends on seaworthy-mutants, which only the copy that tests make may";
            offences.push(offence(&format!("{room}/Cargo.toml"), what.into()));
        }
    }
    tree::assert_none(&offences);
}

fn among(found: &[Dependency], banned: &[&str], manifest: &str, features: &str) -> Vec<Offence> {
    let is_banned = |dependency: &&Dependency| banned.contains(&dependency.name.as_str());
    let what = |dependency: &Dependency| {
        let with = if features.is_empty() { String::new() } else { format!(" with feature {features}") };
        let name = &dependency.name;
        format!(
            "depends{with} on {name}, which it must not: `cargo tree --edges normal --invert {name}` shows why"
        )
    };
    found.iter().filter(is_banned).map(|dependency| offence(manifest, what(dependency))).collect()
}

#[test]
fn there_is_one_tls_stack() {
    let lock = tree::file(tree::files(), "Cargo.lock").expect("Cargo.lock is part of the tree");
    tree::assert_none(&locked(lock));
}

fn locked(lock: &File) -> Vec<Offence> {
    let banned = |line: &str| {
        let name = line.strip_prefix("name = \"")?.strip_suffix('"')?;
        NOWHERE
            .contains(&name)
            .then(|| format!("{name}: switch on the feature `ring` of whoever asks for it instead"))
    };
    let numbered = lock.text.lines().zip(1..);
    numbered.filter_map(|(line, number)| Some(lock.offence(number, banned(line)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_cargo_tree_is_understood() {
        let tree = "a v0.1.0 (/r/core/a)|\nserde v1.0.2|alloc,std\nserde v1.0.2|alloc,std (*)\n\nb v2.0.0|\n";
        let found = parse(tree);
        assert_eq!(found.len(), 3);
        assert_eq!(
            (found[0].name.as_str(), found[0].version.as_str(), found[0].features.len()),
            ("a", "0.1.0", 0)
        );
        assert_eq!(found[2].features, ["alloc", "std"]);
        assert_eq!(among(&found, &["serde"], "core/a/Cargo.toml", "").len(), 1);
    }

    #[test]
    fn std_is_found_outside_tests() {
        let file = |text| std_in(&File::new("core/model/src/a.rs", text)).len();
        assert_eq!(file("fn a() {}\nextern crate std;"), 1);
        assert_eq!(file("#[cfg(test)]\nextern crate std;\nfn a() {}"), 0);
        assert_eq!(file("#[cfg(test)]\nmod tests { extern crate std; }\n// extern crate std"), 0);
        assert!(declares_no_std("#![no_std]"));
        assert!(!declares_no_std("#![cfg_attr(not(test), no_std)]"));
    }

    #[test]
    fn the_outside_is_found_in_code_and_not_in_tests() {
        let lines = |text| outside_in(&File::new("core/api/src/a.rs", text)).len();
        assert_eq!(lines("use std::fs;\nlet t = std::time::SystemTime::now();"), 2);
        assert_eq!(
            lines("use std::time::Duration;\n// std::fs\n#[cfg(test)]\nmod tests { use std::fs; }"),
            0
        );
    }

    #[test]
    fn a_second_tls_stack_is_found() {
        let lock = "[[package]]\nname = \"aws-lc-rs\"\n[[package]]\nname = \"ring\"\n";
        let found = locked(&File::new("Cargo.lock", lock));
        assert_eq!(found.iter().map(|offence| offence.line).collect::<Vec<_>>(), [2]);
    }
}
