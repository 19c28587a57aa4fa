//! No file is forgotten: every file in the tree is built, registered or run.

use seaworthy_mutants::rust;

use crate::tree::{self, File, Offence};

/// A folder in which every file is one thing of a kind, and the files one of which must list that thing.
struct Registry {
    folder: &'static str,
    lists: &'static [&'static str],
}

/// Adding a thing is one file and one line; forgetting the line is an offence. A folder that does not exist is empty.
const REGISTRIES: &[Registry] = &[
    Registry { folder: "core/check/src", lists: &["core/check/src/lib.rs"] },
    Registry { folder: "core/engine/src/domains", lists: &["core/engine/src/domains/mod.rs"] },
    Registry { folder: "simulator/fleet/src/faults", lists: &["simulator/fleet/src/faults/mod.rs"] },
    Registry { folder: "simulator/fleet/src/workloads", lists: &["simulator/fleet/src/workloads/mod.rs"] },
];

/// Where scenarios lie.
const SCENARIOS: &[&str] =
    &["fast", "slow", "scale", "gate", "incidents", "regressions", "regressions/plans"];

/// Beside them lie the mutants, which the tests there build all together.
const MUTANTS: &str = "mutants";

/// Whether cargo finds this file by itself.
fn is_root(file: &File) -> bool {
    let folder = file.folder().rsplit('/').next().unwrap_or_default();
    matches!(file.stem(), "lib" | "main" | "build")
        || matches!(folder, "tests" | "benches" | "examples" | "bin")
}

/// Source files that no other file declares as its module. Cargo does not build them and does not report them.
fn dead(files: &[File]) -> Vec<Offence> {
    let is_dead = |file: &&File| {
        let (module, folder) = match file.stem() {
            "mod" => {
                file.folder().rsplit_once('/').map_or((file.folder(), ""), |(folder, name)| (name, folder))
            }
            stem => (stem, file.folder()),
        };
        let beside = |parent: &&File| parent.folder() == folder && is_root(parent);
        let above = ["/mod.rs", ".rs"].map(|ending| format!("{folder}{ending}"));
        let declares = |parent: &File| {
            rust::words(&parent.code, "mod").any(|at| rust::first_word(&parent.code[at + 3..]) == module)
        };
        let mut parents = files.iter().filter(|file| beside(file) || above.contains(&file.path));
        !parents.any(declares)
    };
    let modules = files.iter().filter(|file| file.is_rust() && !is_root(file));
    modules
        .filter(is_dead)
        .map(|file| file.offence(1, "is not built: declare it as a module, or delete it"))
        .collect()
}

/// Things of a registry that its list does not name.
fn unregistered(files: &[File], registry: &Registry) -> Vec<Offence> {
    let lists: Vec<_> = registry.lists.iter().filter_map(|path| tree::file(files, path)).collect();
    let is_listed = |list: &File, name: &str| {
        rust::words(&list.code, name).any(|at| !list.code[..at].trim_end().ends_with("mod"))
    };
    let prefix = format!("{}/", registry.folder);
    let thing = |file: &'_ File| {
        let name = file.path.strip_prefix(&prefix)?.split('/').next()?.trim_end_matches(".rs").to_owned();
        let counts = file.is_rust() && !matches!(name.as_str(), "lib" | "mod" | "tests");
        (counts && !lists.iter().any(|list| is_listed(list, &name))).then(|| {
            file.offence(
                1,
                format!("`{name}` is not registered: add it to the list in {}", registry.lists[0]),
            )
        })
    };
    files.iter().filter_map(thing).collect()
}

