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
                Rollout { progress: progress(&state.counts), superseded: self.unended(state), ..record }
            }
            None => record,
        }
    }
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
