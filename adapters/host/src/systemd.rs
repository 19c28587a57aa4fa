//! The real system: systemd, through its command line.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::mount::{UnmountFlags, unmount};
use rustix::time::{ClockId, clock_gettime};
use seaworthy_model::host::{BootId, OperationId};

use crate::failure::{self, Result};
use crate::layout::Layout;
use crate::process::{PATH, wait_bounded};
use crate::system::{System, UnitState, UnitStatus};

/// systemd's own time-outs end a start or stop after 90 s unless the unit says otherwise.
const PATIENCE: Duration = Duration::from_secs(300);
/// For so long a lost connection to systemd is retried. While a host boots it was seen to be lost for some 100 ms.
const RECONNECT_WITHIN: Duration = Duration::from_secs(30);
const RECONNECT_PAUSE: Duration = Duration::from_millis(200);
/// What systemctl says when its connection to systemd is lost or cannot be made.
const DISCONNECTED: [&str; 5] = [
    "Connection reset by peer",
    "Connection refused",
    "D-Bus connection terminated",
    "Failed to connect to bus",
    "Transport endpoint is not connected",
];

/// What makes systemd start a unit again that was killed or has failed. At this pace it never gives up.
const PERSISTENT: [&str; 2] = ["--property=Restart=on-failure", "--property=RestartSec=3"];

fn is_disconnected(words: &str) -> bool {
    DISCONNECTED.iter().any(|known| words.contains(known))
}

/// So many bytes of a command's output go into a cause.
const WORDS_MAX: u64 = 2048;

/// systemd on this machine.
#[derive(Debug)]
pub struct Systemd {
    program: PathBuf,
    start: Instant,
}

impl Systemd {
    /// systemd, starting `program` for what is to run detached.
    #[must_use]
    pub fn new(program: PathBuf) -> Self {
        Self { program, start: Instant::now() }
    }

    /// Calls systemctl. While the host boots, systemd drops connections; the call is then repeated. Every call that is made
    /// here may be done twice.
    fn systemctl<const N: usize>(&self, arguments: [&str; N]) -> Result<String> {
        let deadline = self.now() + RECONNECT_WITHIN;
        loop {
            match self.run("systemctl", arguments) {
                Err(cause) if is_disconnected(&cause.detail) && self.now() < deadline => {
                    self.wait(RECONNECT_PAUSE);
                }
                result => return result,
            }
        }
    }

    /// Starts the execution of an operation as a transient unit.
    fn start(&self, layout: &Layout, operation: OperationId, options: &[&str]) -> Result<()> {
        let description = format!("--description=Seaworthy operation {operation}");
        // Collected when it ends: the journal is the truth, and the name must be free should it have to be resumed.
        let mut arguments: Vec<&OsStr> =
            ["--quiet", "--collect", "--service-type=exec", &description].map(OsStr::new).to_vec();
        arguments.extend(options.iter().map(OsStr::new));
        let operation = operation.to_string();
        arguments.extend([OsStr::new("--"), self.program.as_os_str()]);
        arguments.extend([OsStr::new("--root"), layout.root().as_os_str()]);
        arguments.extend([OsStr::new("--prefix"), layout.prefix().as_os_str()]);
        arguments.extend([OsStr::new("execute"), OsStr::new(&operation)]);
        self.run("systemd-run", arguments).map(drop)
    }

    /// Runs a command and gives what it printed.
    fn run<I: AsRef<OsStr>>(&self, program: &str, arguments: impl IntoIterator<Item = I>) -> Result<String> {
        let mut child = Command::new(program)
            .args(arguments)
            .env("PATH", PATH)
            .env("LC_ALL", "C")
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| failure::on("run", Path::new(program), &error))?;
        let status = wait_bounded(&mut child, PATIENCE, self)
            .map_err(|error| failure::on("wait for", Path::new(program), &error))?;
        let output = words(child.stdout.take());
        match status {
            Some(status) if status.success() => Ok(output),
            Some(status) => {
                Err(failure::host(format!("{program}: {status}: {}", words(child.stderr.take()).trim())))
            }
            None => Err(failure::host(format!("{program}: not done after {} s", PATIENCE.as_secs()))),
        }
    }
}

/// The beginning of the output of a command that has ended. Reading it cannot block: a pipe holds more than that, and a
/// command that printed more than a pipe holds was killed.
fn words(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        // Half of an explanation is better than none.
        let _ = pipe.take(WORDS_MAX).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What `systemctl show` prints of a unit. systemd before version 235 has no `NRestarts`, and prints nothing for it.
fn status(text: &str) -> UnitStatus {
    let property = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('=')).unwrap_or_default()
    };
    let pid = property("MainPID").parse().unwrap_or(0);
    let state = match property("ActiveState") {
        "active" | "reloading" if pid != 0 => UnitState::Running { pid },
        "active" if property("SubState") == "exited" => UnitState::Exited,
        "inactive" | "failed" => UnitState::Stopped,
        _ => UnitState::Waiting,
    };
    UnitStatus { state, restarts: property("NRestarts").parse().ok() }
}

