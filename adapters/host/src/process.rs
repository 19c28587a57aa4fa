//! Child processes that get a limited time.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::failure::{self, Result};
use crate::system::System;

/// The search path of every program that is run here: a command over SSH need not have one.
pub(crate) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// How often a running process is looked at.
pub(crate) const POLL: Duration = Duration::from_millis(10);

/// Runs a command; `None` when it had to be killed, with all that it started.
pub(crate) fn run_bounded(
    command: &mut Command,
    timeout: Duration,
    system: &dyn System,
) -> Result<Option<ExitStatus>> {
    let program = format!("{}", command.get_program().display());
    let mut child =
        command.process_group(0).spawn().map_err(|error| failure::on("run", Path::new(&program), &error))?;
    wait_bounded(&mut child, timeout, system)
        .map_err(|error| failure::on("wait for", Path::new(&program), &error))
}

/// Waits for a process that leads a group of its own; `None` when it had to be killed.
pub(crate) fn wait_bounded(
    child: &mut Child,
    timeout: Duration,
    system: &dyn System,
) -> io::Result<Option<ExitStatus>> {
    let deadline = system.now() + timeout;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if system.now() >= deadline {
            return kill(child).map(|()| None);
        }
        system.wait(POLL);
    }
}

/// Kills a process and the group that it leads, and waits for its end.
pub(crate) fn kill(child: &mut Child) -> io::Result<()> {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // It may have ended just now.
        let _ = kill_process_group(group, Signal::KILL);
    }
    child.wait().map(drop)
}
