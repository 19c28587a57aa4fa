//! The storeys of a crate: its folders from bottom to top, and those within a large folder. Nothing is imported upward, files
//! do not import each other in a circle, and the methods of a type stand in the folder of the type.

use std::collections::{BTreeMap, BTreeSet};

use seaworthy_mutants::rust;

use crate::imports::{Import, Modules};
use crate::tree::{self, File, Offence};

/// A crate whose folders are put in order.
struct House {
    /// Its folder.
    room: &'static str,
    /// Its `src`, and folders in there that are large enough to have an order of their own.
    plans: &'static [Plan],
    /// Files whose types the files beside and below them give methods to or get parts from. What those import from them is
    /// left out when circles are looked for.
    parents: &'static [Parent],
}

/// The order of a folder.
struct Plan {
    /// The folder, below `src`; empty for `src` itself.
    folder: &'static str,
    /// What lies in it, from bottom to top: folders, and files without `.rs`. None may import from one above it.
    storeys: &'static [&'static str],
}

/// A file that takes parts from its children and gives them its types, and why that is right.
struct Parent {
    file: &'static str,
    reason: &'static str,
}

/// The crates that are in order. To add one: name all that lies in its `src`, and run this test.
const HOUSES: &[House] = &[
    House {
        room: "simulator/fleet",
        plans: &[
            Plan {
                folder: "",
                storeys: &[
                    "vocabulary",
                    "options",
                    "faults",
                    "workloads",
                    "scenario",
                    "world",
                    "observers",
                    "run",
                    "lib",
                ],
            },
            Plan { folder: "world", storeys: STOREYS_OF_WORLD },
        ],
        parents: PARENTS_OF_FLEET,
    },
    House {
        room: "core/engine",
        plans: &[Plan { folder: "", storeys: &["runtime", "rows", "world", "domains", "lib"] }],
        parents: PARENTS_OF_ENGINE,
    },
    House { room: "adapters/host", plans: &[Plan { folder: "", storeys: STOREYS_OF_HOST }], parents: &[] },
];

/// What a world is made of, the world, and what acts on it.
const STOREYS_OF_WORLD: &[&str] = &[
    "pki",
    "writer",
    "event",
    "blindness",
    "host",
    "catalogue",
    "mail",
    "api_server",
    "api_servers",
    "replicas",
    "disturbance",
    "probes",
    "happening",
    "node",
    "process",
    "setting",
    "mod",
    "view",
    "lookahead",
    "gate_checks",
    "arrival",
    "strikes",
    "cluster",
    "people",
    "host_life",
    "operator",
];

/// What the host program is made of, what it does with an operation, and the orders that it obeys.
const STOREYS_OF_HOST: &[&str] = &[
    "failure",
    "layout",
    "steps",
    "keys",
    "digest",
    "template",
    "validation",
    "disk",
    "memory",
    "system",
    "journal",
    "fetch",
    "process",
    "lock",
    "manifest",
    "difference",
    "invocation",
    "systemd",
    "site",
    "place",
    "tree",
    "verify",
    "operations",
    "links",
    "claims",
    "resume",
    "archive",
    "identity",
    "clearing",
    "artefacts",
    "stage",
    "facts",
    "execution",
    "people",
    "orders",
    "lib",
    "main",
];

const PARENTS_OF_FLEET: &[Parent] = &[
    Parent {
        file: "simulator/fleet/src/world/mod.rs",
        reason: "the world is made of its children's parts, and each child gives it methods about its part",
    },
    Parent {
        file: "simulator/fleet/src/world/api_server/mod.rs",
        reason: "the API server is made of collections, a log and rules, which speak in its terms",
    },
    Parent {
        file: "simulator/fleet/src/world/host/mod.rs",
        reason: "a host is made of operation, identity and fence, each of which gives it methods",
    },
    Parent {
        file: "simulator/fleet/src/world/process/mod.rs",
        reason: "a process is made of watches, deadlines and a clock, each of which gives it methods",
    },
    Parent {
        file: "simulator/fleet/src/observers/oracle/mod.rs",
        reason: "the oracle is made of one judge for each invariant, which gives it methods",
    },
    Parent {
        file: "simulator/fleet/src/observers/history/mod.rs",
        reason: "a history is made of bands and series, whose times and values are its own",
    },
];

