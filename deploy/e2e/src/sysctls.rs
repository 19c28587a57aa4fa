//! Settings of the kernel that exist once per machine and that a kubelet in a host changes.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The file in a run's state folder that holds the settings as they were, one per line: path and value.
pub(crate) const RECORD: &str = "sysctls";

/// What kubelet sets when it starts.
const CHANGED_BY_KUBELET: [&str; 6] = [
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
];

/// The settings as they were. Dropping it restores them.
#[derive(Debug)]
pub(crate) struct Sysctls {
    record: PathBuf,
    keep: bool,
}

impl Sysctls {
    pub(crate) fn record(state: &Path, keep: bool) -> Result<Self> {
        let record = state.join(RECORD);
        let mut text = String::new();
        for name in CHANGED_BY_KUBELET {
            let value = fs::read_to_string(place(name)).with_context(|| format!("cannot read {name}"))?;
            text += &format!("{name} {}\n", value.trim());
        }
        fs::write(&record, text).with_context(|| format!("cannot write {}", record.display()))?;
        Ok(Self { record, keep })
    }
}

impl Drop for Sysctls {
    fn drop(&mut self) {
        if self.keep {
            return;
        }
        if let Err(error) = restore(&self.record) {
            eprintln!("{error:#}");
        }
    }
}

/// Restores what a record says, if there is one.
pub(crate) fn restore(record: &Path) -> Result<()> {
    let Ok(text) = fs::read_to_string(record) else { return Ok(()) };
    for (name, value) in text.lines().filter_map(|line| line.split_once(' ')) {
        // Written only where it differs: not every machine lets root write all of them.
        if fs::read_to_string(place(name)).is_ok_and(|now| now.trim() != value) {
            fs::write(place(name), value).with_context(|| format!("cannot restore {name}"))?;
        }
    }
    Ok(())
}

fn place(name: &str) -> PathBuf {
    Path::new("/proc/sys").join(name)
}
