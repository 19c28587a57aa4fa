//! The journal of one operation: a line of JSON per step, durable before the next step begins. It alone says what an
//! operation did and what is left to do; a transient unit vanishes with a reboot, a journal does not.
//!
//! A journal that cannot be read is damage of its operation alone: that has failed, and the next order puts its component
//! right. The lines before the damage still count.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use seaworthy_api::host::wire::Owner;
use seaworthy_model::cause::Cause;
use seaworthy_model::digest::Digest;
use seaworthy_model::host::{BootId, OperationState};
use seaworthy_model::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::disk::{self, Disk};
use crate::failure::{self, Result};
use crate::memory::SeenFence;

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
    /// Its unit has read its configuration again.
    Reloaded,
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
    /// A person has made the host forget its owner.
    OwnerForgotten {
        /// The owner, if that was known.
        owner: Option<Owner>,
    },
    /// A person has made the host forget the fences that it had seen.
    FencesForgotten {
        /// Those fences, per cluster.
        fences: BTreeMap<String, SeenFence>,
    },
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
    /// Opens the journal at `path`, making it if it does not exist. One that is damaged is put aside; the new one has the
    /// lines before the damage, and ends there.
    pub(crate) fn open(disk: Disk<'_>, path: PathBuf, boot: BootId) -> Result<Self> {
        let Found { lines, whole, damage } = parse(&path).unwrap_or_default();
        if damage.is_some() {
            let aside = damaged(&path);
            disk.remove_tree(&aside)?;
            disk.rename(&path, &aside)?;
        }
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&path)
            .map_err(|error| failure::on("open", &path, &error))?;
        let mut journal = Self { path, file, boot, lines: Vec::new(), whole: 0 };
        match damage {
            None => {
                (journal.lines, journal.whole) = (lines, whole);
                journal.cut(disk)?;
                journal.sync_name(disk)?;
            }
            Some(cause) => {
                journal.sync_name(disk)?;
                journal.begin_anew(disk, lines, cause)?;
            }
        }
        Ok(journal)
    }

    /// Writes the lines that are left of a damaged journal, and that the operation has failed, unless they say how it ended.
    fn begin_anew(&mut self, disk: Disk<'_>, lines: Vec<Line>, cause: Cause) -> Result<()> {
        for line in lines {
            self.add(disk, line)?;
        }
        if has_ended(&self.lines) {
            return Ok(());
        }
        self.write(disk, Step::Ended { state: OperationState::Failed(cause) })
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
        let at = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        self.add(disk, Line { at, boot: self.boot, step })
    }

    fn add(&mut self, disk: Disk<'_>, line: Line) -> Result<()> {
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

    /// Makes the name of the journal durable.
    fn sync_name(&self, disk: Disk<'_>) -> Result<()> {
        self.path.parent().map_or(Ok(()), |parent| disk.sync_dir(parent))
    }

    pub(crate) fn lines(&self) -> &[Line] {
        &self.lines
    }
}

/// Reads the journal at `path`; `None` when there is none, or not one whole line of it. The operation of a damaged journal
/// has failed, unless the lines before the damage say how it ended.
pub(crate) fn read(path: &Path) -> Option<Vec<Line>> {
    let Found { mut lines, damage, .. } = parse(path)?;
    if let Some(cause) = damage.filter(|_| !has_ended(&lines)) {
        let (at, boot) = lines.last().map_or((0, BootId(0)), |last| (last.at, last.boot));
        lines.push(Line { at, boot, step: Step::Ended { state: OperationState::Failed(cause) } });
    }
    Some(lines).filter(|lines| !lines.is_empty())
}

/// Whether the journal at `path` cannot be read to its end.
pub(crate) fn is_damaged(path: &Path) -> bool {
    parse(path).is_some_and(|found| found.damage.is_some())
}

/// Where a damaged journal is put aside, for people.
pub(crate) fn damaged(path: &Path) -> PathBuf {
    path.with_extension("damaged")
}

