//! Words that do not belong in the tree.

use seaworthy_mutants::rust;

use crate::tree::{self, File, Offence};

/// Names that say nothing about what is inside.
const NOT_A_MODULE: &[&str] = &[
    "common", "handler", "handlers", "helper", "helpers", "manager", "managers", "misc", "service",
    "services", "types", "util", "utils",
];

/// Places that the tree must not depend on: registries and mirrors (users configure their own), and the folders of its
/// authors. Each is written in two parts, so that this file passes.
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

/// Files written by tools, which name the origin of each package.
const WRITTEN_BY_TOOLS: &[&str] = &["Cargo.lock", "go.sum"];

/// Marks of unfinished work, in two parts as well. Missing work belongs into an issue.
const UNFINISHED: &[(&str, &str)] =
    &[("TO", "DO"), ("FIX", "ME"), ("to", "do!("), ("unimple", "mented!("), ("#[ig", "nore"), ("db", "g!(")];

/// What the engine has to say is data; `core/api/src/render` has the words.
const WORDLESS: &str = "core/engine/src/";

/// Macros that make text.
const TEXT_MACROS: &[&str] = &["format", "write", "writeln"];

/// Macros whose words are read by whoever mends a bug, and by nobody else.
const FOR_BUGS: &[&str] = &["assert", "debug_assert", "debug_assert_eq", "unreachable", "panic"];

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

/// Where the engine makes text, or says a sentence.
fn sentences(file: &File) -> Vec<Offence> {
    if !file.path.starts_with(WORDLESS) || !file.is_rust() {
        return Vec::new();
    }
    let code = &file.code;
    let attributes = rust::attributes(code);
    let is_attribute =
        |at: usize| attributes.iter().any(|(from, text)| (*from..from + text.len()).contains(&at));
    let is_call = |at: usize, word: &str| code[at + word.len()..].starts_with('!');
    let made = TEXT_MACROS.iter().flat_map(|&word| {
        let found = rust::words(code, word).filter(move |&at| is_call(at, word));
        found.map(move |at| (at, format!("`{word}!`")))
    });
    let is_for_bugs = |at: usize| {
        let statement = code[..at].rfind([';', '{', '}']).map_or(0, |end| end + 1);
        FOR_BUGS.iter().any(|&word| {
            rust::words(&code[statement..at], word).any(|found| is_call(statement + found, word))
        })
    };
    let said = rust::literals(code).into_iter().filter(|&(from, to)| file.text[from..to].contains(' '));
    let said = said.filter(|&(from, _)| !is_attribute(from) && !is_for_bugs(from));
    let said = said.map(|(from, to)| (from, file.text[from..to].to_owned()));
    let found = made.chain(said).filter(|(at, _)| !rust::is_test(code, *at));
    let objection = |what| {
        format!(
            "{what}: the engine has no words; make it a variant of `Detail`, and word it in core/api/src/render"
        )
    };
    found.map(|(at, what)| file.offence(rust::line_of(code, at), objection(what))).collect()
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
fn the_engine_has_no_words() {
    tree::assert_none(&tree::files().iter().flat_map(sentences).collect::<Vec<_>>());
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
    fn sentences_of_the_engine_are_found() {
        let text =
            "let a = format!(\"{b}\");\nlet c = \"it waits\";\nlet d = \"removal\";\n// \"a b\"\nformat(e);";
        let found = |path: &str, text: &str| lines(sentences(&File::new(path, text)));
        assert_eq!(found("core/engine/src/a.rs", text), [1, 2]);
        assert!(found("core/engine/tests/a.rs", text).is_empty());
        assert!(found("core/api/src/a.rs", text).is_empty());
        let for_bugs = "#[expect(x, reason = \"as it is\")]\nfn a() { debug_assert!(b, \"time went back\"); }\n\
                        #[cfg(test)]\nmod tests { fn c() { d(\"a b\"); } }";
        assert!(found("core/engine/src/a.rs", for_bugs).is_empty());
        assert_eq!(found("core/engine/src/a.rs", "fn a() { debug_assert!(b); c(\"d e\"); }"), [1]);
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
