//! The journal of one operation: a line of JSON per step, durable before the next step begins. It alone says what an
//! operation did and what is left to do; a transient unit vanishes with a reboot, a journal does not.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use seaworthy_model::cause::Cause;
use seaworthy_model::digest::Digest;
use seaworthy_model::host::{BootId, OperationState};
use seaworthy_model::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::disk::{self, Disk};
use crate::failure::{self, Result};

/// A journal has a few dozen lines; the longest lists what was rendered.
const LENGTH_MAX: u64 = 4 << 20;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Line {
    /// When, in milliseconds since the Unix epoch by the host's own clock. For people; nothing depends on it.
    pub at: u64,
    /// The boot in which it was written.
    pub boot: BootId,
    /// What was done, or is about to be.
    pub step: Step,
}

/// What a line says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Step {
    /// The operation was accepted.
    Accepted,
    /// Its execution began.
    Started {
        /// The directory of the release that was current then.
        before: Option<String>,
        /// Whether the unit of that release ran.
        ran: bool,
    },
    /// The artefact was fetched and is the right one.
    Fetched {
        /// Its size.
        bytes: u64,
        /// Its digest.
        sha256: Digest,
    },
    /// The artefact was unpacked.
    Unpacked {
        /// How many files, links and directories it has.
        entries: u64,
    },
    /// The templates were rendered.
    Rendered {
        /// How many.
        files: u64,
    },
    /// The release is complete and durable in this directory.
    Staged {
        /// The directory.
        directory: String,
    },
    /// A program of the release's own ended: its preflight, or a part of its removal.
    Ran {
        /// The program, as it was called.
        program: String,
        /// How it ended, in words: `exit status: 0`.
        status: String,
    },
    /// Somebody else has installed the same before: these are taken over as they are.
    Adopting {
        /// The places of links where the contents are those of the release.
        paths: Vec<String>,
        /// Whether the unit ran.
        ran: bool,
    },
    /// Links that were missing on the host are there.
    Linked,
    /// The current release is about to become this one: from here on the operation is finished after a crash if the
    /// swap took place, and undone if it did not.
    Swapping {
        /// The directory.
        directory: String,
    },
    /// It has become the current one.
    Swapped,
    /// The host is about to be started anew. A later line of another boot proves that it was.
    Rebooting,
    /// It was: this line is of another boot.
    Rebooted,
    /// Its unit was restarted.
    Restarted,
    /// It is healthy, and is taken back unless that is confirmed in time. A later boot begins that time anew.
    Confirming {
        /// When the time is over, in milliseconds since the start of the boot of this line.
        until: u64,
    },
    /// It was confirmed: the operation has succeeded, only tidying is left.
    Confirmed,
    /// It is healthy: the operation has succeeded, only tidying is left.
    Healthy,
    /// It is not healthy and the release before is about to be restored.
    Restoring {
        /// Why.
        cause: Cause,
    },
    /// The component is about to be removed: from here on the operation is finished after a crash.
    Removing,
    /// Of a removal: its unit is stopped, and nothing starts it any more.
    Stopped,
    /// Of a removal: what the component left behind is gone, only the releases are left.
    Cleaned,
    /// A key is about to be kept for the node's certificate.
    KeyMade {
        /// The digest of its public key.
        key: Digest,
    },
    /// The node's certificate was put into its place, with its key.
    CertificateInstalled {
        /// The digest of its public key.
        key: Digest,
        /// Until when it is valid.
        not_after: Timestamp,
    },
    /// The node's certificate and key were removed.
    IdentityRemoved,
    /// The execution went on after it had been interrupted.
    Resumed,
    /// The end.
    Ended {
        /// What became of it.
        state: OperationState,
    },
}

/// A journal that is being written.
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    boot: BootId,
    lines: Vec<Line>,
    /// The length of `lines` in the file, in bytes.
    whole: u64,
}

impl Journal {
    /// Opens the journal at `path`, making it if it does not exist.
    pub(crate) fn open(disk: Disk<'_>, path: PathBuf, boot: BootId) -> Result<Self> {
        let (lines, whole) = parse(&path)?.unwrap_or_default();
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&path)
            .map_err(|error| failure::on("open", &path, &error))?;
        let journal = Self { path, file, boot, lines, whole };
        journal.cut(disk)?;
        if let Some(parent) = journal.path.parent() {
            disk.sync_dir(parent)?;
        }
        Ok(journal)
    }

    /// Cuts off the part of a line that a power cut or a full disk has left. Its step was not done yet: a line comes first.
    fn cut(&self, disk: Disk<'_>) -> Result<()> {
        let on = |what, error| failure::on(what, &self.path, &error);
        let length = self.file.metadata().map_err(|error| on("read", error))?.len();
        if length > self.whole {
            self.file.set_len(self.whole).map_err(|error| on("cut", error))?;
            disk.sync(&self.file, &self.path)?;
        }
        Ok(())
    }

    /// Adds a line: all of it, or none.
    pub(crate) fn write(&mut self, disk: Disk<'_>, step: Step) -> Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let line = Line { at: u64::try_from(now.as_millis()).unwrap_or(u64::MAX), boot: self.boot, step };
        let text = serde_json::to_string(&line).map_err(|error| failure::host(error.to_string()))?;
        if let Err(cause) = disk.append(&mut self.file, &self.path, &text) {
            // Half a line would spoil the next one. What cannot be cut now is cut when it is opened again.
            let _ = self.cut(disk);
            return Err(cause);
        }
        self.whole += text.len() as u64 + 1;
        self.lines.push(line);
        Ok(())
    }

    pub(crate) fn lines(&self) -> &[Line] {
        &self.lines
    }
}