/// The mount point in a line of `mountinfo`: the fifth word, with blanks and backslashes in octal.
fn mount_point(line: &[u8]) -> Option<PathBuf> {
    let word = line.split(|byte| *byte == b' ').nth(4)?;
    let mut path = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((&byte, tail)) = rest.split_first() {
        let octal = (byte == b'\\').then(|| tail.get(..3)).flatten();
        let octal = octal.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        path.push(octal.unwrap_or(byte));
        rest = if octal.is_some() { &tail[3..] } else { tail };
    }
    Some(OsString::from_vec(path).into())
}

impl System for Systemd {
    fn boot(&self) -> Result<BootId> {
        let path = Path::new("/proc/sys/kernel/random/boot_id");
        let text = fs::read_to_string(path).map_err(|error| failure::on("read", path, &error))?;
        u128::from_str_radix(&text.trim().replace('-', ""), 16)
            .map(BootId)
            .map_err(|_| failure::host(format!("{}: not a boot id: {text:?}", path.display())))
    }

    fn reload(&self) -> Result<()> {
        self.systemctl(["daemon-reload"]).map(drop)
    }

    fn restart(&self, unit: &str) -> Result<()> {
        // A unit that crashed too often is not started again before this; one that never did makes it fail.
        let _ = self.systemctl(["reset-failed", unit]);
        self.systemctl(["restart", unit]).map(drop)
    }

    fn reload_unit(&self, unit: &str) -> Result<()> {
        self.systemctl(["reload", unit]).map(drop)
    }

    fn can_reload(&self, unit: &str) -> Result<bool> {
        Ok(self.systemctl(["show", "--property=CanReload", "--value", unit])?.trim() == "yes")
    }

    fn stop(&self, unit: &str) -> Result<()> {
        if self.unit(unit)? == UnitState::Stopped {
            return Ok(());
        }
        self.systemctl(["stop", unit]).map(drop)
    }

    fn status(&self, unit: &str) -> Result<UnitStatus> {
        let properties = "--property=ActiveState,SubState,MainPID,NRestarts";
        Ok(status(&self.systemctl(["show", properties, unit])?))
    }

    fn mounts(&self) -> Result<Vec<PathBuf>> {
        let path = Path::new("/proc/self/mountinfo");
        let text = fs::read(path).map_err(|error| failure::on("read", path, &error))?;
        Ok(text.split(|byte| *byte == b'\n').filter_map(mount_point).collect())
    }

    fn unmount(&self, path: &Path) -> Result<()> {
        let attempt = |flags| unmount(path, flags | UnmountFlags::NOFOLLOW);
        attempt(UnmountFlags::empty())
            .or_else(|_| attempt(UnmountFlags::DETACH))
            .map_err(|error| failure::on("unmount", path, &error.into()))
    }

    fn reboot(&self) -> Result<()> {
        self.systemctl(["reboot"]).map(drop)
    }

    fn detach(&self, layout: &Layout, operation: OperationId, persists: bool) -> Result<()> {
        let unit = format!("--unit=seaworthy-{operation}.service");
        let persistence = if persists { &PERSISTENT[..] } else { &[] };
        self.start(layout, operation, &[&[unit.as_str()], persistence].concat())
    }

    fn alarm(&self, layout: &Layout, operation: OperationId, after: Duration) -> Result<()> {
        // The name of one that rang is taken as long as its execution lasts.
        let unit = format!("--unit=seaworthy-alarm-{operation}-{}", self.uptime().as_millis());
        let after = format!("--on-active={}ms", after.as_millis());
        let options = [unit.as_str(), &after, "--timer-property=AccuracySec=100ms"];
        self.start(layout, operation, &[&options[..], &PERSISTENT].concat())
    }

    fn uptime(&self) -> Duration {
        let since = clock_gettime(ClockId::Boottime);
        let seconds = u64::try_from(since.tv_sec).unwrap_or_default();
        Duration::new(seconds, u32::try_from(since.tv_nsec).unwrap_or_default())
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn wait(&self, span: Duration) {
        thread::sleep(span);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_are_read_with_their_blanks() {
        let line = b"36 35 98:0 /mnt1 /var/lib/a\\040b\\134c rw,noatime master:1 - ext3 /dev/root rw";
        assert_eq!(mount_point(line), Some(PathBuf::from("/var/lib/a b\\c")));
        assert_eq!(mount_point(b"36 35 98:0"), None);
    }

    #[test]
    fn restarts_are_unknown_where_systemd_does_not_count_them() {
        let runs = "MainPID=7\nActiveState=active\nSubState=running\n";
        let running = UnitState::Running { pid: 7 };
        assert_eq!(status(runs), UnitStatus { state: running.clone(), restarts: None });
        let counted = format!("NRestarts=3\n{runs}");
        assert_eq!(status(&counted), UnitStatus { state: running, restarts: Some(3) });
        let waits = "NRestarts=12\nMainPID=0\nActiveState=activating\nSubState=auto-restart\n";
        assert_eq!(status(waits), UnitStatus { state: UnitState::Waiting, restarts: Some(12) });
    }

    #[test]
    fn a_lost_connection_is_told_from_a_failure() {
        assert!(is_disconnected("systemctl: exit status: 1: Reload daemon failed: Connection reset by peer"));
        assert!(is_disconnected("systemctl: exit status: 1: Warning! D-Bus connection terminated."));
        assert!(!is_disconnected("systemctl: exit status: 5: Unit webd.service not loaded."));
    }
}
