//! What the files of a crate take from each other: the paths in their code, followed through re-exports to the file that
//! defines what they name.

use std::collections::{BTreeMap, BTreeSet};

use seaworthy_mutants::rust;

use crate::tree::File;

/// A crate, by its modules.
pub(crate) struct Modules<'a> {
    /// By the module's path, without `crate`: its file. The path of the root is empty.
    files: BTreeMap<Vec<String>, Source<'a>>,
}

struct Source<'a> {
    file: &'a File,
    /// Its code without its tests.
    code: String,
    /// The paths that it takes into its scope, each with the name that it gets there.
    uses: Vec<Use>,
}

/// A path that is taken into the scope of a file.
struct Use {
    path: Vec<String>,
    name: String,
    /// Others can see it there: a re-export.
    is_shown: bool,
    line: usize,
}

/// A file takes something from another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Import {
    /// The file.
    pub(crate) from: String,
    /// The file that defines what is taken.
    pub(crate) on: String,
    /// Where it is named first.
    pub(crate) line: usize,
    /// Its name.
    pub(crate) name: String,
}

/// No chain of re-exports is longer.
const CHAIN_MAX: usize = 8;

impl<'a> Modules<'a> {
    /// The modules of the crate in `room`. Files of tests are left out.
    pub(crate) fn of(files: &'a [File], room: &str) -> Self {
        let source = format!("{room}/src/");
        // A program beside a library is a crate of its own.
        let has_lib = files.iter().any(|file| file.path == format!("{source}lib.rs"));
        let modules = files.iter().filter(|file| file.is_rust()).filter_map(|file| {
            let path = file.path.strip_prefix(&source)?.strip_suffix(".rs")?;
            let mut path: Vec<String> = path.split('/').map(str::to_owned).collect();
            let is_test = path.iter().any(|part| part == "tests");
            let is_root = |last: &String| last == "mod" || last == "lib" || (last == "main" && !has_lib);
            if path.last().is_some_and(is_root) {
                path.pop();
            }
            let code = rust::without_tests(&file.code);
            let uses = uses(&code);
            (!is_test).then_some((path, Source { file, code, uses }))
        });
        Self { files: modules.collect() }
    }

    /// The files, each with its code without tests.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (&'a File, &str)> {
        self.files.values().map(|source| (source.file, source.code.as_str()))
    }

    /// What each file takes from others, once for each pair of files.
    pub(crate) fn imports(&self) -> BTreeSet<Import> {
        let mut found: BTreeMap<(&str, &str), Import> = BTreeMap::new();
        for (module, source) in &self.files {
            for (path, line) in self.named(source) {
                let Some(absolute) = self.absolute(module, &path) else { continue };
                let Some((on, name)) = self.definition(&absolute, 0) else { continue };
                if on.path != source.file.path {
                    let import = || Import {
                        from: source.file.path.clone(),
                        on: on.path.clone(),
                        line,
                        name: name.to_owned(),
                    };
                    found.entry((&source.file.path, &on.path)).or_insert_with(import);
                }
            }
        }
        found.into_values().collect()
    }

    /// The paths that a file names: those that it takes into its scope, unless only to show them, and those in its code.
    fn named(&self, source: &Source<'_>) -> Vec<(Vec<String>, usize)> {
        let is_used = |one: &&Use| !one.is_shown || rust::words(&source.code, &one.name).nth(1).is_some();
        let used = source.uses.iter().filter(is_used).map(|one| (one.path.clone(), one.line));
        used.chain(inline(&source.code)).collect()
    }

    /// A path as seen from the root of the crate; `None` when it leads out of the crate.
    fn absolute(&self, module: &[String], path: &[String]) -> Option<Vec<String>> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" => Some([module, rest].concat()),
            "super" => {
                let (_, parent) = module.split_last()?;
                let rest = if rest.is_empty() { &[] } else { rest };
                let is_more = rest.first().is_some_and(|next| next == "super");
                if is_more { self.absolute(parent, rest) } else { Some([parent, rest].concat()) }
            }
            _ => {
                let child = [module, std::slice::from_ref(first)].concat();
                self.files.contains_key(&child).then(|| [module, path].concat())
            }
        }
    }

    /// The file that defines what an absolute path names, and its name.
    fn definition<'p>(&self, path: &'p [String], depth: usize) -> Option<(&'a File, &'p str)> {
        let length = (0..=path.len()).rev().find(|length| self.files.contains_key(&path[..*length]))?;
        let source = &self.files[&path[..length]];
        let name = path.get(length).map_or("", String::as_str);
        let shown = source.uses.iter().find(|one| one.is_shown && one.name == name);
        let follows = |one: &Use| {
            let target = self.absolute(&path[..length], &one.path)?;
            self.definition(&target, depth + 1).map(|(file, _)| file)
        };
        let file = shown.filter(|_| depth < CHAIN_MAX).and_then(follows).unwrap_or(source.file);
        Some((file, name))
    }
}

