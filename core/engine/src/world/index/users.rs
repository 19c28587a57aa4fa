//! The users of a version: without it, what is installed of it could be neither repaired nor removed.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;

use seaworthy_model::id::{ComponentId, MachineId, VersionId};
use seaworthy_model::machine::{ComponentSetting, MachineObject, MachineSpec};
use seaworthy_model::report::Subject;

use crate::rows::usage::Use;
use crate::runtime::queue::Priority;
use crate::world::World;

/// A user of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// The fleet's defaults, a set, or their rollouts: machines get this version, or would be rolled back to it.
    Fleet,
    /// A machine.
    Machine(MachineId, Use),
}

/// How many users a version has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Users {
    /// Whether the fleet is one of them.
    pub(crate) fleet: bool,
    /// How many machines are.
    pub(crate) machines: u32,
    /// The first of these machines.
    pub(crate) first: Option<MachineId>,
}

impl Users {
    /// All of them.
    pub(crate) fn count(self) -> u32 {
        self.machines.saturating_add(u32::from(self.fleet))
    }
}

/// A version that the fleet names, of which component, and, for a rollout, its generation and whether it is over.
pub(crate) type FleetUse = (ComponentId, VersionId, Option<(u64, bool)>);

impl World {
    /// The users of a version. Scans every row: for versions that are being deleted, and for people who ask.
    pub fn users(&self, version: VersionId) -> impl Iterator<Item = User> {
        let fleet = self.is_wanted_by_fleet(version).then_some(User::Fleet);
        let machines = self.machines.iter();
        let machines =
            machines.filter_map(move |machine| Some(User::Machine(machine.id, machine.uses(version)?)));
        fleet.into_iter().chain(machines)
    }

    /// How many machines and defaults use a version.
    #[must_use]
    pub fn users_of(&self, version: VersionId) -> u32 {
        self.count_users(version).count()
    }

    /// The same, with a machine by name.
    pub(crate) fn count_users(&self, version: VersionId) -> Users {
        let mut users = Users::default();
        for user in self.users(version) {
            match user {
                User::Fleet => users.fleet = true,
                User::Machine(id, _) => {
                    users.machines = users.machines.saturating_add(1);
                    users.first.get_or_insert(id);
                }
            }
        }
        users
    }

    /// Whether a version is pinned, installed or recorded on any machine. What may be in flight does not count: a new
    /// operator does not know yet of what that is, so it may be any version.
    pub(crate) fn is_on_machines(&self, version: VersionId) -> bool {
        let uses = self.machines.iter().filter_map(|machine| machine.uses(version));
        uses.into_iter().any(|found| match found {
            Use::Pinned | Use::Installed => true,
            Use::BeingInstalled => false,
        })
    }

    /// What the fleet's defaults and the sets mention.
    fn settings(&self) -> impl Iterator<Item = &ComponentSetting> {
        let charters = self.owners().filter_map(|owner| self.charter(owner));
        charters.flat_map(|charter| charter.components.unwrap_or_default())
    }

    /// Whether the fleet's defaults, the sets or their rollouts name a version.
    #[must_use]
    pub fn is_wanted_by_fleet(&self, version: VersionId) -> bool {
        let records = self.fleet.rollouts.iter().map(|rollout| &rollout.record);
        self.settings()
            .map(|setting| &setting.want)
            .chain(records.flat_map(|record| record.from.iter().chain([&record.to])))
            .any(|want| want.version() == Some(version))
    }

    /// What the fleet names, and how far that is: what changes of it may change what uses a version.
    pub(crate) fn fleet_uses(&self) -> BTreeSet<FleetUse> {
        let spec = self.settings();
        let spec = spec.filter_map(|setting| Some((setting.component, setting.want.version()?, None)));
        let records = self.fleet.rollouts.iter().map(|rollout| &rollout.record);
        let records = records.flat_map(|record| {
            let stage = Some((record.generation, record.completed_at.is_some()));
            let wants = record.from.iter().chain([&record.to]);
            wants.filter_map(move |want| Some((record.component, want.version()?, stage)))
        });
        spec.chain(records).collect()
    }

    /// Requeues the versions whose use may have changed, now that the fleet named `before` what it may not name any more:
    /// those that it named or names, and the others of their components, which machines may have left.
    pub(crate) fn touch_fleet_uses(&mut self, before: &BTreeSet<FleetUse>) {
        let after = self.fleet_uses();
        let (mut components, mut versions) = (BTreeSet::new(), BTreeSet::new());
        for (component, version, _) in before.symmetric_difference(&after) {
            components.insert(*component);
            versions.insert(*version);
        }
        if components.is_empty() {
            return;
        }
        let of_them = (0..).map(VersionId).zip(&self.versions).filter(|(_, version)| {
            let spec = version.object().and_then(|object| object.spec.as_ref().ok());
            spec.is_some_and(|spec| components.contains(&spec.component))
        });
        versions.extend(of_them.map(|(id, _)| id));
        for version in versions {
            self.touch(Subject::Version(version), Priority::Low);
        }
    }

    /// Requeues the versions whose pins come or go with a new state of a Machine. One that is being deleted is looked at
    /// once a minute anyway, and each time all rows are read.
    pub(crate) fn touch_pinned(&mut self, id: MachineId, new: Option<&MachineObject>) {
        let pinned = |spec: Option<&Arc<MachineSpec>>| -> BTreeSet<VersionId> {
            let pins = spec.into_iter().flat_map(|spec| &spec.pins);
            pins.filter_map(|pin| pin.want.version()).collect()
        };
        let before = pinned(self.machine(id).spec());
        let after = pinned(new.and_then(|object| object.spec.as_ref().ok()));
        for version in before.symmetric_difference(&after).copied() {
            if self.version(version).is_none_or(|version| version.leaving_since.is_none()) {
                self.touch(Subject::Version(version), Priority::Low);
            }
        }
    }

    /// Whether a version depends on a component.
    pub(crate) fn needs(&self, version: VersionId, component: ComponentId) -> bool {
        self.version_spec(version).is_some_and(|spec| spec.depends_on.contains(&component))
    }

    /// Whether any version of a component depends on another component.
    pub(crate) fn may_need(&self, component: ComponentId, needed: ComponentId) -> bool {
        let specs = self.versions.iter().filter_map(|version| version.object()?.spec.as_ref().ok());
        specs.into_iter().any(|spec| spec.component == component && spec.depends_on.contains(&needed))
    }

    /// Whether everything was listed since the deletion of a version was observed. Watches of different kinds are not
    /// ordered: one may show the deletion while another does not show an earlier pin yet.
    #[must_use]
    pub fn is_listed_since_leaving(&self, version: VersionId) -> bool {
        let since = self.version(version).and_then(|version| version.leaving_since);
        let store = self.stores.get(self.stores.of(Subject::Version(version)));
        store.zip(since).is_some_and(|(store, since)| store.lists > since && !store.is_listing())
    }
}
