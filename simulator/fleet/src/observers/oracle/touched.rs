//! Which machines the rollouts under way have changed, by what hosts have and what the records say.

use std::collections::BTreeMap;
use std::sync::Arc;

use seaworthy_api::v1alpha1::RolloutStatus;
use seaworthy_kernel::Timestamp;
use seaworthy_model::id::Kind;

use super::desired::{Desired, Group};
use crate::world::api_server::{Stored, Written};

/// What a rollout under way brings.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Brought {
    /// The set or canary that it belongs to; `None` for the defaults.
    set: Option<(Kind, Arc<str>)>,
    component: String,
    version: String,
}

/// A component that a host has, its version, and since when.
type Present = (String, String, Timestamp);

/// The rollouts under way, and what hosts have.
#[derive(Clone, Debug)]
pub(super) struct Touched {
    /// The defaults and the sets.
    owners: BTreeMap<(Kind, Arc<str>), Arc<Stored>>,
    brings: Vec<Brought>,
    present: Vec<Vec<Present>>,
    /// By host: its Machine, as it was last written.
    machines: Vec<Option<Arc<Stored>>>,
}

impl Touched {
    pub(super) fn new(hosts: u32) -> Self {
        let hosts = hosts as usize;
        let (present, machines) = (vec![Vec::new(); hosts], vec![None; hosts]);
        Self { owners: BTreeMap::new(), brings: Vec::new(), present, machines }
    }

    /// A Machine of a host was written.
    pub(super) fn machine_written(&mut self, host: u32, object: &Arc<Stored>) {
        self.machines[host as usize] = Some(Arc::clone(object));
    }

    /// The defaults or a set were written, with the record of their rollouts. True if what rollouts bring is another.
    pub(super) fn owner_written(&mut self, written: &Written) -> bool {
        let owner = (written.object.kind(), Arc::clone(written.object.name()));
        if written.removed {
            self.owners.remove(&owner);
        } else {
            self.owners.insert(owner, Arc::clone(&written.object));
        }
        let brings = self.active().filter_map(|(set, rollout)| {
            let version = rollout.to.version.clone()?;
            Some(Brought { set, component: rollout.component.clone(), version })
        });
        let brings: Vec<Brought> = brings.collect();
        let has_same_terms =
            || match (written.before.as_ref().map(|before| Group::of(before)), Group::of(&written.object)) {
                (Some(Some(before)), Some(now)) => before.has_terms_of(&now),
                (_, now) => now.is_none(),
            };
        let is_another = brings != self.brings || written.removed || !has_same_terms();
        self.brings = brings;
        is_another
    }

    /// When the last one of the rollouts under way started, as its record has it.
    pub(super) fn started(&self) -> Option<Timestamp> {
        self.active().filter_map(|(_, rollout)| rollout.started_at.get()).max()
    }

    /// An operation has brought a version of a component to a host, or has removed the component.
    pub(super) fn brought(&mut self, host: u32, (component, version): (&str, Option<&str>), now: Timestamp) {
        let version = version.and_then(|version| version.strip_prefix(component)?.strip_prefix('-'));
        let present = &mut self.present[host as usize];
        present.retain(|(known, ..)| known != component);
        present.extend(version.map(|version| (component.to_owned(), version.to_owned(), now)));
    }

    /// When a host got what the rollouts under way bring, if it still has it.
    pub(super) fn changed(&self, host: u32) -> Option<Timestamp> {
        self.changes(host).map(|(.., at)| *at).max()
    }

    /// Whether its Machine tells of all that the rollouts under way have brought to a host and that it still has.
    pub(super) fn is_recorded(&self, host: u32) -> bool {
        let told =
            self.machines[host as usize].as_ref().map_or(&[][..], |machine| machine.component_statuses());
        self.changes(host).all(|(component, version, _)| {
            told.iter().any(|one| *one.name == **component && one.version.as_deref() == Some(version))
        })
    }

    /// What the rollouts under way have brought to a host, as far as it still has it.
    fn changes(&self, host: u32) -> impl Iterator<Item = &Present> {
        self.present[host as usize].iter().filter(move |(component, version, _)| {
            let brings = |brought: &&Brought| brought.component == *component && brought.version == *version;
            self.brings.iter().filter(brings).any(|brought| self.is_governed(host, brought))
        })
    }

    /// Whether what decides about a component of a host is what the rollout belongs to.
    fn is_governed(&self, host: u32, brought: &Brought) -> bool {
        let groups = self.owners.values().filter_map(|owner| Group::of(owner));
        let desired = Desired::among(None, groups.collect());
        if desired.groups.is_empty() {
            return true;
        }
        let Some(machine) = &self.machines[host as usize] else { return false };
        let group = desired.group_of(&**machine, &brought.component);
        group.map(|group| group.name()) == brought.set
    }

    /// The rollouts under way, each with the set that it belongs to. What a release took down does not keep its rollback from
    /// taking it away.
    fn active(&self) -> impl Iterator<Item = (Option<(Kind, Arc<str>)>, &RolloutStatus)> {
        self.owners.iter().flat_map(|((kind, name), owner)| {
            let status = owner.charter().and_then(|(_, status)| status);
            let rollouts = status.into_iter().flat_map(|status| &status.rollouts);
            let is_reverted = |rollout: &RolloutStatus| {
                rollout.course.as_ref().is_some_and(|course| course.reverted_at.is_some())
            };
            let active = rollouts.filter(move |one| one.completed_at.is_none() && !is_reverted(one));
            let set = (*kind != Kind::ClusterPackageVersion).then(|| (*kind, Arc::clone(name)));
            active.map(move |rollout| (set.clone(), rollout))
        })
    }
}
