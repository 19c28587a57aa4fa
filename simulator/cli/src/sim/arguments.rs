//! Arguments that several commands have.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::thread;

use clap::Args;

use crate::printing::Printing;

/// Settings that override a scenario file.
#[derive(Args, Clone, Copy)]
pub(super) struct Variation {
    /// For a scenario: another seed than the one in the file.
    #[arg(long)]
    pub(super) seed: Option<u64>,
    /// For a scenario: another number of machines than the one in the file.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) machines: Option<u32>,
}

/// Arguments of commands with many runs, of which some may fail.
#[derive(Args)]
pub(super) struct Many {
    /// The number of runs at once. By default the number of cores.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    jobs: Option<u32>,
    /// Write the resolved plan of the first failed run to this file.
    #[arg(long, value_name = "OUT")]
    plan: Option<PathBuf>,
    #[command(flatten)]
    pub(super) printing: Printing,
}

impl Many {
    /// The number of runs at once.
    pub(super) fn jobs(&self) -> usize {
        jobs(self.jobs)
    }

    /// The file for the plan of a failure.
    pub(super) fn plan(&self) -> Option<&Path> {
        self.plan.as_deref()
    }
}

/// The number of runs at once: as requested, or the number of cores.
pub(super) fn jobs(wanted: Option<u32>) -> usize {
    let cores = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
    wanted.map_or_else(cores, |jobs| jobs as usize)
}

/// Reads a range of seeds such as `1..20`. Both ends are included.
pub(super) fn seeds(text: &str) -> Result<(u64, u64), String> {
    let bounds =
        text.split_once("..").and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)));
    match bounds {
        Some((first, last)) if first <= last => Ok((first, last)),
        Some(_) => Err("the first seed is higher than the last".into()),
        None => Err("expected two numbers such as 1..1000".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::seeds;

    #[test]
    fn ranges_of_seeds_include_both_ends() {
        assert_eq!(seeds("1..20"), Ok((1, 20)));
        assert_eq!(seeds("17..17"), Ok((17, 17)));
        for text in ["", "1", "2..1", "a..b", "1...3", "-1..2"] {
            assert!(seeds(text).is_err(), "{text}");
        }
    }
}
