//! What is counted in a run.

use std::collections::BTreeMap;

use seaworthy_model::cause::CauseKind;
use seaworthy_model::id::Kind;

use crate::vocabulary::Occasion;
use crate::world::host::{Change, Ended};
use crate::world::{Commit, Happening, World};

/// What is counted in a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// Calls of `reconcile`.
    pub turns: u64,
    /// Mutations of operator processes that were committed.
    pub api_writes: u64,
    /// The writes that renewed the Lease.
    pub lease_renewals: u64,
    /// The writes that changed a Machine.
    pub machine_writes: u64,
    /// Renewals of Node leases that were events of their own.
    pub node_renewals: u64,
    /// The renewals that failed.
    pub node_renewals_failed: u64,
    /// Operations that were begun on hosts.
    pub operations: u64,
    /// The number of hosts per version when users first acted.
    pub versions_before: BTreeMap<String, u32>,
    occasions: BTreeMap<Occasion, u64>,
}

impl Tally {
    /// Counts what happens.
    #[inline]
    #[expect(clippy::wildcard_enum_match_arm, reason = "most of what happens does not concern it")]
    pub(crate) fn observe(&mut self, world: &World, happening: &Happening<'_>) {
        match happening {
            Happening::Occasion(occasion) => self.note(*occasion),
            Happening::Turned(_) => self.turns += 1,
            Happening::Committed(commit) if commit.by_operator => self.operator_committed(commit),
            Happening::PeopleAct(0, _) => self.versions_before = world.versions(),
            Happening::Began(began) => {
                self.operations += 1;
                if world.hosts[began.host as usize].repaired_by(began.work).is_some() {
                    self.note(Occasion::HostRepaired);
                }
                if began.work.change == Change::Remove {
                    self.note(Occasion::Removed);
                }
            }
            Happening::Confirmed(..) => self.note(Occasion::OperationConfirmed),
            Happening::Ended(_, _, ended) => self.operation_ended(*ended),
            Happening::ShutDown(_) => self.note(Occasion::HostRebooted),
            Happening::Spoiled(..) => self.note(Occasion::HostSpoiled),
            Happening::NodeRenewal(true) => self.node_renewals += 1,
            Happening::NodeRenewal(false) => self.node_renewals_failed += 1,
            _ => {}
        }
    }

    fn operator_committed(&mut self, commit: &Commit<'_>) {
        let Commit { written, renews, .. } = *commit;
        let kind = written.object.kind();
        self.api_writes += 1;
        self.lease_renewals += u64::from(renews);
        self.machine_writes += u64::from(kind == Kind::Machine);
        if !renews && kind == Kind::Lease && written.before.is_some() && !written.removed {
            self.note(Occasion::LeaderChanged);
        }
    }

    fn operation_ended(&mut self, ended: Ended) {
        match ended {
            Ended::Interrupted => self.note(Occasion::OperationInterrupted),
            Ended::Failed(cause) => {
                self.note(Occasion::ReleaseFailed);
                if cause == CauseKind::NotConfirmed {
                    self.note(Occasion::ConfirmationLapsed);
                }
                if cause == CauseKind::NoSpace {
                    self.note(Occasion::SpaceLacking);
                }
            }
            Ended::Succeeded => {}
        }
    }

    /// Counts one more occurrence.
    pub(crate) fn note(&mut self, occasion: Occasion) {
        *self.occasions.entry(occasion).or_default() += 1;
    }

    /// The number of occurrences.
    #[must_use]
    pub(crate) fn count(&self, occasion: Occasion) -> u64 {
        self.occasions.get(&occasion).copied().unwrap_or_default()
    }

    /// Everything that happened, with the number of occurrences.
    #[must_use]
    pub(crate) const fn occasions(&self) -> &BTreeMap<Occasion, u64> {
        &self.occasions
    }
}
