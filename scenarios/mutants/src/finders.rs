//! Who finds a mutant.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use seaworthy_mutants::Tree;
use seaworthy_mutants::switch::VARIABLE;

/// A program that has not ended by then hangs, and so the mutant is found.
const PATIENCE: Duration = Duration::from_secs(300);

/// No program needs so many KiB of memory, unless a mutant makes it.
const MEMORY_MAX: u32 = 12_000_000;

/// Whoever finds a mutant first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finder {
    Swarm,
    Files,
    UnitTests,
    Nobody,
}

impl Finder {
    pub(crate) const ALL: &[Self] = &[Self::Swarm, Self::Files, Self::UnitTests, Self::Nobody];
}

impl fmt::Display for Finder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Swarm => "swarm",
            Self::Files => "files",
            Self::UnitTests => "unit tests",
            Self::Nobody => "nobody",
        })
    }
}

/// The programs that look for mutants, built from a mutated copy.
pub(crate) struct Finders {
    root: PathBuf,
    seaworthy: PathBuf,
    /// The programs of the unit tests, each with the folder that it runs in.
    tests: Vec<(PathBuf, PathBuf)>,
}

impl Finders {
    pub(crate) fn build(tree: &Tree) -> Result<Self, String> {
        let seaworthy = tree.simulator()?;
        let unit = ["test", "--no-run", "--package", "seaworthy-engine", "--package", "seaworthy-check"];
        let mut tests = tree.programs(&unit)?;
        // It judges the tree, and a mutated one is not as it should be.
        tests.retain(|(program, _)| !name(program).starts_with("tidy-"));
        Ok(Self { root: tree.root().to_owned(), seaworthy, tests })
    }

    /// Who finds a mutant first, or fails without one.
    pub(crate) fn find(&self, mutant: Option<&str>) -> Result<Finder, String> {
        let notices = |program: &Path, folder: &Path, arguments: &[&str]| {
            fails(program, folder, arguments, mutant)
                .map_err(|error| format!("{}: {error}", program.display()))
        };
        let sim = |arguments: &[&str]| notices(&self.seaworthy, &self.root, arguments);
        let swarm =
            ["sim", "swarm", "scenarios/fast", "--machines", "60", "--seeds", "1..500", "--jobs", "1"];
        if sim(&swarm)? {
            return Ok(Finder::Swarm);
        }
        for file in self.scenarios()? {
            if sim(&["sim", "run", &file, "--twin"])? {
                return Ok(Finder::Files);
            }
        }
        for (program, folder) in &self.tests {
            if notices(program, folder, &["--quiet"])? {
                return Ok(Finder::UnitTests);
            }
        }
        Ok(Finder::Nobody)
    }

    fn scenarios(&self) -> Result<Vec<String>, String> {
        let mut files = Vec::new();
        for folder in ["fast", "incidents", "regressions"] {
            let folder = self.root.join("scenarios").join(folder);
            let entries =
                std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
            let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
            let yaml = paths.filter(|path| path.extension().is_some_and(|extension| extension == "yaml"));
            files.extend(yaml.map(|path| path.to_string_lossy().into_owned()));
        }
        files.sort();
        Ok(files)
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Whether a program with this mutant in it fails, hangs, or wants too much memory.
fn fails(program: &Path, folder: &Path, arguments: &[&str], mutant: Option<&str>) -> std::io::Result<bool> {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -v {MEMORY_MAX}; exec \"$0\" \"$@\"")]).arg(program).args(arguments);
    command.current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
    match mutant {
        Some(mutant) => command.env(VARIABLE, mutant),
        None => command.env_remove(VARIABLE),
    };
    let mut child = command.spawn()?;
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(!status.success());
        }
        if begun.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            return Ok(true);
        }
        thread::sleep(Duration::from_millis(20));
    }
}