const PARENTS_OF_ENGINE: &[Parent] = &[
    Parent {
        file: "core/engine/src/world/mod.rs",
        reason: "the world counts its Nodes, and each index gives it methods about what it counts",
    },
    Parent {
        file: "core/engine/src/domains/leadership/mod.rs",
        reason: "leadership is made of what it observes and what it finishes, both of which may reset it",
    },
];

/// What is wrong with the imports and methods of a crate.
fn offences(house: &House, files: &[File]) -> Vec<Offence> {
    let modules = Modules::of(files, house.room);
    let imports = modules.imports();
    let mut offences = Vec::new();
    for plan in house.plans {
        let place = Place { room: house.room, plan };
        offences.extend(place.not_named(&modules));
        offences.extend(imports.iter().filter_map(|import| place.upward(import)));
    }
    offences.extend(circles(house, &imports));
    offences.extend(strange_methods(&modules));
    offences
}

fn offence(path: &str, line: usize, what: String) -> Offence {
    Offence { path: path.to_owned(), line, what }
}

/// A folder that is put in order.
struct Place {
    room: &'static str,
    plan: &'static Plan,
}

impl Place {
    /// The part of the folder that a file lies in; `None` when it lies elsewhere.
    fn part<'a>(&self, path: &'a str) -> Option<&'a str> {
        let mut inside = path.strip_prefix(self.room)?.strip_prefix("/src/")?;
        if !self.plan.folder.is_empty() {
            inside = inside.strip_prefix(self.plan.folder)?.strip_prefix('/')?;
        }
        Some(inside.split('/').next()?.trim_end_matches(".rs"))
    }

    fn storey(&self, path: &str) -> Option<usize> {
        let part = self.part(path)?;
        self.plan.storeys.iter().position(|name| *name == part)
    }

    fn not_named(&self, modules: &Modules<'_>) -> Vec<Offence> {
        let inside = modules.sources().filter(|(file, _)| self.part(&file.path).is_some());
        let unnamed = inside.filter(|(file, _)| self.storey(&file.path).is_none());
        let what = "is on no storey: name it in core/check/tests/tidy/storeys.rs";
        unnamed.map(|(file, _)| file.offence(1, what)).collect()
    }

    fn upward(&self, import: &Import) -> Option<Offence> {
        let (from, on) = (self.storey(&import.from)?, self.storey(&import.on)?);
        let what = || {
            let (below, above) = (self.plan.storeys[from], self.plan.storeys[on]);
            format!("{below} takes {} from {above}, which lies above it ({})", import.name, import.on)
        };
        (from < on).then(|| offence(&import.from, import.line, what()))
    }
}

/// The circles of files that import each other.
fn circles(house: &House, imports: &BTreeSet<Import>) -> Vec<Offence> {
    let is_parent = |import: &Import| {
        let of_child = |parent: &&str| {
            let folder = parent.rsplit_once('/').map_or("", |(folder, _)| folder);
            import.on == **parent
                && import.from.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
        };
        house.parents.iter().map(|parent| parent.file).any(|file| of_child(&file))
    };
    let mut next: BTreeMap<&str, Vec<&Import>> = BTreeMap::new();
    for import in imports.iter().filter(|import| !is_parent(import)) {
        next.entry(&import.from).or_default().push(import);
    }
    let reach: BTreeMap<&str, BTreeSet<&str>> =
        next.keys().map(|file| (*file, reachable(&next, file))).collect();
    let is_tied = |one: &str, two: &str| {
        reach.get(one).is_some_and(|all| all.contains(two))
            && reach.get(two).is_some_and(|all| all.contains(one))
    };
    let mut seen = BTreeSet::new();
    let mut offences = Vec::new();
    for file in next.keys() {
        if !is_tied(file, file) || seen.contains(file) {
            continue;
        }
        let circle: Vec<&str> = next.keys().copied().filter(|other| is_tied(file, other)).collect();
        seen.extend(circle.iter().copied());
        let within = next[file].iter().find(|import| circle.contains(&import.on.as_str()));
        let line = within.map_or(1, |import| import.line);
        let ties: Vec<String> = circle
            .iter()
            .flat_map(|file| next[file].iter().filter(|import| circle.contains(&import.on.as_str())))
            .map(|import| format!("{} takes {} from {}", import.from, import.name, import.on))
            .collect();
        let what =
            format!("{} files import each other in a circle:\n    {}", circle.len(), ties.join("\n    "));
        offences.push(offence(file, line, what));
    }
    offences
}

