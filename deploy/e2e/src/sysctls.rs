//! Kernel settings that exist once per machine: those that a node changes, and those that many hosts need.
//!
//! Several runs share them, and a kubelet refuses to start when they differ from what it expects. So each run records the values
//! from before the first run, and only the last run to end restores them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::cache;

/// The file in a run's state folder that holds the settings as they were, one per line: path and value.
pub(crate) const RECORD: &str = "sysctls";

/// What the component `node-prerequisites` sets, and kubelet compares.
const CHANGED_BY_NODES: [&str; 6] = [
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
];

/// Every systemd, kubelet and containerd watches files, all as the same user. Linux allows a user 128 such instances.
const WATCHERS: &str = "fs/inotify/max_user_instances";
const WATCHERS_NEEDED: u64 = 8192;

/// The settings as they were. Dropping it restores them, unless another run still needs them.
#[derive(Debug)]
pub(crate) struct Sysctls {
    record: PathBuf,
    keep: bool,
}

impl Sysctls {
    /// Writes the record of a run whose state folder this is, and raises what hosts need.
    pub(crate) fn record(state: &Path, keep: bool) -> Result<Self> {
        let record = state.join(RECORD);
        let _lock = lock(&record)?;
        let text = match others(&record)?.first() {
            // That run may have changed the settings already.
            Some(other) => {
                fs::read_to_string(other).with_context(|| format!("cannot read {}", other.display()))?
            }
            None => present()?,
        };
        fs::write(&record, text).with_context(|| format!("cannot write {}", record.display()))?;
        let sysctls = Self { record, keep };
        if value(WATCHERS)?.parse::<u64>().is_ok_and(|allowed| allowed < WATCHERS_NEEDED) {
            // Where root may not, a few hosts work with what there is.
            let _ = fs::write(place(WATCHERS), WATCHERS_NEEDED.to_string());
        }
        Ok(sysctls)
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

/// Removes the record of a run, if there is one. Without any other record, it first restores what the record says.
pub(crate) fn restore(record: &Path) -> Result<()> {
    let _lock = lock(record)?;
    let Ok(text) = fs::read_to_string(record) else { return Ok(()) };
    if others(record)?.is_empty() {
        for (name, before) in text.lines().filter_map(|line| line.split_once(' ')) {
            // Written only where it differs: not every machine lets root write all of them.
            if value(name).is_ok_and(|now| now != before) {
                fs::write(place(name), before).with_context(|| format!("cannot restore {name}"))?;
            }
        }
    }
    fs::remove_file(record).with_context(|| format!("cannot remove {}", record.display()))
}

/// Keeps other runs from the settings while one looks at them or changes them.
fn lock(record: &Path) -> Result<File> {
    cache::lock(states(record)?, RECORD)
}

/// The records of other runs.
fn others(record: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(states(record)?)? {
        let other = entry?.path().join(RECORD);
        if other != record && other.is_file() {
            found.push(other);
        }
    }
    Ok(found)
}

/// The folder that holds the state folders of all runs.
fn states(record: &Path) -> Result<&Path> {
    record.ancestors().nth(2).context("a record lies in the state folder of a run")
}

fn present() -> Result<String> {
    let names = CHANGED_BY_NODES.into_iter().chain([WATCHERS]);
    names.map(|name| Ok(format!("{name} {}\n", value(name)?))).collect()
}

fn value(name: &str) -> Result<String> {
    let text = fs::read_to_string(place(name)).with_context(|| format!("cannot read {name}"))?;
    Ok(text.trim().to_owned())
}

fn place(name: &str) -> PathBuf {
    Path::new("/proc/sys").join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_run_takes_over_what_the_first_has_recorded_and_the_last_one_restores() {
        let states = std::env::temp_dir().join(format!("seaworthy-sysctls-{}", std::process::id()));
        let run = |name: &str, text: &str| {
            let state = states.join(name);
            fs::create_dir_all(&state).unwrap();
            fs::write(state.join(RECORD), text).unwrap();
            state
        };
        // A setting that does not exist is not restored, so this changes nothing on the machine.
        let first = run("first", "no/such/setting 1\n");
        let second = states.join("second");
        fs::create_dir_all(&second).unwrap();
        let sysctls = Sysctls { record: second.join(RECORD), keep: false };
        fs::write(&sysctls.record, fs::read(&others(&sysctls.record).unwrap()[0]).unwrap()).unwrap();
        assert_eq!(others(&first.join(RECORD)).unwrap(), [second.join(RECORD)]);
        restore(&first.join(RECORD)).unwrap();
        assert!(!first.join(RECORD).exists() && second.join(RECORD).exists());
        drop(sysctls);
        assert!(!second.join(RECORD).exists());
        restore(&second.join(RECORD)).unwrap();
        fs::remove_dir_all(&states).unwrap();
    }
}
