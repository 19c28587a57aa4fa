//! What a process has used, as the kernel counts it.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};

/// The kernel tells processor time in hundredths of a second, on every architecture.
const TICK: Duration = Duration::from_millis(10);

/// Processor time and memory of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Processor time of all its threads, user and system.
    pub cpu: Duration,
    /// Memory that it holds now, in KiB.
    pub resident: u64,
    /// The most memory that it ever held, in KiB.
    pub peak: u64,
}

impl Usage {
    /// That of a process.
    ///
    /// # Errors
    /// There is no such process.
    pub fn of(process: u32) -> Result<Self> {
        let read = |file: &str| {
            let path = format!("/proc/{process}/{file}");
            fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))
        };
        let (stat, status) = (read("stat")?, read("status")?);
        Self::parse(&stat, &status).with_context(|| format!("process {process}: {stat}"))
    }

    fn parse(stat: &str, status: &str) -> Option<Self> {
        // The name of the program, in parentheses, may have spaces.
        let (_, fields) = stat.rsplit_once(')')?;
        let field = |number: usize| fields.split_whitespace().nth(number)?.parse::<u32>().ok();
        let line = |name: &str| {
            let found = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            found.trim().strip_suffix(" kB")?.parse().ok()
        };
        Some(Self { cpu: TICK * (field(11)? + field(12)?), resident: line("VmRSS")?, peak: line("VmHWM")? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_the_kernel_are_read() {
        let stat = "7 (a b) c) S 1 7 7 0 -1 4194560 9 0 0 0 150 25 0 0 20 0 3 0 99 1 2";
        let status = "Name:\ta b\nVmHWM:\t   2048 kB\nVmRSS:\t   1024 kB\n";
        let usage = Usage { cpu: Duration::from_millis(1750), resident: 1024, peak: 2048 };
        assert_eq!(Usage::parse(stat, status), Some(usage));
        assert_eq!(Usage::parse("7 (x) S 1", status), None);
        assert!(Usage::of(std::process::id()).unwrap().peak > 0);
    }
}
