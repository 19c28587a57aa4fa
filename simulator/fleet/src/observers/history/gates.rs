//! The batches of a rollout and their gates, as its record tells them.

use seaworthy_model::package_version::Rollout as Record;
use seaworthy_model::strategy::{Course, Evidence};

use super::{Millis, millis};

/// Something that happened to a batch of a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The time at which the leading operator saw it in the record.
    pub at: Millis,
    /// The number of the batch, from 1.
    pub batch: u32,
    /// What happened.
    pub what: Milestone,
    /// What the gate goes by, if it says so.
    pub evidence: Option<Evidence>,
}

/// What can happen to a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Milestone {
    /// Its machines are permitted.
    Began,
    /// Its machines are done, and are watched until then.
    Bakes(Millis),
    /// Its gate has passed.
    Passed,
    /// Its gate waits for evidence.
    Inconclusive,
    /// Its gate has failed.
    Failed,
    /// A person has let the rollout go on in spite of the gate.
    Overridden,
    /// Machines get back what they had before.
    RolledBack,
}

impl Milestone {
    /// Its name, for display.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Began => "began",
            Self::Bakes(_) => "bakes",
            Self::Passed => "passed",
            Self::Inconclusive => "inconclusive",
            Self::Failed => "failed",
            Self::Overridden => "overridden",
            Self::RolledBack => "rolled back",
        }
    }
}

/// What is known of the course of a rollout.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    batch: u32,
    bakes: bool,
    doubts: bool,
    failed: bool,
    reverted: bool,
    completed: bool,
}

impl Known {
    /// Adds what a record says beyond what is known. A record that a cache serves late says less, and adds nothing.
    pub(super) fn follow(&mut self, marks: &mut Vec<Mark>, at: Millis, record: &Record) {
        // A rollout that begins anew has no batch at first.
        let is_told = |course: &&Course| course.batch >= self.batch && course.batch > course.batches_before;
        let Some(course) = record.course.as_ref().filter(is_told) else { return };
        let mut mark = |batch: u32, what, evidence| marks.push(Mark { at, batch, what, evidence });
        if course.batch > self.batch {
            if self.batch > 0 && !self.completed {
                let ended = if self.failed { Milestone::Overridden } else { Milestone::Passed };
                mark(self.batch, ended, None);
            }
            *self = Self { batch: course.batch, ..Self::default() };
            mark(course.batch, Milestone::Began, None);
        }
        let is_new = |known: &mut bool, is: bool| is && !std::mem::replace(known, true);
        if let Some(done_at) = course.done_at
            && is_new(&mut self.bakes, true)
        {
            mark(course.batch, Milestone::Bakes(millis(done_at + course.bake_time())), None);
        }
        if let Some(failure) = course.failure
            && is_new(&mut self.failed, true)
        {
            mark(course.batch, Milestone::Failed, Some(failure.evidence));
        }
        if is_new(&mut self.reverted, course.reverted_at.is_some()) {
            mark(course.batch, Milestone::RolledBack, None);
        }
        if is_new(&mut self.completed, has_passed_all(record, course)) {
            mark(course.batch, Milestone::Passed, None);
        }
    }

    /// Adds that the gate of a batch waits for evidence.
    pub(super) fn doubt(&mut self, marks: &mut Vec<Mark>, at: Millis, (batch, evidence): (u32, Evidence)) {
        if batch == self.batch && !std::mem::replace(&mut self.doubts, true) {
            marks.push(Mark { at, batch, what: Milestone::Inconclusive, evidence: Some(evidence) });
        }
    }
}

const fn has_passed_all(record: &Record, course: &Course) -> bool {
    record.completed_at.is_some() && course.batch > 0 && course.failure.is_none()
}

#[cfg(test)]
mod tests {
    use seaworthy_model::id::ComponentId;
    use seaworthy_model::machine::Want;
    use seaworthy_model::package_version::Progress;
    use seaworthy_model::strategy::Strategy;
    use seaworthy_model::time::Timestamp;

    use super::*;

    /// Two batches, and later one for a machine that catches up. Beginning anew is no batch.
    #[test]
    fn a_batch_is_told_once_it_has_machines() {
        let strategy = || Course::new(Strategy::default());
        let mut record = Record {
            component: ComponentId(0),
            generation: 1,
            from: None,
            to: Want::Absent,
            admitted_below: 0,
            granted: None,
            superseded: Vec::new(),
            course: None,
            cause: None,
            by: None,
            progress: Progress::default(),
            started_at: Timestamp::ZERO,
            completed_at: None,
        };
        let (mut known, mut marks) = (Known::default(), Vec::new());
        let anew = |batch| Course { batch, batches_before: 3, catches_up: true, ..strategy() };
        for (course, completed_at) in [
            (strategy(), None),
            (Course { batch: 1, ..strategy() }, None),
            (Course { batch: 2, ..strategy() }, None),
            (Course { batch: 2, ..strategy() }, Some(Timestamp::ZERO)),
            (anew(3), None),
            (anew(4), None),
            (anew(4), Some(Timestamp::ZERO)),
        ] {
            (record.course, record.completed_at) = (Some(course), completed_at);
            known.follow(&mut marks, 0, &record);
        }
        let told: Vec<_> = marks.iter().map(|mark| (mark.batch, mark.what.name())).collect();
        let each = |batch| [(batch, "began"), (batch, "passed")];
        assert_eq!(told, [each(1), each(2), each(4)].concat());
    }
}
