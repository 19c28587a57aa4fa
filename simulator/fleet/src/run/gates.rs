//! How far a rollout with a strategy came before a gate stopped it.

use seaworthy_model::id::Kind;
use seaworthy_model::package_version::SINGLETON;

use crate::world::World;

/// How far a rollout with a strategy came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// The number of the last batch that began.
    pub batch: u32,
    /// Whether a gate has failed.
    pub is_stopped: bool,
    /// Hosts that have what the rollout brings.
    pub exposed: u32,
}

/// How far the first rollout with a strategy came, by its record and the hosts. `None` if there is no such rollout.
#[must_use]
pub fn reached(world: &World) -> Option<Reached> {
    let fleet = world.api_servers.home().get(Kind::ClusterPackageVersion, SINGLETON)?.package_version()?;
    let rollouts = &fleet.status.as_ref()?.rollouts;
    let (rollout, course) = rollouts.iter().find_map(|rollout| Some((rollout, rollout.course.as_ref()?)))?;
    let component = world.catalogue.find_component(&rollout.component)?;
    let name = format!("{}-{}", rollout.component, rollout.to.version.as_deref()?);
    let has_it = |version| world.catalogue.version_name(version) == name;
    let present = world.hosts.iter().filter_map(|host| host.installed_of(component));
    let exposed = present.filter(|present| has_it(present.version)).count();
    Some(Reached {
        batch: u32::try_from(course.batch).unwrap_or_default(),
        is_stopped: course.failed_gate.is_some(),
        exposed: u32::try_from(exposed).unwrap_or(u32::MAX),
    })
}
