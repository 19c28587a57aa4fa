//! Prometheus, as Debian has it: unpacked into the cache, so that no service is started on this machine.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::cache;
use crate::process::run_to_end;

/// The programs of Prometheus.
#[derive(Clone, Debug)]
pub struct Prometheus {
    /// The server.
    pub server: PathBuf,
    /// What checks rules and runs their tests.
    pub promtool: PathBuf,
}

/// Downloads what is not in the cache yet.
///
/// # Errors
/// This is no Debian, or the download fails.
pub fn ensure() -> Result<Prometheus> {
    let show = || run_to_end(Command::new("apt-cache").args(["show", "--no-all-versions", "prometheus"]));
    let shown = show().or_else(|_| {
        run_to_end(Command::new("apt-get").args(["update", "-q"]))?;
        show()
    });
    let shown = shown.context("Prometheus is taken from Debian")?;
    let version = shown.lines().find_map(|line| line.strip_prefix("Version: "));
    let version = version.context("Debian's prometheus has no version")?.replace(['+', '~', ':'], "-");
    let folder = cache::ensure("parts", &format!("prometheus-{version}"), |partial| {
        run_to_end(Command::new("apt-get").args(["download", "prometheus"]).current_dir(partial))?;
        for entry in fs::read_dir(partial)? {
            let package = entry?.path();
            run_to_end(Command::new("dpkg-deb").arg("-x").arg(&package).arg(partial))?;
            fs::remove_file(package)?;
        }
        Ok(())
    })?;
    let programs = folder.join("usr/bin");
    Ok(Prometheus { server: programs.join("prometheus"), promtool: programs.join("promtool") })
}
