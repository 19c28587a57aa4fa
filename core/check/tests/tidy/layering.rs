//! Who may import whom, and how crates are named.

use serde_json::Value;

use crate::tree::{self, File, Offence};

/// What a room may import. `x/*` stands for every room in `x`.
struct Rule {
    room: &'static str,
    /// For its own code.
    imports: &'static [&'static str],
    /// For its tests in addition (dev-dependencies).
    tests: &'static [&'static str],
    /// Only behind a feature that is off by default (optional dependencies).
    optional: &'static [&'static str],
}

/// The first rule whose room matches holds. A room that no rule names is an offence, and so is an import that its rule
/// does not name.
const RULES: &[Rule] = &[
    Rule { room: "core/model", imports: &[], tests: &[], optional: &[] },
    Rule { room: "core/api", imports: &["core/model"], tests: &[], optional: &[] },
    Rule { room: "core/engine", imports: &["core/model"], tests: &["core/check"], optional: &[] },
    Rule {
        room: "core/check",
        imports: &["core/model", "core/engine"],
        tests: &["scenarios/mutants"],
        optional: &[],
    },
    Rule { room: "adapters/*", imports: &["core/*", "adapters/*"], tests: &["simulator/*"], optional: &[] },
    Rule { room: "simulator/kernel", imports: &["core/model"], tests: &[], optional: &[] },
    Rule {
        room: "simulator/cli",
        imports: &["core/*", "simulator/*"],
        tests: &[],
        optional: &["adapters/kube"],
    },
    Rule { room: "simulator/*", imports: &["core/*", "simulator/*"], tests: &[], optional: &[] },
    Rule { room: "scenarios/mutants", imports: &[], tests: &[], optional: &[] },
    Rule {
        room: "scenarios",
        imports: &["core/*", "simulator/*", "scenarios/mutants"],
        tests: &[],
        optional: &[],
    },
    Rule { room: "benches", imports: &["core/*", "simulator/*"], tests: &[], optional: &[] },
    // It knows programs only as files.
    Rule { room: "deploy/image", imports: &[], tests: &[], optional: &[] },
    // The outermost room: real parts for tests. It may use everything, and nothing but a test may use it.
    Rule {
        room: "deploy/e2e",
        imports: &["core/*", "adapters/*", "simulator/*", "deploy/image"],
        tests: &[],
        optional: &[],
    },
];

/// A dependency of one room on another.
#[derive(Debug, Default)]
struct Import {
    room: String,
    on: String,
    test: bool,
    optional: bool,
}

#[derive(Debug)]
struct Package {
    name: String,
    room: String,
    imports: Vec<Import>,
    runs_at_build: bool,
}

