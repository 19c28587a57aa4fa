//! The tree of files, and what is reported about it.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use seaworthy_mutants::rust;

/// A text file.
pub(crate) struct File {
    /// Path below the root of the tree, with `/`.
    pub(crate) path: String,
    /// Its text.
    pub(crate) text: String,
    /// For Rust: the text without what stands in comments and literals. For everything else the text itself.
    pub(crate) code: String,
}

impl File {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let code = if path.ends_with(".rs") { rust::mask(text) } else { text.to_owned() };
        Self { path: path.to_owned(), text: text.to_owned(), code }
    }

    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// The file's name without its last extension.
    pub(crate) fn stem(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        name.rsplit_once('.').map_or(name, |(stem, _)| stem)
    }

    /// The folder it lies in; empty for the root.
    pub(crate) fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// An offence of this file.
    pub(crate) fn offence(&self, line: usize, what: impl Into<String>) -> Offence {
        Offence { path: self.path.clone(), line, what: what.into() }
    }
}

/// Something to be put right.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Offence {
    /// The file.
    pub(crate) path: String,
    /// The line, from 1.
    pub(crate) line: usize,
    /// What is wrong, and what to do.
    pub(crate) what: String,
}

impl fmt::Display for Offence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

/// Fails with all `offences`, if there are any.
pub(crate) fn assert_none(offences: &[Offence]) {
    let lines: String = offences.iter().map(|offence| format!("  {offence}\n")).collect();
    assert!(offences.is_empty(), "{} offence(s):\n{lines}", offences.len());
}

/// The root of the tree.
pub(crate) fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::canonicalize(&root).unwrap_or_else(|error| panic!("{}: {error}", root.display()))
}

/// Every text file of the tree, sorted by path. Build folders (those with a `CACHEDIR.TAG`) and `.git` are left out.
pub(crate) fn files() -> &'static [File] {
    static FILES: OnceLock<Vec<File>> = OnceLock::new();
    FILES.get_or_init(|| {
        let root = root();
        let mut files = Vec::new();
        walk(&root, &root, &mut files);
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files
    })
}

fn walk(root: &Path, folder: &Path, files: &mut Vec<File>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries.map_while(Result::ok) {
        let path = entry.path();
        let Ok(kind) = entry.file_type() else { continue };
        // In a second worktree `.git` is a file.
        if path.ends_with(".git") {
            continue;
        }
        if kind.is_dir() {
            let skipped = path.ends_with("target") || path.join("CACHEDIR.TAG").exists();
            if !skipped {
                walk(root, &path, files);
            }
        } else if let Some(file) = fs::read_to_string(&path).ok().filter(|_| kind.is_file()) {
            let relative = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            files.push(File::new(&relative, &file));
        }
    }
}

/// The file at `path`, if there is one.
pub(crate) fn file<'a>(files: &'a [File], path: &str) -> Option<&'a File> {
    files.iter().find(|file| file.path == path)
}

/// What `cargo` with these arguments prints. It runs with the lock file as it is.
pub(crate) fn cargo(arguments: &[&str]) -> String {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments).arg("--locked").current_dir(root());
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{errors}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_path_has_a_stem_and_a_folder() {
    let file = File::new("core/model/src/time.rs", "");
    assert_eq!((file.stem(), file.folder()), ("time", "core/model/src"));
    let file = File::new(".gitignore", "");
    assert_eq!(file.folder(), "");
}

#[test]
fn the_tree_was_found() {
    assert!(file(files(), "core/check/tests/tidy/tree.rs").is_some_and(File::is_rust));
    assert!(files().iter().all(|file| !file.path.starts_with("target/")));
}