/// All files that a file leads to, by one import or more.
fn reachable<'a>(next: &BTreeMap<&'a str, Vec<&'a Import>>, from: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut ahead: Vec<&str> = vec![from];
    while let Some(file) = ahead.pop() {
        for import in next.get(file).into_iter().flatten() {
            if reached.insert(import.on.as_str()) {
                ahead.push(import.on.as_str());
            }
        }
    }
    reached
}

/// The inherent methods that stand outside of the folder of their type.
fn strange_methods(modules: &Modules<'_>) -> Vec<Offence> {
    let mut homes: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (file, code) in modules.sources() {
        for word in ["struct", "enum", "union"] {
            for at in rust::words(code, word) {
                homes.entry(rust::first_word(&code[at + word.len()..])).or_default().insert(file.folder());
            }
        }
    }
    let mut offences = Vec::new();
    for (file, code) in modules.sources() {
        for (name, line) in inherent(code) {
            let Some(homes) = homes.get(name) else { continue };
            let is_home = |home: &&str| format!("{}/", file.folder()).starts_with(&format!("{home}/"));
            if !homes.iter().any(is_home) {
                let homes: Vec<&str> = homes.iter().copied().collect();
                let what = format!(
                    "gives methods to {name}, which is defined in {}: make them functions, or move them there",
                    homes.join(", ")
                );
                offences.push(file.offence(line, what));
            }
        }
    }
    offences
}

/// The types that a file gives methods of their own, and where.
fn inherent(code: &str) -> Vec<(&str, usize)> {
    let statement =
        |at: &usize| code[..*at].trim_end().chars().next_back().is_none_or(|c| "{};]".contains(c));
    let implemented = |at: usize| {
        let rest = &code[at + 4..];
        let head = &rest[..rest.find('{')?];
        let head = if head.trim_start().starts_with('<') { &head[generics(head)?..] } else { head };
        let is_trait = rust::words(head, "for").next().is_some();
        let path = head.trim_start().split(['<', ' ', '\n']).next().unwrap_or_default();
        let name = path.rsplit("::").next().unwrap_or_default();
        (!is_trait && !name.is_empty()).then(|| (name, rust::line_of(code, at)))
    };
    rust::words(code, "impl").filter(statement).filter_map(implemented).collect()
}

/// The length of the generics that a head begins with.
fn generics(head: &str) -> Option<usize> {
    let mut depth = 0u32;
    let end = head.char_indices().find(|(_, c)| {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        *c == '>' && depth == 0
    });
    end.map(|(at, _)| at + 1)
}

#[test]
fn imports_lead_downward_and_not_in_circles_and_methods_are_at_home() {
    let all = HOUSES.iter().flat_map(|house| {
        assert!(tree::files().iter().any(|file| file.folder() == format!("{}/src", house.room)));
        offences(house, tree::files())
    });
    tree::assert_none(&all.collect::<Vec<_>>());
}