fn packages(metadata: &Value) -> Vec<Package> {
    let root = metadata["workspace_root"].as_str().unwrap_or_default();
    let below_root = |path: &str| path.strip_prefix(root).map(|path| path.trim_start_matches('/').to_owned());
    let package = |package: &Value| {
        let folder = package["manifest_path"].as_str()?.strip_suffix("/Cargo.toml")?;
        let room = below_root(folder)?;
        let import = |dependency: &Value| {
            Some(Import {
                room: room.clone(),
                on: below_root(dependency["path"].as_str()?)?,
                test: dependency["kind"].as_str() == Some("dev"),
                optional: dependency["optional"].as_bool() == Some(true),
            })
        };
        let is_build = |target: &Value| target["kind"][0].as_str() == Some("custom-build");
        Some(Package {
            name: package["name"].as_str()?.to_owned(),
            imports: list(&package["dependencies"]).iter().filter_map(import).collect(),
            runs_at_build: list(&package["targets"]).iter().any(is_build),
            room,
        })
    };
    list(&metadata["packages"]).iter().filter_map(package).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn matches(pattern: &str, room: &str) -> bool {
    match pattern.strip_suffix("/*") {
        Some(parent) => room.rsplit_once('/').is_some_and(|(folder, _)| folder == parent),
        None => pattern == room,
    }
}

/// What is wrong with an import; `None` when a rule allows it.
fn objection(import: &Import) -> Option<String> {
    let Import { room, on, test, optional } = import;
    let Some(rule) = RULES.iter().find(|rule| matches(rule.room, room)) else {
        return Some(format!(
            "{room} is no room of the house: give it a rule in core/check/tests/tidy/layering.rs"
        ));
    };
    // A crate may depend on itself to switch on its own features for its tests.
    let on_itself = *test && room == on;
    let named = |patterns: &[&str]| patterns.iter().any(|pattern| matches(pattern, on));
    if on_itself || named(rule.imports) || (*test && named(rule.tests)) || (*optional && named(rule.optional))
    {
        return None;
    }
    let hint = if named(rule.tests) {
        "only its tests may: make it a dev-dependency"
    } else if named(rule.optional) {
        "only behind a feature that is off by default: make it optional"
    } else {
        "see \"who may import whom\" in core/README.md"
    };
    Some(format!("{room} may not import {on}; {hint}"))
}

/// The line of `manifest` that names the dependency `name`.
fn line(manifest: &File, name: &str) -> usize {
    let names = |line: &str| line.strip_prefix(name).is_some_and(|rest| rest.starts_with([' ', '.', '=']));
    manifest.text.lines().position(names).map_or(1, |line| line + 1)
}

#[test]
fn rooms_import_only_what_lies_below_them() {
    let metadata = tree::cargo(&["metadata", "--format-version=1", "--no-deps"]);
    let packages = packages(&serde_json::from_str(&metadata).expect("cargo prints JSON"));
    assert!(packages.len() >= 14, "only {} packages in the workspace", packages.len());
    let mut offences = Vec::new();
    for package in &packages {
        let path = format!("{}/Cargo.toml", package.room);
        let manifest = tree::file(tree::files(), &path).unwrap_or_else(|| panic!("{path} cannot be read"));
        offences.extend(manners(package, manifest));
        for import in &package.imports {
            let name = packages.iter().find(|other| other.room == import.on).map_or("", |other| &other.name);
            offences.extend(objection(import).map(|what| manifest.offence(line(manifest, name), what)));
        }
    }
    let forgotten = |file: &&File| {
        file.path.ends_with("/Cargo.toml") && packages.iter().all(|package| package.room != file.folder())
    };
    let forgotten = tree::files().iter().filter(forgotten);
    offences
        .extend(forgotten.map(|file| file.offence(1, "is no member of the workspace: add it to Cargo.toml")));
    tree::assert_none(&offences);
}

/// Every crate is named after its folder and shares the lints. Crates in `core/` have no build script.
fn manners(package: &Package, manifest: &File) -> Vec<Offence> {
    let mut offences = Vec::new();
    let folder = package.room.rsplit('/').next().unwrap_or_default();
    let expected =
        if package.room == "simulator/cli" { "seaworthy".to_owned() } else { format!("seaworthy-{folder}") };
    if package.name != expected {
        offences.push(
            manifest.offence(2, format!("is named {}; name it {expected}, as its folder", package.name)),
        );
    }
    if !manifest.text.contains("[lints]\nworkspace = true\n") {
        offences.push(manifest.offence(1, "does not share the lints: add `[lints]`, `workspace = true`"));
    }
    if package.runs_at_build && package.room.starts_with("core/") {
        offences.push(
            manifest
                .offence(1, "has a build script, which does I/O: generate into a file that a test checks"),
        );
    }
    offences
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(room: &str, on: &str, test: bool, optional: bool) -> bool {
        objection(&Import { room: room.into(), on: on.into(), test, optional }).is_some()
    }

    #[test]
    fn imports_from_above_and_from_beside_are_refused() {
        let refused = [
            ("core/model", "core/api"),
            ("core/engine", "core/api"),
            ("core/engine", "core/check"),
            ("core/api", "core/engine"),
            ("core/check", "simulator/fleet"),
            ("simulator/kernel", "core/api"),
            ("simulator/fleet", "adapters/host"),
            ("simulator/cli", "adapters/kube"),
            ("adapters/kube", "simulator/fleet"),
            ("scenarios", "adapters/host"),
            ("adapters/operator", "deploy/e2e"),
            ("nowhere", "core/model"),
        ];
        for (room, on) in refused {
            assert!(objects(room, on, false, false), "{room} -> {on}");
        }
        assert!(objects("core/engine", "core/api", true, false), "not even in tests");
        assert!(objects("simulator/fleet", "adapters/host", true, true), "not even in tests");
        assert!(objects("simulator/cli", "adapters/ssh", false, true), "only adapters/kube");
    }

    #[test]
    fn imports_from_below_are_allowed() {
        assert!(!objects("core/check", "core/engine", false, false));
        assert!(!objects("adapters/operator", "adapters/kube", false, false));
        assert!(!objects("adapters/kube", "simulator/fleet", true, false));
        assert!(!objects("simulator/cli", "adapters/kube", false, true));
        assert!(!objects("scenarios", "simulator/fleet", false, false));
        assert!(!objects("core/api", "core/api", true, false));
    }

    #[test]
    fn metadata_is_understood() {
        let metadata = serde_json::json!({
            "workspace_root": "/r",
            "packages": [{
                "name": "seaworthy-api", "manifest_path": "/r/core/api/Cargo.toml",
                "targets": [{"kind": ["lib"]}, {"kind": ["custom-build"]}],
                "dependencies": [
                    {"name": "serde", "kind": null, "optional": false},
                    {"name": "seaworthy-model", "kind": null, "optional": true, "path": "/r/core/model"},
                    {"name": "seaworthy-fleet", "kind": "dev", "optional": false, "path": "/r/simulator/fleet"},
                ],
            }],
        });
        let packages = packages(&metadata);
        assert_eq!((packages.len(), packages[0].runs_at_build), (1, true));
        let imports: Vec<_> =
            packages[0].imports.iter().map(|i| (i.on.as_str(), i.test, i.optional)).collect();
        assert_eq!(imports, [("core/model", false, true), ("simulator/fleet", true, false)]);
        let manifest = File::new("core/api/Cargo.toml", "[package]\nname = \"wrong\"\n");
        assert_eq!(manners(&packages[0], &manifest).len(), 2);
    }
}
