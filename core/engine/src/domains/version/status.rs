//! The status of a version: whether its spec is accepted, and what uses it.
//!
//! Nobody waits for it, so it costs little. It is looked at when the object itself, the fleet's defaults, a rollout or the
//! pins of a Machine have changed, and once a minute while the deletion waits: not for each report of each machine. A
//! look may read every row, but only of versions that the fleet does not name. The finalizer goes first in any case.

use alloc::boxed::Box;
use core::time::Duration;

use seaworthy_model::component::{
    VersionCondition, VersionConditionKind, VersionObject, VersionReason, VersionStatus,
};
use seaworthy_model::detail::VersionDetail;
use seaworthy_model::effect::{Effect, Target};
use seaworthy_model::id::VersionId;
use seaworthy_model::machine::Truth;
use seaworthy_model::report::{Blocker, WakeReason};

use crate::domains::draft::{Draft, write};
use crate::rows::version::Telling;
use crate::world::World;
use crate::world::index::users::Users;

/// What uses a version, as a condition says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InUse {
    reason: VersionReason,
    /// For a version whose deletion waits.
    detail: Option<VersionDetail>,
}

impl InUse {
    /// What uses a version that is not held back from anything.
    pub(super) fn of(world: &World, id: VersionId) -> Self {
        let reason = if world.is_wanted_by_fleet(id) {
            VersionReason::Default
        } else if world.is_on_machines(id) {
            VersionReason::Machines
        } else {
            VersionReason::NotInUse
        };
        Self { reason, detail: None }
    }

    /// What keeps a version that is being deleted.
    pub(super) fn keeping(world: &World, users: Users) -> Self {
        let reason = match users {
            Users { fleet: true, .. } => VersionReason::Default,
            Users { machines: 1.., .. } => VersionReason::Machines,
            Users { .. } => return Self { reason: VersionReason::NotInUse, detail: None },
        };
        let machine = users.first.map(|id| world.name_of_machine(id));
        Self { reason, detail: Some(VersionDetail::Leaving { users: users.count(), machine }) }
    }

    const fn truth(&self) -> Truth {
        match self.reason {
            VersionReason::Default | VersionReason::Machines => Truth::True,
            VersionReason::Accepted | VersionReason::InvalidSpec | VersionReason::NotInUse => Truth::False,
        }
    }

    /// Whether a condition says this. Of two numbers that are about the same it is not worth telling the second, and
    /// none is told `too_soon` after another.
    fn is_said_by(&self, told: &VersionCondition, too_soon: bool) -> bool {
        (told.truth, told.reason) == (self.truth(), self.reason)
            && match (&told.detail, &self.detail) {
                (None, None) => true,
                (
                    Some(VersionDetail::Leaving { users: told, .. }),
                    Some(VersionDetail::Leaving { users, .. }),
                ) => too_soon || told.abs_diff(*users) < told.div_ceil(2),
                (_, _) => false,
            }
    }
}

/// What a look at the status of a version reads.
#[derive(Clone, Copy)]
pub(super) struct Look<'w> {
    pub(super) id: VersionId,
    pub(super) object: &'w VersionObject,
    pub(super) telling: Telling,
    /// How long a number of users stays as it was told.
    pub(super) pace: Duration,
}

impl Look<'_> {
    /// Writes the status, unless the recorded one says the same.
    pub(super) fn tell(self, draft: &mut Draft<'_>, in_use: InUse) {
        if self.is_told(draft, &in_use) {
            return;
        }
        let not_before = self.telling.retry.not_before;
        if draft.now < not_before {
            draft.wake_at(not_before, WakeReason::BackOff);
            return draft.wait_as_well(Blocker::BackOff { until: not_before });
        }
        let (accepted, reason, faults) = self.accepted();
        let truth = in_use.truth();
        let conditions = [
            self.condition(draft, (VersionConditionKind::Accepted, accepted, reason), faults),
            self.condition(draft, (VersionConditionKind::InUse, truth, in_use.reason), in_use.detail),
        ];
        let meta = &self.object.meta;
        let status = VersionStatus { observed_generation: meta.generation, conditions: conditions.into() };
        write(draft, Target::Version(self.id), meta, Effect::WriteVersionStatus(Box::new(status)));
    }

    /// Whether the recorded status says this. The faults of a spec are not compared: it cannot be changed.
    fn is_told(self, draft: &Draft<'_>, in_use: &InUse) -> bool {
        let VersionObject { meta, status, .. } = self.object;
        let (truth, reason, _) = self.accepted();
        let accepted = status.condition(VersionConditionKind::Accepted);
        let used = status.condition(VersionConditionKind::InUse);
        let too_soon = self.telling.at.is_some_and(|at| draft.now < at + self.pace);
        // The deletion itself counts as a generation, which is nothing to tell.
        (meta.is_terminating() || status.observed_generation == meta.generation)
            && accepted.is_some_and(|told| (told.truth, told.reason) == (truth, reason))
            && used.is_some_and(|told| in_use.is_said_by(told, too_soon))
    }

    fn accepted(self) -> (Truth, VersionReason, Option<VersionDetail>) {
        match &self.object.spec {
            Ok(_) => (Truth::True, VersionReason::Accepted, None),
            Err(faults) => {
                let detail = VersionDetail::Faults(faults.clone());
                (Truth::False, VersionReason::InvalidSpec, Some(detail))
            }
        }
    }

    fn condition(
        self,
        draft: &Draft<'_>,
        (kind, truth, reason): (VersionConditionKind, Truth, VersionReason),
        detail: Option<VersionDetail>,
    ) -> VersionCondition {
        let before = self.object.status.condition(kind).filter(|before| before.truth == truth);
        let since = before.map_or_else(|| draft.now.whole_seconds(), |before| before.since);
        let observed_generation = self.object.meta.generation;
        VersionCondition { kind, truth, reason, detail, since, observed_generation }
    }
}
