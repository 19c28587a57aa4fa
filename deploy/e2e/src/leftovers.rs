//! Removes what is left of runs whose process was killed.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::run::{KEEP_MARK, PREFIX, states};
use crate::{cache, cgroups, network, sysctls};

/// Which runs [`sweep`] removes; never one whose process lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sweep {
    /// All that were not to be kept.
    Abandoned,
    /// The one with this id, also if it was to be kept (`SEAWORTHY_E2E_KEEP=1`).
    Run(String),
}

/// Removes processes, namespaces, mounts, cgroups and files of runs whose process no longer lives, and returns their ids.
///
/// # Errors
/// Something of a run cannot be removed.
pub fn sweep(which: &Sweep) -> Result<Vec<String>> {
    let states = states()?;
    let _lock = cache::lock(&states, "sweep")?;
    let namespaces = network::all()?;
    let mut runs = namespaces.iter().filter_map(|name| run_of(name)).collect::<BTreeSet<_>>();
    for entry in fs::read_dir(&states)? {
        let name = entry?.file_name();
        runs.extend(name.to_str().and_then(run_of));
    }
    let gone = |run: &Id| !Path::new(&format!("/proc/{}", run.process)).exists();
    let wanted = |run: &Id| match which {
        Sweep::Abandoned => !states.join(&run.text).join(KEEP_MARK).exists(),
        Sweep::Run(id) => run.text == *id,
    };
    let mut removed = Vec::new();
    for run in runs.into_iter().filter(|run| gone(run) && wanted(run)) {
        remove(&run, &namespaces, &states).with_context(|| format!("cannot remove run {}", run.text))?;
        eprintln!("removed what was left of run {}", run.text);
        removed.push(run.text);
    }
    Ok(removed)
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Id {
    text: String,
    process: u32,
}

/// The run that a name belongs to: `seaworthy-PID-NUMBER`, perhaps followed by a role.
fn run_of(name: &str) -> Option<Id> {
    let mut parts = name.strip_prefix(PREFIX)?.split('-');
    let process = parts.next()?.parse::<u32>().ok()?;
    let number = parts.next()?.parse::<u32>().ok()?;
    Some(Id { text: format!("{PREFIX}{process}-{number}"), process })
}

fn remove(run: &Id, namespaces: &[String], states: &Path) -> Result<()> {
    // Processes first: they hold everything else busy. All of them live in a namespace of the run.
    for name in namespaces.iter().filter(|name| run_of(name).as_ref() == Some(run)) {
        network::remove(name)?;
    }
    let state = states.join(&run.text);
    if let Ok(record) = fs::read_to_string(state.join(cgroups::RECORD)) {
        for folder in record.lines() {
            cgroups::remove(Path::new(folder))?;
        }
    }
    sysctls::restore(&state.join(sysctls::RECORD))?;
    cache::remove_tree(&state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_its_run() {
        let run = run_of("seaworthy-4711-2-host-1").unwrap();
        assert_eq!(run, Id { text: "seaworthy-4711-2".to_owned(), process: 4711 });
        assert_eq!(run_of("seaworthy-4711-2"), Some(run));
        assert_eq!(run_of("seaworthy-x-2"), None);
        assert_eq!(run_of("other-4711-2"), None);
    }
}
