//! Prometheus, as Debian has it: unpacked into the cache, so that no service is started on this machine.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::cache;
use crate::fleet::METRICS_PORT;
use crate::process::{Process, run_to_end};
use crate::world::World;

/// Where a Prometheus answers.
pub const PORT: u16 = 9090;

/// Starts a Prometheus in the control plane's namespace, at this address. It reads the page of the operator each second.
///
/// # Errors
/// It is not there, or cannot be started.
pub fn watch(world: &World, address: Ipv4Addr, rules: &[&Path]) -> Result<Process> {
    let folder = world.run().state().join("prometheus");
    fs::create_dir_all(&folder)?;
    let config = folder.join("prometheus.yml");
    let rules: Vec<String> = rules.iter().map(|file| file.display().to_string()).collect();
    let text = format!(
        "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: [{}]\nscrape_configs:\n\
         - job_name: seaworthy\n  static_configs: [{{targets: ['127.0.0.1:{METRICS_PORT}']}}]\n",
        rules.join(", "),
    );
    fs::write(&config, text)?;
    let mut command = world.command(&ensure()?.server);
    command.arg(format!("--config.file={}", config.display()));
    command.arg(format!("--storage.tsdb.path={}", folder.join("data").display()));
    command.arg(format!("--web.listen-address={address}:{PORT}"));
    world.spawn("prometheus", &mut command)
}

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