/// Scenario files that no test runs.
fn unrun(files: &[File]) -> Vec<Offence> {
    let tests: Vec<_> =
        files.iter().filter(|file| file.path.starts_with("scenarios/") && file.is_rust()).collect();
    let objection = |file: &File| {
        let (folder, name) = file.path.strip_prefix("scenarios/")?.rsplit_once('/')?;
        let is_scenario = folder != MUTANTS && (name.ends_with(".yaml") || name.ends_with(".yml"));
        if !is_scenario {
            return None;
        }
        if !SCENARIOS.contains(&folder) || name.ends_with(".yml") {
            return Some(
                file.offence(1, format!("a scenario is a *.yaml in one of {}", SCENARIOS.join(", "))),
            );
        }
        let names = [format!("\"{folder}\""), format!("{folder}/"), format!("\"{name}\"")];
        let runs = |test: &&File| names.iter().any(|name| test.text.contains(name.as_str()));
        (!tests.iter().any(runs)).then(|| {
            file.offence(1, format!("no test runs it: load the folder `{folder}` in scenarios/tests"))
        })
    };
    files.iter().filter_map(objection).collect()
}

#[test]
fn every_source_file_is_built() {
    tree::assert_none(&dead(tree::files()));
}

#[test]
fn every_part_is_registered() {
    let offences: Vec<_> =
        REGISTRIES.iter().flat_map(|registry| unregistered(tree::files(), registry)).collect();
    tree::assert_none(&offences);
}

#[test]
fn every_scenario_is_run() {
    tree::assert_none(&unrun(tree::files()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(offences: &[Offence]) -> Vec<&str> {
        offences.iter().map(|offence| offence.path.as_str()).collect()
    }

    #[test]
    fn a_file_without_a_declaration_is_dead() {
        let files = [
            File::new("a/src/lib.rs", "mod x;\npub mod d;\n// mod y;"),
            File::new("a/src/x.rs", ""),
            File::new("a/src/y.rs", ""),
            File::new("a/src/d/mod.rs", "mod inside;"),
            File::new("a/src/d/inside.rs", "mod deeper;"),
            File::new("a/src/d/inside/deeper.rs", ""),
            File::new("a/src/d/outside.rs", ""),
            File::new("a/src/e/mod.rs", ""),
            File::new("a/src/bin/b.rs", ""),
            File::new("a/tests/t/main.rs", "mod x;"),
            File::new("a/tests/t/x.rs", ""),
            File::new("a/tests/u.rs", "mod world;"),
            File::new("a/tests/world/mod.rs", ""),
        ];
        assert_eq!(paths(&dead(&files)), ["a/src/y.rs", "a/src/d/outside.rs", "a/src/e/mod.rs"]);
    }

    #[test]
    fn a_declared_but_unlisted_part_is_found() {
        let registry = Registry { folder: "s/faults", lists: &["s/faults/mod.rs"] };
        let files = [
            File::new("s/faults/mod.rs", "mod crash;\nmod loss;\nconst FAULTS: &[Fault] = &[crash::FAULT];"),
            File::new("s/faults/crash.rs", ""),
            File::new("s/faults/loss.rs", ""),
        ];
        assert_eq!(paths(&unregistered(&files, &registry)), ["s/faults/loss.rs"]);
        assert_eq!(unregistered(&files[..1], &registry), []);
    }

    #[test]
    fn a_list_may_be_a_macro() {
        let registry = Registry { folder: "s/faults", lists: &["s/faults/mod.rs"] };
        let list = "pub mod crash;\nregistry! { Crash => crash }";
        let files = [File::new("s/faults/mod.rs", list), File::new("s/faults/crash.rs", "")];
        assert_eq!(unregistered(&files, &registry), []);
    }

    #[test]
    fn a_scenario_that_no_test_loads_is_found() {
        let files = [
            File::new("scenarios/fast/a.yaml", ""),
            File::new("scenarios/slow/b.yaml", ""),
            File::new("scenarios/elsewhere/c.yaml", ""),
            File::new("scenarios/tests/all.rs", "run(\"fast\")"),
        ];
        assert_eq!(paths(&unrun(&files)), ["scenarios/slow/b.yaml", "scenarios/elsewhere/c.yaml"]);
    }
}
