//! Commands that run to their end, and processes that run until they are stopped.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::deadline::eventually;

/// Runs `command` to its end and returns what it wrote to its standard output.
///
/// # Errors
/// The command cannot be started, or it fails; then the error holds the command, its status and its standard error.
pub fn run_to_end(command: &mut Command) -> Result<String> {
    let output = output(command, b"")?;
    if !output.status.success() {
        bail!(
            "{}: {}: {}{}",
            described(command),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim(),
            String::from_utf8_lossy(&output.stdout).trim()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs `command` to its end with `input` on its standard input. A failure of the command is no error here.
pub(crate) fn output(command: &mut Command, input: &[u8]) -> Result<Output> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("cannot start {}", described(command)))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A command that does not read its input may be gone already; its status says what matters.
        let _ = stdin.write_all(input);
    }
    let process = child.id();
    let waiting = thread::current();
    let output = thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let output = child.wait_with_output();
            waiting.unpark();
            output
        });
        while !reader.is_finished() {
            thread::park_timeout(Duration::from_millis(200));
            if is_stopped(process) {
                // It may have ended meanwhile.
                let _ = signal("CONT", process);
            }
        }
        reader.join()
    });
    let Ok(output) = output else { bail!("the reader of {} panicked", described(command)) };
    output.with_context(|| format!("cannot read from {}", described(command)))
}

/// Whether a process stands still. A host that shuts down stops everything in it before it ends it, and `nsenter` stops
/// itself when its child is stopped: then nobody would let it go on, and the host would wait for it for ever.
fn is_stopped(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
}

/// Runs a command that takes minutes, with a line of progress every 20 s; what it writes goes to `log`.
pub(crate) fn run_with_progress(what: &str, command: &mut Command, log: &Path) -> Result<()> {
    const BETWEEN_LINES: Duration = Duration::from_secs(20);
    let start = Instant::now();
    let mut next_line = BETWEEN_LINES;
    eprintln!("{what} ...");
    // In our process group: who interrupts us interrupts the build.
    let mut process = Process::start(what, command, log)?;
    let status = loop {
        if let Some(status) = process.exited()? {
            break status;
        }
        if start.elapsed() >= next_line {
            eprintln!("{what} ... {} s", start.elapsed().as_secs());
            next_line += BETWEEN_LINES;
        }
        thread::sleep(Duration::from_millis(100));
    };
    if !status.success() {
        bail!("{what}: {}: {status}\n{}", described(command), crate::logs::tail(log, 30));
    }
    eprintln!("{what}: done in {} s", start.elapsed().as_secs());
    Ok(())
}

fn described(command: &Command) -> String {
    let arguments = command.get_args().map(|argument| argument.to_string_lossy());
    let words = std::iter::once(command.get_program().to_string_lossy()).chain(arguments);
    words.collect::<Vec<_>>().join(" ")
}

/// A process of ours that runs in the background. Dropping it kills it.
#[derive(Debug)]
pub struct Process {
    name: String,
    log: PathBuf,
    child: Child,
    kept: bool,
}

impl Process {
    /// Starts `command`; what it writes is appended to `log`. It gets a process group of its own, so that Ctrl-C in
    /// a terminal reaches only us and the order of an orderly stop is ours.
    ///
    /// # Errors
    /// The log cannot be opened or the command cannot be started.
    pub fn spawn(name: &str, command: &mut Command, log: &Path) -> Result<Self> {
        Self::start(name, command.process_group(0), log)
    }

    fn start(name: &str, command: &mut Command, log: &Path) -> Result<Self> {
        let file = append(log)?;
        let errors = file.try_clone()?;
        let child = command
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(errors)
            .spawn()
            .with_context(|| format!("cannot start {name}: {}", described(command)))?;
        Ok(Self { name: name.to_owned(), log: log.to_owned(), child, kept: false })
    }

    /// Its process id. It stays reserved until the process was waited for, so it can be signalled safely.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Where its output goes.
    #[must_use]
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Its exit status, or `None` while it runs.
    ///
    /// # Errors
    /// The kernel refuses to tell.
    pub fn exited(&mut self) -> Result<Option<ExitStatus>> {
        self.child.try_wait().with_context(|| format!("{}: cannot be waited for", self.name))
    }

    /// Fails, with the end of its log, if it has exited.
    ///
    /// # Errors
    /// It has exited.
    pub fn must_run(&mut self) -> Result<()> {
        match self.exited()? {
            None => Ok(()),
            Some(status) => bail!("{} has exited: {status}\n{}", self.name, crate::logs::tail(&self.log, 20)),
        }
    }

    /// Kills it (SIGKILL) and waits until it is gone. No error if it has exited already.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn kill(&mut self) -> Result<()> {
        if self.exited()?.is_none() {
            self.child.kill().with_context(|| format!("{}: cannot be killed", self.name))?;
            self.child.wait()?;
        }
        Ok(())
    }

    /// Asks it to stop (SIGTERM) and waits for it.
    ///
    /// # Errors
    /// It still runs after `within`.
    pub fn terminate(&mut self, within: Duration) -> Result<ExitStatus> {
        if self.exited()?.is_none() {
            signal("TERM", self.child.id())?;
        }
        self.wait(within)
    }

    /// Waits until it has exited.
    ///
    /// # Errors
    /// It still runs after `within`.
    pub fn wait(&mut self, within: Duration) -> Result<ExitStatus> {
        let what = format!("exit of {}", self.name);
        eventually(what, within, || self.exited()?.context("still running"))
    }

    /// Makes it stand still.
    ///
    /// # Errors
    /// It has exited.
    pub fn suspend(&self) -> Result<()> {
        signal("STOP", self.child.id())
    }

    /// Lets it go on after [`suspend`](Self::suspend).
    ///
    /// # Errors
    /// It has exited.
    pub fn resume(&self) -> Result<()> {
        signal("CONT", self.child.id())
    }

    /// Leaves it running when this value is dropped.
    pub(crate) fn keep(&mut self) {
        self.kept = true;
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        if let Err(error) = self.kill() {
            eprintln!("{error:#}");
        }
    }
}

/// Sends a signal to one process.
pub(crate) fn signal(name: &str, id: u32) -> Result<()> {
    run_to_end(Command::new("kill").args(["-s", name, &id.to_string()])).map(drop)
}

fn append(log: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true).open(log).with_context(|| format!("cannot write {}", log.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_is_stopped_goes_on() {
        let printed = run_to_end(Command::new("sh").args(["-c", "kill -STOP $$; echo on"]));
        assert_eq!(printed.unwrap(), "on\n");
    }

    #[test]
    fn a_failure_names_the_command_and_what_it_said() {
        let error = run_to_end(Command::new("sh").args(["-c", "echo why >&2; exit 3"])).unwrap_err();
        assert!(format!("{error:#}").contains("exit status: 3: why"), "{error:#}");
    }

    #[test]
    fn what_is_dropped_is_killed() {
        let log = std::env::temp_dir().join(format!("seaworthy-process-{}.log", std::process::id()));
        let process = Process::spawn("sleep", Command::new("sleep").arg("600"), &log).unwrap();
        let id = process.id();
        drop(process);
        std::fs::remove_file(&log).unwrap();
        assert!(!Path::new(&format!("/proc/{id}")).exists());
    }
}
