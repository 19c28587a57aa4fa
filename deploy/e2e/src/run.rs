//! One run: its folders, and its id, which is part of every name that is visible outside of the run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result};

use crate::process::run_to_end;
use crate::{cache, parts};

/// What every run id starts with; the id of the process and a number follow.
pub(crate) const PREFIX: &str = "seaworthy-";

/// In the state folder of a run that is to survive its process.
pub(crate) const KEEP_MARK: &str = "keep";

static NEXT: AtomicU32 = AtomicU32::new(0);

/// The identity and the folders of one run. Dropping it removes the state folder, not the logs.
#[derive(Debug)]
pub struct Run {
    id: String,
    state: PathBuf,
    logs: PathBuf,
    keep: bool,
}

impl Run {
    /// Starts a run: gives it an id, a state folder in the cache and a folder for its logs, and prints the latter.
    ///
    /// # Errors
    /// A folder cannot be made.
    pub fn begin() -> Result<Self> {
        let id = format!("{PREFIX}{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let state = states()?.join(&id);
        let logs = log_folder().join(&id);
        for folder in [&state, &logs] {
            cache::remove_tree(folder)?;
            fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        }
        let keep = std::env::var_os("SEAWORTHY_E2E_KEEP").is_some_and(|value| value == "1");
        if keep {
            fs::write(state.join(KEEP_MARK), "")?;
        }
        eprintln!("run {id}: logs in {}", logs.display());
        Ok(Self { id, state, logs, keep })
    }

    /// `seaworthy-PID-NUMBER`.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The folder for disks, keys and data; removed at the end.
    #[must_use]
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// The folder for logs; it stays.
    #[must_use]
    pub fn logs(&self) -> &Path {
        &self.logs
    }

    /// The log of one process.
    #[must_use]
    pub fn log(&self, name: &str) -> PathBuf {
        self.logs.join(format!("{name}.log"))
    }

    /// Whether everything is to be left as it is at the end (`SEAWORTHY_E2E_KEEP=1`).
    #[must_use]
    pub fn keep(&self) -> bool {
        self.keep
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if self.keep {
            return;
        }
        if let Err(error) = cache::remove_tree(&self.state) {
            eprintln!("{error:#}");
        }
    }
}

/// Why no world can be started here, or `None` if one can. Missing packages are no reason: on a machine that could have
/// them, a test must fail, not be skipped.
#[must_use]
pub fn unsupported() -> Option<String> {
    if !cfg!(target_os = "linux") {
        return Some("real hosts need Linux".to_owned());
    }
    match run_to_end(Command::new("id").arg("-u")) {
        Ok(id) if id.trim() == "0" => None,
        Ok(_) => Some("namespaces, mounts and real hosts need root".to_owned()),
        Err(error) => Some(format!("cannot tell whether this is root: {error:#}")),
    }
}

/// Runs a test of real parts. Where none can run (see [`unsupported`]), it says why and succeeds.
///
/// # Errors
/// The test fails.
pub fn where_supported(act: impl FnOnce() -> Result<()>) -> Result<()> {
    if let Some(reason) = unsupported() {
        eprintln!("SKIPPED: {reason}");
        return Ok(());
    }
    act()
}

/// The folder that holds the state folders of all runs.
pub(crate) fn states() -> Result<PathBuf> {
    Ok(cache::folder()?.join("runs"))
}

/// The folder that holds the logs of all runs.
#[must_use]
pub fn log_folder() -> PathBuf {
    let set = |name| std::env::var_os(name).map(PathBuf::from);
    set("SEAWORTHY_E2E_LOGS").unwrap_or_else(|| {
        let checkout = parts::home().ancestors().nth(2).unwrap_or(parts::home());
        set("CARGO_TARGET_DIR").unwrap_or_else(|| checkout.join("target")).join("e2e-logs")
    })
}
