//! Machines that come to a rollout after it was complete: by labels, by another selector, or because they could not be worked on
//! before. A few of them are a catch-up batch with a gate of its own; many go through all batches again.

use seaworthy_model::strategy::Course;

use crate::rows::fleet::RolloutState;

/// A catch-up batch takes at most one in so many of the machines of a rollout.
const PART: u32 = 10;

impl RolloutState {
    /// How many machines could be granted now, and can be disrupted.
    #[must_use]
    pub const fn newcomers(&self) -> u32 {
        self.counts.eligible.saturating_sub(self.counts.idle)
    }

    /// Whether more machines came than a catch-up batch takes.
    #[must_use]
    pub const fn has_many_newcomers(&self) -> bool {
        self.newcomers() > self.most_of_catch_up()
    }

    /// Whether a catch-up batch was begun, and no machine was granted for it yet.
    #[must_use]
    pub fn awaits_catch_up(&self) -> bool {
        self.catch_up().is_some_and(|course| course.batch == course.batches_before)
    }

    /// How many more of the machines that can be disrupted the present batch takes. Only a catch-up batch has a limit: who
    /// belongs to any other one follows from the ranks.
    #[must_use]
    pub fn left_of_batch(&self) -> u32 {
        let Some(course) = self.catch_up() else { return u32::MAX };
        // With many, this batch ends with those that it has, and the others go through all batches.
        if course.done_at.is_some() || self.has_many_newcomers() {
            return 0;
        }
        let taken = self.counts.updated() + self.counts.failed + self.counts.at_work();
        self.most_of_catch_up().saturating_sub(taken.saturating_sub(course.judged_before))
    }

    /// How many machines could be granted now, as far as the present batch takes them.
    #[must_use]
    pub fn grantable(&self) -> u32 {
        self.counts.eligible.min(self.counts.idle.saturating_add(self.left_of_batch()))
    }

    /// The course of a rollout with a catch-up batch under way.
    fn catch_up(&self) -> Option<&Course> {
        let course = self.record.course.as_ref()?;
        (course.catches_up && self.is_active() && course.reverted_at.is_none()).then_some(course)
    }

    const fn most_of_catch_up(&self) -> u32 {
        let most = self.counts.total() / PART;
        if most == 0 { 1 } else { most }
    }
}
