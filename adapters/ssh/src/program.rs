//! The host program: one static binary per architecture, and where it lies on a host.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::{fs, io};

use seaworthy_model::component::Architecture;
use seaworthy_model::digest::Digest;

/// Where the host program is kept on hosts unless told otherwise.
pub const DIRECTORY: &str = "/opt/seaworthy/bin";

/// The host programs that can be delivered.
#[derive(Clone, Debug)]
pub struct Programs {
    directory: String,
    by_architecture: BTreeMap<Architecture, Program>,
}

impl Programs {
    /// No program yet, to be kept in [`DIRECTORY`].
    #[must_use]
    pub fn new() -> Self {
        Self { directory: DIRECTORY.to_owned(), by_architecture: BTreeMap::new() }
    }

    /// Keeps them in another directory on hosts. It and everything above it must belong to root there.
    ///
    /// # Errors
    /// When `directory` is not an absolute path of plain characters (letters, digits, `.`, `_`, `-`) without `..`.
    pub fn in_directory(mut self, directory: &str) -> Result<Self, String> {
        let plain = |name: &str| {
            !matches!(name, "" | "." | "..")
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        };
        match directory.strip_prefix('/') {
            Some(rest) if rest.split('/').all(plain) => {
                directory.clone_into(&mut self.directory);
                Ok(self)
            }
            _ => Err(format!("directory of the host program `{directory}` is not a plain absolute path")),
        }
    }

    /// Adds the program for hosts of `architecture`, kept in memory.
    #[must_use]
    pub fn with(mut self, architecture: Architecture, binary: Vec<u8>) -> Self {
        let program = Program { digest: Digest::of(&binary), source: Source::Memory(Arc::new(binary)) };
        self.by_architecture.insert(architecture, program);
        self
    }

    /// Adds the program for hosts of `architecture` that lies in the file `path` and has these bytes now. The file is read
    /// again for deliveries, so that megabytes are not kept for what is seldom needed.
    #[must_use]
    pub fn with_file(mut self, architecture: Architecture, path: &Path, binary: &[u8]) -> Self {
        let source = Source::File { path: path.to_owned(), shared: Arc::default() };
        self.by_architecture.insert(architecture, Program { digest: Digest::of(binary), source });
        self
    }

    pub(crate) fn get(&self, architecture: Architecture) -> Option<&Program> {
        self.by_architecture.get(&architecture)
    }

    pub(crate) fn directory(&self) -> &str {
        &self.directory
    }

    /// Where `program` lies on a host.
    pub(crate) fn path(&self, program: &Program) -> String {
        format!("{}/seaworthy-host-{}", self.directory, program.digest.short())
    }
}

impl Default for Programs {
    fn default() -> Self {
        Self::new()
    }
}

/// One build of the host program.
#[derive(Clone)]
pub(crate) struct Program {
    pub(crate) digest: Digest,
    source: Source,
}

/// Where the bytes of a program are.
#[derive(Clone)]
enum Source {
    Memory(Arc<Vec<u8>>),
    File {
        path: PathBuf,
        /// The bytes while a delivery is under way. Deliveries at the same time share them.
        shared: Arc<Mutex<Weak<Vec<u8>>>>,
    },
}

impl Program {
    /// The bytes.
    ///
    /// # Errors
    /// When the file cannot be read, or was changed since the start.
    pub(crate) fn binary(&self) -> io::Result<Arc<Vec<u8>>> {
        let (path, shared) = match &self.source {
            Source::Memory(binary) => return Ok(Arc::clone(binary)),
            Source::File { path, shared } => (path, shared),
        };
        let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(binary) = shared.upgrade() {
            return Ok(binary);
        }
        let binary = Arc::new(fs::read(path)?);
        if Digest::of(&binary) != self.digest {
            let detail = format!("{} was changed since the operator started", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidData, detail));
        }
        *shared = Arc::downgrade(&binary);
        Ok(binary)
    }
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Program({})", self.digest.short())
    }
}

/// A host program that was found whole on a host: how to call it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The line for the account's shell.
    pub(crate) line: String,
}

impl Place {
    /// The program at `path`, for an account that is root or becomes it through sudo.
    pub(crate) fn new(root: bool, path: &str) -> Self {
        let sudo = if root { "" } else { "sudo -n " };
        Self { line: format!("{sudo}{path} serve") }
    }
}

/// What `uname -m` calls `architecture`.
pub(crate) const fn machine(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::Amd64 => "x86_64",
        Architecture::Arm64 => "aarch64",
        Architecture::Ppc64le => "ppc64le",
        Architecture::Riscv64 => "riscv64",
        Architecture::S390x => "s390x",
    }
}

/// The architecture that `uname -m` calls `name`.
pub(crate) fn architecture(name: &str) -> Option<Architecture> {
    Architecture::ALL.into_iter().find(|architecture| machine(*architecture) == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_lies_under_its_digest() {
        let programs = Programs::new().with(Architecture::Amd64, b"binary".to_vec());
        let program = programs.get(Architecture::Amd64).unwrap();
        assert_eq!(
            programs.path(program),
            format!("/opt/seaworthy/bin/seaworthy-host-{}", Digest::of(b"binary").short())
        );
        assert!(programs.get(Architecture::Arm64).is_none());
    }

    #[test]
    fn a_file_is_read_when_it_is_needed_and_kept_no_longer() {
        let path = std::env::temp_dir().join(format!("seaworthy-program-{}", std::process::id()));
        fs::write(&path, b"binary").unwrap();
        let programs = Programs::new().with_file(Architecture::Amd64, &path, b"binary");
        let program = programs.get(Architecture::Amd64).unwrap().clone();
        let first = program.binary().unwrap();
        fs::write(&path, b"others").unwrap();
        assert!(Arc::ptr_eq(&first, &program.binary().unwrap()), "deliveries at the same time share it");
        drop(first);
        let error = program.binary().unwrap_err().to_string();
        assert!(error.contains("changed since the operator started"), "{error}");
        fs::remove_file(&path).unwrap();
        assert!(program.binary().is_err());
    }

    #[test]
    fn a_directory_that_a_shell_could_misread_is_refused() {
        for bad in ["", "opt", "/", "/opt/", "/opt/../etc", "/opt/a b", "/opt/$x", "/opt/'", "/opt//x"] {
            assert!(Programs::new().in_directory(bad).is_err(), "{bad}");
        }
        assert_eq!(
            Programs::new().in_directory("/srv/.sea-worthy_1.0").unwrap().directory(),
            "/srv/.sea-worthy_1.0"
        );
    }
}
