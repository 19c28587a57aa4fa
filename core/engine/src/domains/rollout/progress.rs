//! How far a rollout is, as its record says it to people.

use seaworthy_model::package_version::{DeferralReason, Deferred, Progress, Rollout};

use super::Step;
use crate::rows::fleet::Counts;

impl Step<'_> {
    /// The record with its progress, and without what has ended of the rollouts that it superseded.
    pub(super) fn as_it_is(self, record: Rollout) -> Rollout {
        let index = self.world.rollout_of(self.owner, record.component);
        let state = index.map(|index| &self.world.fleet.rollouts[index]);
        match state.filter(|state| state.record.generation == record.generation) {
            Some(state) => {
                let before = state.record.granted.as_deref().unwrap_or_default();
                let fresh =
                    record.granted.iter().flatten().filter(|rank| before.binary_search(rank).is_err());
                let mut progress = progress(&state.counts);
                progress.at_work += u32::try_from(fresh.count()).unwrap_or(u32::MAX);
                Rollout { progress, superseded: self.unended(state), ..record }
            }
            None => record,
        }
    }
}

/// Whether a record tells of machines at work, and the last of them has ended since.
pub(super) fn is_outdated(recorded: &Rollout, counts: &Counts) -> bool {
    recorded.progress.at_work > 0 && counts.at_work() == counts.lost
}

fn progress(counts: &Counts) -> Progress {
    let deferred =
        DeferralReason::ALL.into_iter().zip(counts.deferrals).filter(|(_, machines)| *machines > 0);
    Progress {
        total: counts.total(),
        updated: counts.updated(),
        at_work: counts.granted + counts.unsettled - counts.lost,
        failed: counts.failed,
        lost: counts.lost,
        deferred: deferred.map(|(reason, machines)| Deferred { reason, machines }).collect(),
    }
}
