//! The mutated copy of the workspace.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::mutant::{FOLDER, Mutant};
use crate::splice::{Change, splice};

/// A copy of the workspace in which mutants are built in, and where cargo builds it.
#[derive(Clone, Debug)]
pub struct Tree {
    root: PathBuf,
    target: PathBuf,
}

/// What one mutant changes: the files, below the root of the workspace, and what in them.
pub type Changes = BTreeMap<String, Vec<Change>>;

impl Tree {
    /// Builds all mutants that have files into a copy of the workspace at `house`. `mutants` is the folder of mutated copies.
    ///
    /// # Errors
    ///
    /// A mutant that does not fit, or a file that cannot be read or written.
    pub fn of_all(house: &Path, mutants: &Path) -> Result<Self, String> {
        let folder = mutants.join("named");
        let mutants = Mutant::read_all(house)?;
        let mut changes = Changes::new();
        for (number, mutant) in mutants.iter().enumerate() {
            for edit in &mutant.edits {
                let text = read(&house.join(&edit.file))?;
                let place = edit.place(&text).map_err(|error| format!("{}: {error}", mutant.name))?;
                let replace = edit.replace.trim().to_owned();
                changes.entry(edit.file.clone()).or_default().push(Change { number, place, replace });
            }
        }
        let names: Vec<&str> = mutants.iter().map(|mutant| &*mutant.name).collect();
        Self::write(house, &folder, &names, &changes)
    }

    /// Copies the workspace at `house`, with these mutants in it. Files that are as they should be are left alone, so that
    /// cargo builds only what has changed.
    ///
    /// # Errors
    ///
    /// A change that cannot be made, or a file that cannot be read or written.
    pub fn write(house: &Path, folder: &Path, names: &[&str], changes: &Changes) -> Result<Self, String> {
        let folder = std::path::absolute(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let tree = Self { root: folder.join("tree"), target: folder.join("target") };
        let mut kept = BTreeSet::new();
        for path in files(house).map_err(|error| format!("{}: {error}", house.display()))? {
            let from = house.join(&path);
            let mut content = fs::read(&from).map_err(|error| format!("{}: {error}", from.display()))?;
            if let Some(changes) = changes.get(&path) {
                let text = read(&from)?;
                content = splice(&text, changes).map_err(|error| format!("{path}: {error}"))?.into_bytes();
            } else if path == format!("{FOLDER}/src/built_in.rs") {
                content = built_in(names).into_bytes();
            } else if changes.keys().any(|changed| is_manifest_of(&path, changed)) {
                content = depend_on_switch(&read(&from)?).into_bytes();
            }
            tree.put(&path, &content)?;
            kept.insert(path);
        }
        let there = files(&tree.root).map_err(|error| format!("{}: {error}", tree.root.display()))?;
        for path in there.into_iter().filter(|path| !kept.contains(path)) {
            fs::remove_file(tree.root.join(&path)).map_err(|error| format!("{path}: {error}"))?;
        }
        Ok(tree)
    }

    fn put(&self, path: &str, content: &[u8]) -> Result<(), String> {
        let to = self.root.join(path);
        if fs::read(&to).is_ok_and(|old| old == content) {
            return Ok(());
        }
        let folder = to.parent().unwrap_or(&self.root);
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&to, content));
        written.map_err(|error| format!("{}: {error}", to.display()))
    }

    /// Cargo, for a command on the copy. What it warns of is the mutants' doing.
    #[must_use]
    pub fn cargo(&self) -> Command {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.current_dir(&self.root).env("CARGO_TARGET_DIR", &self.target).env_remove("CARGO_INCREMENTAL");
        command.env("RUSTFLAGS", "--cap-lints=allow").env("CARGO_NET_OFFLINE", "true");
        command
    }

    /// What cargo builds in the copy with these arguments: the programs, each with the folder of its crate.
    ///
    /// # Errors
    ///
    /// If cargo does not start, or fails.
    pub fn programs(&self, arguments: &[&str]) -> Result<Vec<(PathBuf, PathBuf)>, String> {
        let mut cargo = self.cargo();
        cargo.args(arguments).args(["--quiet", "--message-format=json"]).stderr(Stdio::inherit());
        let output = cargo.output().map_err(|error| format!("{cargo:?}: {error}"))?;
        if !output.status.success() {
            return Err(format!("{cargo:?}: {}", output.status));
        }
        Ok(String::from_utf8_lossy(&output.stdout).lines().filter_map(program).collect())
    }

    /// Builds the simulator of the copy, and says where it lies.
    ///
    /// # Errors
    ///
    /// If cargo does not start, or fails.
    pub fn simulator(&self) -> Result<PathBuf, String> {
        let built = self.programs(&["build", "--release", "--package", "seaworthy"])?;
        built.into_iter().next().map(|(program, _)| program).ok_or_else(|| "cargo built no simulator".into())
    }

    /// The root of the copy.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }
}

/// The program that a message of cargo says was built, and the folder of its crate.
fn program(message: &str) -> Option<(PathBuf, PathBuf)> {
    let message: Value = serde_json::from_str(message).ok()?;
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
    Some((message["executable"].as_str()?.into(), folder))
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn built_in(names: &[&str]) -> String {
    format!(
        "//! What is built in.\n\n/// The names of the mutants.\npub const NAMES: &[&str] = &{names:#?};\n"
    )
}

/// Whether a file is the manifest of the crate to which `source` belongs.
fn is_manifest_of(path: &str, source: &str) -> bool {
    path.strip_suffix("Cargo.toml").is_some_and(|krate| {
        !krate.is_empty() && source.strip_prefix(krate).is_some_and(|rest| rest.starts_with("src/"))
    })
}

/// The manifest of a crate that asks which mutants are on.
fn depend_on_switch(manifest: &str) -> String {
    manifest.replacen("[dependencies]\n", "[dependencies]\nseaworthy-mutants.workspace = true\n", 1)
}

/// All files below `root`, without what cargo and git keep there; with `/` in their paths.
///
/// # Errors
///
/// If a folder cannot be read.
pub fn files(root: &Path) -> io::Result<Vec<String>> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        if !folder.exists() || folder.join("CACHEDIR.TAG").exists() {
            continue;
        }
        for entry in fs::read_dir(&folder)? {
            let (path, kind) = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?)))?;
            if path.ends_with(".git") {
                continue;
            }
            if kind.is_dir() && !path.ends_with("target") {
                folders.push(path);
            } else if kind.is_file() {
                let relative = path.strip_prefix(root).unwrap_or(&path).to_string_lossy();
                files.push(relative.replace('\\', "/"));
            }
        }
    }
    Ok(files)
}