/// Reads the journal at `path`; `None` when there is none, or not one whole line of it.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<Line>>> {
    Ok(parse(path)?.map(|(lines, _)| lines).filter(|lines| !lines.is_empty()))
}

/// What became of the operation, as seen in `boot`.
pub(crate) fn state(lines: &[Line], boot: BootId) -> OperationState {
    match lines.last().map(|line| &line.step) {
        Some(Step::Ended { state }) => state.clone(),
        _ if confirming(lines, boot).is_some() => OperationState::Unconfirmed,
        _ => OperationState::Running,
    }
}

/// Until when in `boot` the operation waits to be confirmed, if it does: since the start of the boot.
pub(crate) fn confirming(lines: &[Line], boot: BootId) -> Option<Duration> {
    let last = lines.iter().rfind(|line| line.step != Step::Resumed)?;
    let Step::Confirming { until } = last.step else { return None };
    (last.boot == boot).then(|| Duration::from_millis(until))
}

/// The whole lines of a journal, and their length in bytes.
fn parse(path: &Path) -> Result<Option<(Vec<Line>, u64)>> {
    let Some(bytes) = disk::read(path, LENGTH_MAX)? else { return Ok(None) };
    let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let mut lines = Vec::new();
    for (number, text) in bytes[..whole].split_inclusive(|&byte| byte == b'\n').enumerate() {
        let line = serde_json::from_slice(text).map_err(|error| {
            failure::host(format!("{} is damaged at line {}: {error}", path.display(), number + 1))
        })?;
        lines.push(line);
    }
    Ok(Some((lines, whole as u64)))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use seaworthy_model::cause::CauseKind;

    use super::*;
    use crate::steps::Unobserved;

    #[test]
    fn a_torn_last_line_is_cut_off_and_a_damaged_one_is_an_error() {
        let path = std::env::temp_dir().join(format!("seaworthy-journal-{}", std::process::id()));
        let disk = Disk::new(&Unobserved);
        let mut journal = Journal::open(disk, path.clone(), BootId(1)).unwrap();
        assert_eq!(read(&path).unwrap(), None);
        journal.write(disk, Step::Accepted).unwrap();
        drop(journal);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, [&whole[..], b"{\"at\":1,\"bo"].concat()).unwrap();
        assert_eq!(read(&path).unwrap().unwrap().len(), 1);
        let mut journal = Journal::open(disk, path.clone(), BootId(1)).unwrap();
        journal.write(disk, Step::Linked).unwrap();
        let lines = read(&path).unwrap().unwrap();
        assert_eq!(lines.iter().map(|line| &line.step).collect::<Vec<_>>(), [&Step::Accepted, &Step::Linked]);
        fs::write(&path, [b"nonsense\n", &whole[..]].concat()).unwrap();
        assert!(read(&path).unwrap_err().detail.contains("line 1"));
        fs::remove_file(&path).unwrap();
    }

    /// Runs itself once more as a process that may only write short files: a stand-in for a disk that is full.
    #[test]
    fn a_line_that_does_not_fit_leaves_nothing_behind() {
        const LIMITED: &str = "SEAWORTHY_TEST_SHORT_FILES";
        if let Some(path) = std::env::var_os(LIMITED) {
            let disk = Disk::new(&Unobserved);
            let mut journal = Journal::open(disk, path.into(), BootId(1)).unwrap();
            journal.write(disk, Step::Accepted).unwrap();
            let cause = Cause::new(CauseKind::NoSpace, "x".repeat(5000));
            journal.write(disk, Step::Restoring { cause }).unwrap_err();
            journal.write(disk, Step::Linked).unwrap();
            return;
        }
        let path = std::env::temp_dir().join(format!("seaworthy-journal-short-{}", std::process::id()));
        // Ignored signals stay ignored across `exec`; without the signal the write fails with an error.
        let script = "trap '' XFSZ; ulimit -f 2; exec \"$0\" a_line_that_does_not_fit";
        let own = std::env::current_exe().unwrap();
        let ran = Command::new("sh").args(["-c", script]).arg(own).env(LIMITED, &path).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
        let lines = read(&path).unwrap().unwrap();
        assert_eq!(lines.iter().map(|line| &line.step).collect::<Vec<_>>(), [&Step::Accepted, &Step::Linked]);
        fs::remove_file(&path).unwrap();
    }
}
