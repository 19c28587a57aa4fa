//! The log of what was committed. A watch is a cursor into it; there is no copy per watcher.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use seaworthy_kernel::Timestamp;

use super::Stored;

/// How long a change can be watched before it is compacted away: what kube-apiserver asks of etcd by default
/// (`--etcd-compaction-interval=5m`).
const COMPACTED_AFTER: Duration = Duration::from_secs(300);

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It was created.
    Added,
    /// It was changed.
    Modified,
    /// It is gone; the change carries its last state.
    Deleted,
}

/// A committed change.
#[derive(Clone, Debug)]
pub struct Change {
    /// Its revision, unique over all kinds.
    pub revision: u64,
    /// When it was committed.
    pub at: Timestamp,
    /// What became of the object.
    pub kind: ChangeKind,
    /// The object.
    pub object: Arc<Stored>,
}

/// A place in the log: everything before it was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor(u64);

impl Cursor {
    /// The place after one more change.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// 410: what the cursor asks for was compacted away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

/// The log of one kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    /// The place of the oldest change that is still there.
    start: u64,
    /// The revision of the newest change that was compacted away.
    compacted: u64,
    changes: VecDeque<Change>,
}

impl Log {
    pub(super) fn push(&mut self, change: Change) {
        while self.changes.front().is_some_and(|oldest| change.at.since(oldest.at) > COMPACTED_AFTER) {
            self.compacted = self.changes.pop_front().map_or(self.compacted, |oldest| oldest.revision);
            self.start += 1;
        }
        self.changes.push_back(change);
    }

    pub(super) fn compact(&mut self) {
        self.start = self.end().0;
        self.compacted = self.changes.back().map_or(self.compacted, |newest| newest.revision);
        self.changes.clear();
    }

    pub(super) fn end(&self) -> Cursor {
        Cursor(self.start + self.changes.len() as u64)
    }

    /// The place after the change of this revision. When later ones were compacted away, it is one that is gone.
    pub(super) fn after(&self, revision: u64) -> Cursor {
        if revision < self.compacted {
            return Cursor(self.start.saturating_sub(1));
        }
        Cursor(self.start + self.changes.partition_point(|change| change.revision <= revision) as u64)
    }

    pub(super) fn since(
        &self,
        cursor: Cursor,
        now: Timestamp,
    ) -> Result<impl Iterator<Item = &Change>, Gone> {
        let skipped = cursor.0.checked_sub(self.start).ok_or(Gone)?;
        let skipped = usize::try_from(skipped).unwrap_or(usize::MAX).min(self.changes.len());
        if self.changes.get(skipped).is_some_and(|next| now.since(next.at) > COMPACTED_AFTER) {
            return Err(Gone);
        }
        Ok(self.changes.range(skipped..))
    }
}