/// What is taken into scope by the `use` declarations in masked code.
fn uses(code: &str) -> Vec<Use> {
    let mut uses = Vec::new();
    for at in rust::words(code, "use") {
        let Some(length) = code[at..].find(';') else { continue };
        let tree: String = code[at + 3..at + length].split_whitespace().collect::<Vec<_>>().join(" ");
        let line_start = code[..at].rfind('\n').map_or(0, |end| end + 1);
        let before = code[line_start..at].trim();
        let (is_shown, line) = (before.starts_with("pub"), rust::line_of(code, at));
        if before.is_empty() || is_shown {
            let leaves = leaves(&tree).into_iter();
            uses.extend(leaves.map(|(path, name)| Use { path, name, is_shown, line }));
        }
    }
    uses
}

/// The paths of a `use` tree, each with the name that it gets.
fn leaves(tree: &str) -> Vec<(Vec<String>, String)> {
    let tree = tree.trim();
    if let Some((head, body)) = tree.split_once('{') {
        let body = body.trim_end().trim_end_matches('}');
        let head = head.trim().trim_end_matches("::");
        let joined = |part: &str| if head.is_empty() { part.to_owned() } else { format!("{head}::{part}") };
        return branches(body).into_iter().flat_map(|part| leaves(&joined(part.trim()))).collect();
    }
    let (path, alias) = tree.split_once(" as ").map_or((tree, None), |(path, name)| (path, Some(name)));
    let mut path: Vec<String> = path.split("::").map(|part| part.trim().to_owned()).collect();
    if path.len() > 1 && path.last().is_some_and(|last| last == "self" || last == "*") {
        path.pop();
    }
    let name = alias.map_or_else(|| path.last().cloned().unwrap_or_default(), str::to_owned);
    vec![(path, name)]
}

/// The parts of a list in a `use` tree.
fn branches(body: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0u32, 0, Vec::new());
    for (at, byte) in body.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                parts.push(&body[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&body[start..]);
    parts.into_iter().filter(|part| !part.trim().is_empty()).collect()
}

/// The paths within the crate that stand in code outside of `use` declarations.
fn inline(code: &str) -> Vec<(Vec<String>, usize)> {
    let mut found = Vec::new();
    for root in ["crate", "super"] {
        for at in rust::words(code, root) {
            let rest = &code[at..];
            let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
            let end = rest.find(|c: char| !is_path(c)).unwrap_or(rest.len());
            let is_inner = code[..at].ends_with("::") || code[..at].ends_with("in ");
            let statement = code[..at].rfind([';', '}', '{']).map_or(0, |end| end + 1);
            let is_use = rust::words(&code[statement..at], "use").next().is_some();
            if is_inner || is_use || !rest[..end].contains("::") {
                continue;
            }
            let path = rest[..end].trim_end_matches(':').split("::").map(str::to_owned).collect();
            found.push((path, rust::line_of(code, at)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imports(files: &[(&str, &str)]) -> Vec<(String, String)> {
        let files: Vec<File> =
            files.iter().map(|(path, text)| File::new(&format!("a/b/src/{path}"), text)).collect();
        let short = |path: &str| path.trim_start_matches("a/b/src/").to_owned();
        let imports = Modules::of(&files, "a/b").imports();
        imports.iter().map(|import| (short(&import.from), short(&import.on))).collect()
    }

    fn pair(from: &str, on: &str) -> (String, String) {
        (from.to_owned(), on.to_owned())
    }

    #[test]
    fn paths_are_followed_to_the_file_that_defines_what_they_name() {
        let found = imports(&[
            ("lib.rs", "mod x;\nmod y;\n"),
            ("x/mod.rs", "mod one;\nmod two;\npub use one::One;\npub(crate) struct Own;\n"),
            ("x/one.rs", "pub struct One;\n"),
            ("x/two.rs", "use super::{One, Own as Mine};\n"),
            ("y.rs", "use std::fmt;\nuse crate::x::{self, One};\n"),
        ]);
        let expected = [
            pair("x/two.rs", "x/mod.rs"),
            pair("x/two.rs", "x/one.rs"),
            pair("y.rs", "x/mod.rs"),
            pair("y.rs", "x/one.rs"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn paths_in_code_count_and_those_of_tests_do_not() {
        let found = imports(&[
            ("lib.rs", "mod x;\nmod y;\nmod z;\n"),
            ("x.rs", "fn f() { crate::y::g(); }\n#[cfg(test)]\nmod tests { use crate::z::h; }\n"),
            ("y.rs", "pub(in crate::z) fn g() {} // crate::z::h\n"),
            ("z.rs", "use crate::x::{a::{self, B}, c};\n"),
        ]);
        assert_eq!(found, [pair("x.rs", "y.rs"), pair("z.rs", "x.rs")]);
    }

    #[test]
    fn what_is_shown_and_used_is_taken_too() {
        let shown = ("x/one.rs", "pub struct One;\n");
        let only_shown =
            imports(&[("lib.rs", "mod x;\n"), ("x/mod.rs", "mod one;\npub use one::One;\n"), shown]);
        assert_eq!(only_shown, []);
        let text = "mod one;\npub use one::One;\nstruct Two(One);\n";
        let used = imports(&[("lib.rs", "mod x;\n"), ("x/mod.rs", text), shown]);
        assert_eq!(used, [pair("x/mod.rs", "x/one.rs")]);
    }
}
