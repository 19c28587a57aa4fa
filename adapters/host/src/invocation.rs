//! Programs that a release contains or names: run once, for a limited time. The end of their output is kept.

use std::io::{ErrorKind, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use seaworthy_model::invocation::Invocation;

use crate::process::{self, PATH, POLL};
use crate::system::System;

/// So many bytes from the end of a program's output go into a cause.
const WORDS_MAX: usize = 2048;

/// How a program ended.
pub(crate) struct Ending {
    /// In words: `exit status: 0`.
    pub(crate) status: String,
    pub(crate) succeeded: bool,
    /// The end of its output.
    pub(crate) words: String,
}

impl Ending {
    /// Why it did not succeed.
    pub(crate) fn complaint(&self, invocation: &Invocation) -> String {
        let Self { status, words, .. } = self;
        format!("{}: {status}: {words}", invocation.command.join(" ")).trim_end_matches([':', ' ']).to_owned()
    }
}

/// Runs a program in `directory`, which its name is relative to, and waits for its end.
pub(crate) fn run(invocation: &Invocation, directory: &Path, system: &dyn System) -> Ending {
    attempt(invocation, directory, system).unwrap_or_else(|error| Ending {
        status: format!("not run: {error}"),
        succeeded: false,
        words: String::new(),
    })
}

fn attempt(invocation: &Invocation, directory: &Path, system: &dyn System) -> std::io::Result<Ending> {
    let (program, arguments) = invocation.command.split_first().ok_or(ErrorKind::InvalidInput)?;
    let (mut output, input) = std::io::pipe()?;
    let mut command = Command::new(directory.join(program));
    command.args(arguments).current_dir(directory).env("PATH", PATH).process_group(0);
    command.stdin(Stdio::null()).stdout(input.try_clone()?).stderr(input);
    let mut child = command.spawn()?;
    // Our copy of the write end is closed, and output is read as it comes without blocking: a program that prints much does
    // not stall, and a daemon that it leaves behind does not make us wait.
    drop(command);
    fcntl_setfl(&output, fcntl_getfl(&output)? | OFlags::NONBLOCK)?;
    let deadline = system.now() + Duration::from_secs(invocation.timeout_seconds.into());
    let mut said = Vec::new();
    loop {
        let ended = child.try_wait()?;
        listen(&mut output, &mut said)?;
        if let Some(status) = ended {
            return Ok(Ending {
                status: status.to_string(),
                succeeded: status.success(),
                words: words(&said),
            });
        }
        if system.now() >= deadline {
            process::kill(&mut child)?;
            let status = format!("not done after {} s", invocation.timeout_seconds);
            return Ok(Ending { status, succeeded: false, words: words(&said) });
        }
        system.wait(POLL);
    }
}

/// Reads what is there, and keeps the end of it.
fn listen(output: &mut impl Read, said: &mut Vec<u8>) -> std::io::Result<()> {
    let mut buffer = [0; 4096];
    loop {
        match output.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(length) => said.extend(&buffer[..length]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        let surplus = said.len().saturating_sub(WORDS_MAX);
        said.drain(..surplus);
    }
}

fn words(said: &[u8]) -> String {
    String::from_utf8_lossy(said).trim().to_owned()
}
