//! Words that do not belong in the tree.

use seaworthy_mutants::rust;

use crate::tree::{self, File, Offence};

/// Names that say nothing about what is inside.
const NOT_A_MODULE: &[&str] = &[
    "common", "handler", "handlers", "helper", "helpers", "manager", "managers", "misc", "service",
    "services", "types", "util", "utils",
];

/// Places that the tree must work without: registries and mirrors (whoever runs it has configured their own), and the
/// folders of whoever wrote it. Each is written in two parts, so that this file passes.
const NOT_NAMED: &[(&str, &str)] = &[
    ("/wo", "rk/"),
    ("deb.deb", "ian.org"),
    ("ftp.deb", "ian.org"),
    ("security.deb", "ian.org"),
    ("snapshot.deb", "ian.org"),
    ("proxy.go", "lang.org"),
    ("sum.go", "lang.org"),
    ("goproxy", ".io"),
    ("registry.npm", "js.org"),
    ("index.crates", ".io"),
    ("static.crates", ".io"),
    ("crates.io", "-index"),
    ("pypi", ".org"),
    ("files.python", "hosted.org"),
];

/// Files that tools write, and that name where things came from.
const WRITTEN_BY_TOOLS: &[&str] = &["Cargo.lock", "go.sum"];

/// What is left for later, in two parts as well. What is missing belongs into an issue.
const UNFINISHED: &[(&str, &str)] =
    &[("TO", "DO"), ("FIX", "ME"), ("to", "do!("), ("unimple", "mented!("), ("#[ig", "nore"), ("db", "g!(")];

fn module_names(file: &File) -> Vec<Offence> {
    if !file.is_rust() {
        return Vec::new();
    }
    let objection =
        |name: &str| format!("`{name}` says nothing about what is inside: name it after the thing");
    let folder = file.folder().rsplit('/').next().unwrap_or_default();
    let own = [file.stem(), folder].into_iter().filter(|name| NOT_A_MODULE.contains(name));
    let mut offences: Vec<Offence> = own.map(|name| file.offence(1, objection(name))).collect();
    let inline = rust::words(&file.code, "mod").map(|at| (at, rust::first_word(&file.code[at + 3..])));
    let inline = inline.filter(|(_, name)| NOT_A_MODULE.contains(name));
    offences.extend(inline.map(|(at, name)| file.offence(rust::line_of(&file.code, at), objection(name))));
    offences
}

fn exceptions_without_reason(file: &File) -> Vec<Offence> {
    if !file.is_rust() {
        return Vec::new();
    }
    let is_exception =
        |text: &str| ["allow", "expect"].iter().any(|word| rust::words(text, word).next().is_some());
    let found = rust::attributes(&file.code).into_iter();
    let found = found.filter(|(_, text)| is_exception(text) && rust::words(text, "reason").next().is_none());
    found
        .map(|(at, _)| {
            file.offence(rust::line_of(&file.code, at), "an exception from a lint needs `reason = \"...\"`")
        })
        .collect()
}

/// Lines of `file` that contain one of `words`.
fn lines_with<'a>(file: &'a File, words: &'a [(&str, &str)]) -> impl Iterator<Item = (usize, String)> + 'a {
    file.text.lines().zip(1..).flat_map(move |(line, number)| {
        let found = words
            .iter()
            .map(|(head, tail)| format!("{head}{tail}"))
            .filter(|word| line.contains(word.as_str()));
        found.map(move |word| (number, word))
    })
}

fn places(file: &File) -> Vec<Offence> {
    if WRITTEN_BY_TOOLS.iter().any(|name| file.path.ends_with(name)) {
        return Vec::new();
    }
    let what = |word: String| {
        format!("names `{word}`: take it from the environment or from the tool's own configuration")
    };
    lines_with(file, NOT_NAMED).map(|(line, word)| file.offence(line, what(word))).collect()
}

fn unfinished(file: &File) -> Vec<Offence> {
    if WRITTEN_BY_TOOLS.iter().any(|name| file.path.ends_with(name)) {
        return Vec::new();
    }
    lines_with(file, UNFINISHED)
        .map(|(line, word)| file.offence(line, format!("`{word}`: finish it, or leave it out")))
        .collect()
}

#[test]
fn modules_are_named_after_things() {
    tree::assert_none(&tree::files().iter().flat_map(module_names).collect::<Vec<_>>());
}

#[test]
fn exceptions_from_lints_have_reasons() {
    tree::assert_none(&tree::files().iter().flat_map(exceptions_without_reason).collect::<Vec<_>>());
}

#[test]
fn the_tree_names_no_registry_and_no_workplace() {
    tree::assert_none(&tree::files().iter().flat_map(places).collect::<Vec<_>>());
}

#[test]
fn nothing_is_left_unfinished() {
    tree::assert_none(&tree::files().iter().flat_map(unfinished).collect::<Vec<_>>());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(offences: Vec<Offence>) -> Vec<usize> {
        offences.into_iter().map(|offence| offence.line).collect()
    }

    #[test]
    fn empty_names_are_found() {
        assert_eq!(lines(module_names(&File::new("core/api/src/utils.rs", ""))), [1]);
        assert_eq!(lines(module_names(&File::new("core/api/src/common/mod.rs", ""))), [1]);
        assert_eq!(lines(module_names(&File::new("a.rs", "// mod misc\n\npub(crate) mod types {}"))), [3]);
        assert!(module_names(&File::new("a.rs", "mod services_of_a_fleet;")).is_empty());
    }

    #[test]
    fn an_exception_without_a_reason_is_found() {
        let text = "#![allow(dead_code)]\n#[expect(\n    x,\n    reason = \"why\"\n)]\n#[cfg_attr(test, allow(y))]\n#[derive(A)]\na.expect(\"b\")";
        assert_eq!(lines(exceptions_without_reason(&File::new("a.rs", text))), [1, 6]);
    }

    #[test]
    fn places_are_found_where_people_write_them() {
        let text = format!("ok\ncurl https://{}{}/x\n", "index.crates", ".io");
        assert_eq!(lines(places(&File::new("a.sh", &text))), [2]);
        assert!(places(&File::new("x/go.sum", &text)).is_empty());
    }

    #[test]
    fn unfinished_work_is_found() {
        assert_eq!(lines(unfinished(&File::new("a.rs", &format!("a\n// {}{}: b", "TO", "DO")))), [2]);
    }
}