fn has_ended(lines: &[Line]) -> bool {
    lines.iter().any(|line| matches!(line.step, Step::Ended { .. }))
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

/// What a file has of a journal.
#[derive(Default)]
struct Found {
    /// The whole lines, up to the first damage.
    lines: Vec<Line>,
    /// Their length in the file, in bytes.
    whole: u64,
    /// Why no more of it can be read, if it is damaged.
    damage: Option<Cause>,
}

/// Reads what there is of a journal; `None` when it does not exist.
fn parse(path: &Path) -> Option<Found> {
    let bytes = match disk::read(path, LENGTH_MAX) {
        Ok(bytes) => bytes?,
        Err(cause) => return Some(Found { damage: Some(cause), ..Found::default() }),
    };
    let end = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let mut found = Found::default();
    for (number, text) in bytes[..end].split_inclusive(|&byte| byte == b'\n').enumerate() {
        match serde_json::from_slice(text) {
            Ok(line) => found.lines.push(line),
            Err(error) => {
                let detail = format!("{} is damaged at line {}: {error}", path.display(), number + 1);
                found.damage = Some(failure::host(detail));
                break;
            }
        }
        found.whole += text.len() as u64;
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use seaworthy_model::cause::CauseKind;

    use super::*;
    use crate::steps::Unobserved;

    #[test]
    fn a_torn_last_line_is_cut_off() {
        let path = std::env::temp_dir().join(format!("seaworthy-journal-{}", std::process::id()));
        let disk = Disk::new(&Unobserved);
        let mut journal = Journal::open(disk, path.clone(), BootId(1)).unwrap();
        assert_eq!(read(&path), None);
        journal.write(disk, Step::Accepted).unwrap();
        drop(journal);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, [&whole[..], b"{\"at\":1,\"bo"].concat()).unwrap();
        assert_eq!(read(&path).unwrap().len(), 1);
        let mut journal = Journal::open(disk, path.clone(), BootId(1)).unwrap();
        journal.write(disk, Step::Linked).unwrap();
        let lines = read(&path).unwrap();
        assert_eq!(lines.iter().map(|line| &line.step).collect::<Vec<_>>(), [&Step::Accepted, &Step::Linked]);
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_damaged_journal_is_one_of_an_operation_that_failed() {
        let path = std::env::temp_dir().join(format!("seaworthy-journal-damaged-{}", std::process::id()));
        let disk = Disk::new(&Unobserved);
        let mut journal = Journal::open(disk, path.clone(), BootId(1)).unwrap();
        journal.write(disk, Step::Accepted).unwrap();
        journal.write(disk, Step::Linked).unwrap();
        drop(journal);
        let whole = fs::read_to_string(&path).unwrap();
        let first = whole.lines().next().unwrap();
        let damages = [format!("nonsense\n{whole}"), format!("{first}\nnonsense\n"), "x".repeat(5 << 20)];
        for (damage, kept) in damages.iter().zip([0, 1, 0]) {
            fs::write(&path, damage).unwrap();
            let failed = |lines: &[Line]| matches!(state(lines, BootId(1)), OperationState::Failed(_));
            let lines = read(&path).unwrap_or_default();
            assert!(failed(&lines) && lines.len() == kept + 1, "{lines:?}");
            let mended = Journal::open(disk, path.clone(), BootId(1)).unwrap();
            assert!(failed(mended.lines()) && mended.lines().len() == kept + 1, "{:?}", mended.lines());
            assert_eq!(read(&path).unwrap(), mended.lines());
            assert_eq!(fs::read_to_string(damaged(&path)).unwrap(), *damage, "it is kept for people");
        }
        fs::remove_file(&path).unwrap();
        fs::remove_file(damaged(&path)).unwrap();
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
        let lines = read(&path).unwrap();
        assert_eq!(lines.iter().map(|line| &line.step).collect::<Vec<_>>(), [&Step::Accepted, &Step::Linked]);
        fs::remove_file(&path).unwrap();
    }
}
