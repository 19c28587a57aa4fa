//! When machines were changed for rollouts with gates: what had gone wrong on a machine before says nothing of the release,
//! and of several changes the last one before a fault is the likeliest cause. A new engine knows of no changes.

use alloc::collections::BTreeMap;

use seaworthy_model::component::ReleaseId;
use seaworthy_model::id::{ComponentId, MachineId};
use seaworthy_model::time::Timestamp;

/// The changes for the rollouts that are under way, by component and machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes(BTreeMap<(ComponentId, MachineId), Change>);

#[derive(Clone, Copy, Debug)]
struct Change {
    /// What is installed.
    release: ReleaseId,
    /// When that was first ordered.
    began: Timestamp,
    /// Whether the machine had become available only a short time before.
    is_unsteady: bool,
}

impl Changes {
    /// A change is ordered. What is ordered once more has begun before.
    pub(crate) fn begins(
        &mut self,
        (component, machine): (ComponentId, MachineId),
        release: ReleaseId,
        (now, is_unsteady): (Timestamp, bool),
    ) {
        let new = Change { release, began: now, is_unsteady };
        let change = self.0.entry((component, machine)).or_insert(new);
        if change.release != release {
            *change = new;
        }
    }

    /// When the last change of a component of a machine began, as far as is known.
    pub(crate) fn began(&self, component: ComponentId, machine: MachineId) -> Option<Timestamp> {
        Some(self.0.get(&(component, machine))?.began)
    }

    /// Whether a machine is known to have become available only a short time before the last change of a component began.
    pub(crate) fn was_unsteady(&self, component: ComponentId, machine: MachineId) -> bool {
        self.0.get(&(component, machine)).is_some_and(|change| change.is_unsteady)
    }

    /// Forgets the changes of all components but these.
    pub(crate) fn keep(&mut self, is_kept: impl Fn(ComponentId) -> bool) {
        self.0.retain(|(component, _), _| is_kept(*component));
    }
}
