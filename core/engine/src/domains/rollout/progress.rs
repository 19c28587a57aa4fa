//! How far a rollout is, as its record says it to people.

use alloc::vec::Vec;

use seaworthy_model::package_version::{DeferralReason, Deferred, Progress, Rollout};

use super::Step;
use crate::rows::fleet::RolloutState;
use crate::rows::machine::Machine;
use crate::rows::standing::Standing;

impl Step<'_> {
    /// The record with its progress, and without what has ended of the rollouts that it superseded.
    pub(super) fn as_it_is(self, record: Rollout) -> Rollout {
        let index = self.fleet.rollout_of(record.component);
        let state = index.map(|index| (index, &self.fleet.rollouts[index]));
        match state.filter(|(_, state)| state.record.generation == record.generation) {
            Some((index, state)) => {
                Rollout { progress: self.progress((index, state)), superseded: self.unended(state), ..record }
            }
            None => record,
        }
    }

    fn progress(self, (index, state): (usize, &RolloutState)) -> Progress {
        let counts = &state.counts;
        Progress {
            total: counts.total(),
            updated: counts.done + counts.restored,
            at_work: counts.granted + counts.unsettled - counts.lost,
            failed: counts.failed,
            lost: counts.lost,
            deferred: self.deferred((index, state)),
        }
    }

    /// The machines that cannot be worked on, by the reason.
    fn deferred(self, (index, state): (usize, &RolloutState)) -> Vec<Deferred> {
        let mut machines = [0; DeferralReason::ALL.len()];
        if state.counts.deferred + state.counts.held > 0 {
            for (_, id) in state.waiting.iter().chain(&state.holders) {
                let machine = self.world.machine(*id);
                let is_idle = !machine.is_unresolved() && !machine.is_lost();
                if is_idle && matches!(machine.standing(index), Standing::Deferred | Standing::Held) {
                    machines[reason_of(machine) as usize] += 1;
                }
            }
        }
        let deferred = DeferralReason::ALL.into_iter().zip(machines);
        deferred
            .filter(|(_, machines)| *machines > 0)
            .map(|(reason, machines)| Deferred { reason, machines })
            .collect()
    }
}

fn reason_of(machine: &Machine) -> DeferralReason {
    if machine.is_unreachable() {
        DeferralReason::Unreachable
    } else if machine.is_paused() {
        DeferralReason::Paused
    } else {
        DeferralReason::Blocked
    }
}
