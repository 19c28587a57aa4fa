//! Whether a release works: its unit runs, as the very binary that was installed, and its probe succeeds so many times
//! in a row.

use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::component::{Probe, ProbeCheck};

use crate::failure::Result;
use crate::manifest::Manifest;
use crate::process::run_bounded;
use crate::site::Site;
use crate::system::{System, UnitState, running_binary};

/// How a component without a probe is judged: its unit must run, as one process, for three seconds.
const UNIT_ONLY: Patience = Patience { period: 1, threshold: 4, deadline: 60 };

/// How a restored release is judged: its probe has succeeded before, so only its unit has to run.
const RESTORED: Patience = Patience { period: 1, threshold: 1, deadline: 30 };

/// How often something must succeed, and by when, in seconds.
struct Patience {
    period: u32,
    threshold: u32,
    deadline: u32,
}

/// Waits until the release of `manifest`, which is the current one, has proven that it works.
pub(crate) fn verify(site: &Site<'_>, manifest: &Manifest) -> Result<()> {
    let patience = match &manifest.probe {
        Some(probe) => Patience {
            period: probe.period_seconds,
            threshold: probe.success_threshold,
            deadline: probe.deadline_seconds,
        },
        None if manifest.unit.is_some() => UNIT_ONLY,
        None => return Ok(()),
    };
    watch(site, manifest, manifest.probe.as_ref(), &patience)
}

/// Waits until the unit of a restored release runs.
pub(crate) fn verify_restored(site: &Site<'_>, manifest: &Manifest) -> Result<()> {
    watch(site, manifest, None, &RESTORED)
}

fn watch(site: &Site<'_>, manifest: &Manifest, probe: Option<&Probe>, patience: &Patience) -> Result<()> {
    let deadline = site.system.now() + Duration::from_secs(patience.deadline.into());
    let period = Duration::from_secs(patience.period.into());
    let mut streak = 0;
    let mut process = None;
    loop {
        match attempt(site, manifest, probe) {
            Ok(pid) => {
                // A process that was replaced in between has crashed in between.
                streak = if pid == process { streak + 1 } else { 1 };
                process = pid;
                if streak >= patience.threshold {
                    return Ok(());
                }
            }
            Err(Attempt::Failed(why)) => {
                streak = 0;
                if site.system.now() >= deadline {
                    return Err(unhealthy(&format!("not healthy after {} s: {why}", patience.deadline)));
                }
            }
            Err(Attempt::Hopeless(why)) => return Err(unhealthy(&why)),
        }
        if streak > 0 && site.system.now() >= deadline {
            return Err(unhealthy(&format!("not healthy long enough after {} s", patience.deadline)));
        }
        site.system.wait(period.min(deadline.saturating_sub(site.system.now())));
    }
}

/// Why a single attempt did not succeed.
enum Attempt {
    /// The next one may.
    Failed(String),
    /// None will.
    Hopeless(String),
}

/// Checks the component once; returns the main process of its unit.
fn attempt(
    site: &Site<'_>,
    manifest: &Manifest,
    probe: Option<&Probe>,
) -> std::result::Result<Option<u32>, Attempt> {
    let mut process = None;
    if let Some(unit) = &manifest.unit {
        match site.system.unit(&unit.name).map_err(|cause| Attempt::Failed(cause.detail))? {
            UnitState::Running { pid } => {
                if unit.binary.is_some() && running_binary(pid) != unit.binary {
                    let executable = unit.executable.as_deref().unwrap_or_default();
                    let why = format!("{}: process {pid} is not {executable}", unit.name);
                    return Err(Attempt::Failed(why));
                }
                process = Some(pid);
            }
            UnitState::Exited if unit.binary.is_none() => {}
            UnitState::Exited | UnitState::Waiting => {
                return Err(Attempt::Failed(format!("{} does not run", unit.name)));
            }
            UnitState::Stopped => return Err(Attempt::Hopeless(format!("{} has stopped", unit.name))),
        }
    }
    if let Some(probe) = probe {
        let timeout = Duration::from_secs(probe.timeout_seconds.into());
        let current = site.layout.current(&manifest.component);
        try_once(&probe.check, timeout, &current, site.system).map_err(Attempt::Failed)?;
    }
    Ok(process)
}

fn unhealthy(detail: &str) -> Cause {
    Cause::new(CauseKind::ProbeFailed, detail)
}

/// Probes once; the error says what is wrong.
fn try_once(
    check: &ProbeCheck,
    timeout: Duration,
    directory: &Path,
    system: &dyn System,
) -> std::result::Result<(), String> {
    match check {
        ProbeCheck::Tcp { port } => {
            TcpStream::connect_timeout(&SocketAddr::from(([127, 0, 0, 1], *port)), timeout)
                .map(drop)
                .map_err(|error| format!("tcp port {port}: {error}"))
        }
        ProbeCheck::Http { port, path } => get(*port, path, timeout),
        ProbeCheck::Exec { command } => exec(command, timeout, directory, system),
    }
}

fn get(port: u16, path: &str, timeout: Duration) -> std::result::Result<(), String> {
    let agent = ureq::Agent::config_builder()
        .proxy(None)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .http_status_as_error(false)
        .timeout_global(Some(timeout))
        .build()
        .new_agent();
    let response = agent
        .get(format!("http://127.0.0.1:{port}{path}"))
        .call()
        .map_err(|error| format!("http: {error}"))?;
    match response.status().as_u16() {
        200..=399 => Ok(()),
        status => Err(format!("http: status {status}")),
    }
}

fn exec(
    command: &[String],
    timeout: Duration,
    directory: &Path,
    system: &dyn System,
) -> std::result::Result<(), String> {
    let Some((program, arguments)) = command.split_first() else { return Err("no command".to_owned()) };
    // What it prints goes to the journal of our unit, where a person finds it; stdout is the protocol's.
    let mut process = Command::new(directory.join(program));
    process.args(arguments).current_dir(directory).stdin(Stdio::null()).stdout(Stdio::null());
    match run_bounded(&mut process, timeout, system) {
        Ok(Some(status)) if status.success() => Ok(()),
        Ok(Some(status)) => Err(format!("exec {program}: {status}")),
        Ok(None) => Err(format!("exec {program}: not done after {} s", timeout.as_secs())),
        Err(cause) => Err(cause.detail),
    }
}
