//! Where everything is.

use std::path::{Component, Path, PathBuf};

use seaworthy_model::host::OperationId;

/// The program's own directory, unless told otherwise.
pub const ROOT: &str = "/opt/seaworthy";

/// The directory inside a release that is the program's own.
pub(crate) const OWN: &str = ".seaworthy";

/// The places on a host. `root` holds what the program keeps; everything else on the host is looked up below
/// `prefix`, which is `/` except in tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    root: PathBuf,
    prefix: PathBuf,
}

impl Layout {
    /// Places below `root` and `prefix`, both absolute.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>, prefix: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), prefix: prefix.into() }
    }

    /// The program's own directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What the host's other paths are relative to.
    #[must_use]
    pub fn prefix(&self) -> &Path {
        &self.prefix
    }

    /// Where the absolute path `path` of the host really is.
    #[must_use]
    pub fn on_host(&self, path: &str) -> PathBuf {
        let mut place = self.prefix.clone();
        place.extend(Path::new(path).components().filter(|part| matches!(part, Component::Normal(_))));
        place
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.root.join("state")
    }

    /// Held while the memory is read and changed, and an operation is accepted.
    pub(crate) fn admission_lock(&self) -> PathBuf {
        self.state().join("admission.lock")
    }

    /// Held by the process that executes an operation, as long as it lives.
    pub(crate) fn execution_lock(&self) -> PathBuf {
        self.state().join("execution.lock")
    }

    /// Held by the process that fetches an artefact before an operation needs it.
    pub(crate) fn fetch_lock(&self) -> PathBuf {
        self.state().join("fetch.lock")
    }

    pub(crate) fn memory(&self) -> PathBuf {
        self.state().join("memory.json")
    }

    /// The identity in the making, with its key.
    pub(crate) fn identity(&self) -> PathBuf {
        self.state().join("identity.json")
    }

    pub(crate) fn identity_journal(&self) -> PathBuf {
        self.state().join("identity.journal")
    }

    pub(crate) fn people_journal(&self) -> PathBuf {
        self.state().join("people.journal")
    }

    pub(crate) fn operations(&self) -> PathBuf {
        self.state().join("operations")
    }

    pub(crate) fn order(&self, id: OperationId) -> PathBuf {
        self.operations().join(format!("{id}.json"))
    }

    pub(crate) fn journal(&self, id: OperationId) -> PathBuf {
        self.operations().join(format!("{id}.journal"))
    }

    pub(crate) fn staging(&self) -> PathBuf {
        self.root.join("staging")
    }

    /// What was fetched before an operation needs it.
    pub(crate) fn artefacts(&self) -> PathBuf {
        self.root.join("artefacts")
    }

    pub(crate) fn releases(&self, component: &str) -> PathBuf {
        self.root.join("releases").join(component)
    }

    pub(crate) fn manifests(&self, component: &str) -> PathBuf {
        self.root.join("manifests").join(component)
    }

    pub(crate) fn manifest(&self, component: &str, directory: &str) -> PathBuf {
        self.manifests(component).join(format!("{directory}.json"))
    }

    pub(crate) fn currents(&self) -> PathBuf {
        self.root.join("current")
    }

    /// The one link that says which release of `component` is the current one.
    #[must_use]
    pub fn current(&self, component: &str) -> PathBuf {
        self.currents().join(component)
    }

    pub(crate) fn previous(&self, component: &str) -> PathBuf {
        self.root.join("previous").join(component)
    }
}