#[test]
fn parents_exist_and_have_a_reason() {
    for parent in HOUSES.iter().flat_map(|house| house.parents) {
        assert!(tree::file(tree::files(), parent.file).is_some(), "{} is not there", parent.file);
        assert!(parent.reason.len() > 20, "{} needs a reason", parent.file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: Parent = Parent { file: "a/b/src/up/mod.rs", reason: "its children give it methods" };

    const PLANS: &[Plan] = &[
        Plan { folder: "", storeys: &["low", "up", "whole", "lib"] },
        Plan { folder: "whole", storeys: &["base", "mod", "user"] },
    ];

    /// The offences of a crate with a lower and an upper folder.
    fn found(files: &[(&str, &str)], parents: &'static [Parent]) -> Vec<String> {
        let house = House { room: "a/b", plans: PLANS, parents };
        let mut all = vec![File::new("a/b/src/lib.rs", "mod low;\nmod up;\n")];
        all.extend(files.iter().map(|(path, text)| File::new(&format!("a/b/src/{path}"), text)));
        offences(&house, &all).iter().map(ToString::to_string).collect()
    }

    fn assert_one(found: &[String], expected: &str) {
        assert!(found.len() == 1 && found[0].contains(expected), "{expected}: {found:?}");
    }

    #[test]
    fn imports_from_above_are_refused() {
        let above = ("up.rs", "pub struct Above;\n");
        assert_one(&found(&[("low.rs", "use crate::up::Above;\n"), above], &[]), "low takes Above from up");
        assert_one(&found(&[("low.rs", "fn f(_: crate::up::Above) {}\n"), above], &[]), "low takes Above");
        let below = ("low.rs", "pub struct Below;\n");
        assert_eq!(found(&[("up.rs", "use crate::low::Below;\n"), below], &[]), [""; 0]);
        let test = "#[cfg(test)]\nmod tests {\n    use crate::up::Above;\n}\n";
        assert_eq!(found(&[("low.rs", test), above], &[]), [""; 0], "tests may");
    }

    #[test]
    fn what_is_shown_further_down_is_still_above() {
        let shows = ("low/mod.rs", "pub use crate::up::Above;\n");
        let uses = ("low/user.rs", "use super::Above;\n");
        assert_one(
            &found(&[shows, uses, ("up.rs", "pub struct Above;\n")], &[]),
            "low/user.rs:1: low takes Above",
        );
    }

    #[test]
    fn circles_are_refused_unless_a_parent_is_named() {
        let one = ("up/one.rs", "use super::two::Two;\npub struct One;\n");
        let two = ("up/two.rs", "use super::one::One;\npub struct Two;\n");
        assert_one(
            &found(&[("up/mod.rs", "mod one;\nmod two;\n"), one, two], &[]),
            "2 files import each other",
        );
        let parent = ("up/mod.rs", "mod child;\nuse child::Part;\npub struct Whole(Part);\n");
        let child = ("up/child.rs", "use super::Whole;\npub struct Part;\nimpl Whole {}\n");
        assert_one(&found(&[parent, child], &[]), "2 files import each other");
        assert_eq!(found(&[parent, child], &[PARENT]), [""; 0]);
        assert_one(&found(&[("up/mod.rs", "mod one;\nmod two;\n"), one, two], &[PARENT]), "2 files");
    }

    #[test]
    fn methods_stand_in_the_folder_of_their_type() {
        let home = ("low/mod.rs", "pub struct Kept<T>(T);\nimpl<T: Into<u8>> Kept<T> {}\n");
        let strange = ("up.rs", "use crate::low::Kept;\nimpl<T> Kept<T> {}\n");
        assert_one(&found(&[home, strange], &[]), "gives methods to Kept, which is defined in a/b/src/low");
        let inside = ("low/deep/more.rs", "use super::super::Kept;\nimpl Kept<u8> {}\n");
        assert_eq!(found(&[home, inside], &[]), [""; 0]);
        let other = "use crate::low::Kept;\nimpl Clone for Kept<u8> {}\nfn f() -> impl Fn() {}\n";
        assert_eq!(found(&[home, ("up.rs", other)], &[]), [""; 0]);
    }

    #[test]
    fn every_part_has_a_storey() {
        assert_one(&found(&[("attic.rs", "")], &[]), "is on no storey");
        assert_one(&found(&[("whole/attic.rs", "")], &[]), "is on no storey");
        assert_eq!(found(&[("low/attic.rs", "")], &[]), [""; 0], "that folder has no plan");
    }

    #[test]
    fn a_folder_has_storeys_of_its_own() {
        let whole = ("whole/mod.rs", "mod base;\nmod user;\npub struct Whole;\n");
        let above = ("whole/user.rs", "use super::Whole;\npub struct User;\n");
        assert_eq!(found(&[whole, above], &[]), [""; 0]);
        let below = ("whole/base.rs", "use super::Whole;\n");
        assert_one(&found(&[whole, below], &[]), "base takes Whole from mod");
    }
}
