//! What people rarely mean: a way back that an older version does not survive, and a selector that selects nobody any more.
//! Both wait for a confirmation.

use seaworthy_model::component::Rollback;
use seaworthy_model::id::{ComponentId, SetId, VersionId};
use seaworthy_model::machine::Want;
use seaworthy_model::package_version::{FleetReason, PackageVersionStatus, Rollout};
use seaworthy_model::report::Blocker;
use seaworthy_model::requirement::VersionNumber;

use crate::rows::fleet::RolloutState;
use crate::rows::machine::Machine;
use crate::rows::set::{Charter, Owner, Reselection};
use crate::world::World;

impl World {
    /// Why a rollout must not change a machine until people have confirmed it.
    #[must_use]
    pub fn unconfirmed_mistake(&self, rollout: &RolloutState, machine: &Machine) -> Option<Blocker> {
        let component = rollout.record.component;
        let goes = machine.installed(component)?.version;
        let is_confirmed = || self.charter(rollout.owner).is_some_and(|charter| charter.is_confirmed);
        let record = &rollout.record;
        if self.is_unsafe_way_back(goes, record.target(), || record.goes_back()) && !is_confirmed() {
            return Some(Blocker::RollbackUnsafe { version: goes });
        }
        self.emptied_set(component, goes).map(|set| Blocker::SetEmptied { set })
    }

    /// Whether a rollout may go back by itself: not from a version whose `rollback` is `Unsafe`, and not after it was complete. The
    /// machines that came since had something else before than the others.
    pub(crate) fn may_revert(&self, record: &Rollout) -> bool {
        let goes = record.to.version().filter(|goes| self.is_unsafe(*goes));
        let is_anew = record.course.as_ref().is_some_and(|course| course.batches_before > 0);
        record.from.is_some() && goes.is_none() && !is_anew
    }

    /// Whether machines with a version would go back from it to one that may not read what it has written. Numbers tell which
    /// of two versions is the older one; without them, a rollout that goes back.
    fn is_unsafe_way_back(&self, goes: VersionId, to: &Want, goes_back: impl Fn() -> bool) -> bool {
        let Some(comes) = to.version().filter(|comes| *comes != goes) else { return false };
        let number = |version| self.version_spec(version).and_then(|spec| VersionNumber::of(&spec.version));
        let is_back = || match (number(comes), number(goes)) {
            (Some(comes), Some(goes)) => comes < goes,
            (None, _) | (_, None) => goes_back(),
        };
        self.is_unsafe(goes) && is_back()
    }

    /// Whether a machine of an owner would have to go back so to what is wanted of a component.
    pub(crate) fn goes_back_unsafely(
        &self,
        owner: Owner,
        (component, want): (ComponentId, &Want),
        goes_back: bool,
    ) -> bool {
        self.machines().map(|(_, machine)| machine).any(|machine| {
            let goes = machine.installed(component).map(|installed| installed.version);
            goes.is_some_and(|goes| self.is_unsafe_way_back(goes, want, || goes_back))
                && self.governor(machine, component) == owner
        })
    }

    fn is_unsafe(&self, version: VersionId) -> bool {
        self.version_spec(version).is_some_and(|spec| spec.content.rollback == Rollback::Unsafe)
    }

    /// Whether an edit of its selector has left a set without machines that had some: it may be a mistake. The set says so until
    /// its spec is corrected or confirmed. An edit that was made while no operator ran is not noticed.
    pub(crate) fn is_emptied(&self, owner: Owner) -> bool {
        // The cheap questions come first: this is asked of each set for each machine that could be changed.
        if !matches!(owner, Owner::Set(_)) || self.members.contains_key(&owner) {
            return false;
        }
        let Some(Charter { meta, status, is_confirmed, .. }) = self.charter(owner) else { return false };
        let is_told = || status.conditions.iter().any(|told| told.reason == FleetReason::SetEmptied);
        let is_seen = self.set(owner).is_some_and(|set| set.reselection == Reselection::Nobody);
        let had_any = || status.rollouts.iter().any(|record| record.progress.total > 0);
        let is_open = !is_confirmed && !meta.is_terminating();
        is_open && (is_seen || is_told()) && had_any()
    }

    /// A set without machines, for a mistake in its selector, that has brought this version: others would change what it has
    /// brought.
    fn emptied_set(&self, component: ComponentId, version: VersionId) -> Option<SetId> {
        let has_brought = |status: &PackageVersionStatus| {
            status.rollout(component).is_some_and(|record| record.to.version() == Some(version))
        };
        let emptied = self.sets().map(|(owner, _)| owner).filter(|owner| self.is_emptied(*owner));
        let emptied = emptied.filter(|owner| self.charter(*owner).is_some_and(|it| has_brought(it.status)));
        emptied.into_iter().find_map(|owner| if let Owner::Set(id) = owner { Some(id) } else { None })
    }
}
