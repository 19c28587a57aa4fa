//! What a host's count of restarts says. The count begins anew at each boot, and when a service is started by an order.

use seaworthy_model::component::Content;
use seaworthy_model::host::{HostFacts, InstalledComponent};
use seaworthy_model::id::MachineId;
use seaworthy_model::machine::Want;

use crate::rows::machine::Machine;
use crate::world::World;

/// A host was read: notes the restarts of what rollouts with gates change. What was known of the host is still in its row.
pub(super) fn note_restarts(world: &mut World, id: MachineId, facts: &HostFacts) {
    // Fast path: hardly any service is started again.
    for reported in
        facts.components.iter().filter(|reported| reported.restarts.is_some_and(|count| count > 0))
    {
        if world.has_gates(reported.component) {
            let times = restarts_since_last_read(world, world.machine(id), facts, reported);
            if times > 0 {
                let place = (reported.component, id);
                world.restarts.note(place, reported.release, times, world.now);
            }
        }
    }
}

/// How often a service was started again since its host was last read, by what is certain: at least so often.
fn restarts_since_last_read(
    world: &World,
    machine: &Machine,
    facts: &HostFacts,
    reported: &InstalledComponent,
) -> u8 {
    let count = reported.restarts.unwrap_or_default();
    let known = machine.host.facts.as_ref().filter(|known| known.host == facts.host);
    let Some(known) = known else { return if was_restarted(world, machine, reported) { count } else { 0 } };
    // What was taken over from somebody else may have been started again long ago.
    let Some(before) = machine.reported(reported.component) else { return 0 };
    let Some(counted) = before.restarts else { return 0 };
    if before.release != reported.release && reloads(world, reported) {
        return 0;
    }
    let is_new_count = known.boot != facts.boot || count < counted;
    if is_new_count { count } else { count - counted }
}

/// Whether a release was started by a rollout that is under way, so that its whole count is later than its change. So a new
/// operator sees at its first read what happened under its predecessor.
fn was_restarted(world: &World, machine: &Machine, reported: &InstalledComponent) -> bool {
    let is_brought = world.fleet.rollouts.iter().enumerate().any(|(index, rollout)| {
        let (record, standing) = (&rollout.record, machine.standing(index));
        let replaces = matches!(record.from, Some(Want::Present { .. }));
        record.component == reported.component && record.course.is_some() && replaces && standing.is_updated()
    });
    is_brought && !reloads(world, reported)
}

/// Whether a service goes on running when it gets this release.
fn reloads(world: &World, reported: &InstalledComponent) -> bool {
    world.version_spec(reported.version).is_none_or(|spec| Content::reloads(&spec.content))
}
