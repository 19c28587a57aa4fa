//! The users of a version: without it, what is installed of it could be neither repaired nor removed.

use seaworthy_model::id::{ComponentId, MachineId, VersionId};

use seaworthy_model::report::Subject;

use crate::rows::usage::{Use, names};
use crate::world::World;

/// A user of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// The fleet's defaults, or their rollouts: machines get this version, or would be rolled back to it.
    Fleet,
    /// A machine.
    Machine(MachineId, Use),
}

impl World {
    /// The users of a version. Scans every row: only for versions that are being deleted.
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
        u32::try_from(self.users(version).count()).unwrap_or(u32::MAX)
    }

    /// Whether the fleet's defaults or their rollouts name a version.
    #[must_use]
    pub fn is_wanted_by_fleet(&self, version: VersionId) -> bool {
        let spec = self.fleet.spec().into_iter().flat_map(|spec| &spec.components);
        let records = self.fleet.rollouts.iter().map(|rollout| &rollout.record);
        spec.map(|setting| &setting.want)
            .chain(records.flat_map(|record| record.from.iter().chain([&record.to])))
            .any(|want| names(want, version))
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
