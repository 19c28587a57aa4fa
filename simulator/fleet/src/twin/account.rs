//! Effects, compared: what was done to each host, beyond what was done in the twin, was worth a change of wishes that
//! the twin never acted on, or is what something that went wrong has cost.

use super::Difference;
use crate::world::{World, machine_name};

const NAME: &str = "twinEffects";

/// Hosts that were worked on too often. Empty when all is accounted for.
pub(super) fn differences(world: &World, twin: &World) -> Vec<Difference> {
    let is_plain = !(is_open(world) || is_open(twin));
    (0..world.scenario.fleet.machines).filter_map(|host| overdone(world, twin, host, is_plain)).collect()
}

/// Whether people changed their minds half-way, or a rollout has stopped half-way: then hosts were worked on in the one
/// world that were passed over in the other.
fn is_open(world: &World) -> bool {
    world.oracle.is_hasty() || world.has_open_rollout(None)
}

fn overdone(world: &World, twin: &World, host: u32, is_plain: bool) -> Option<Difference> {
    let (deeds, twins) = (world.oracle.deeds(host), twin.oracle.deeds(host));
    let passed_over = if is_plain { 0 } else { world.oracle.wishes(host) };
    let operations = twins.operations.max(passed_over).saturating_add(deeds.excused_operations);
    let disruptions = twins.disruptions.max(passed_over).saturating_add(deeds.excused_disruptions);
    if deeds.operations <= operations && deeds.disruptions <= disruptions {
        return None;
    }
    let detail = format!(
        "{}: {} operations, {} of them with a restart; accounted for are {operations} and {disruptions}",
        machine_name(host),
        deeds.operations,
        deeds.disruptions
    );
    Some(Difference { invariant: NAME, host: Some(host), detail })
}
