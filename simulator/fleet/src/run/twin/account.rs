//! Compares effects with the twin. Every operation or effect beyond those in the twin needs a cause: a change of the
//! desired state that the twin never acted on, or something that went wrong.
//!
//! Faults never account for more creations or deletions by operators than in the twin, with one exception: a Lease that
//! users deleted is created again. A host is rebooted when its power comes back, and by an operation that needs it:
//! once on the way forward, and once on a rollback.
//!
//! Disruption budgets decide when a drain ends, and the placement of pods depends on timing. If a budget has kept pods
//! of a host, in the run or in the twin, or users had to clear the host first, then a change of the desired state may
//! find its operation done in one world and not in the other. Such a host may have as many operations as there were
//! changes. And the Node of a host without operations in the twin stays there when its Machine goes, so only the run
//! may delete it.

use std::sync::Arc;

use seaworthy_model::id::Kind;

use super::Difference;
use super::state::has_open_rollout;
use crate::observers::Observers;
use crate::observers::oracle::Lives;
use crate::vocabulary::machine_name;
use crate::world::World;

const NAME: &str = "twinEffects";

/// Hosts and objects with unexplained effects. Empty when every effect is explained.
pub(super) fn differences(world: &World, twin: &World) -> Vec<Difference> {
    let is_plain = !(is_open(world) || is_open(twin));
    let hosts = 0..world.scenario.fleet.machines;
    let is_settled = |host| {
        is_plain
            && !(Observers::of(world).oracle.was_held_up(host)
                || Observers::of(twin).oracle.was_held_up(host))
    };
    let operations = hosts.clone().filter_map(|host| overdone(world, twin, host, is_settled(host)));
    let reboots = hosts.filter_map(|host| rebooted(world, twin, host, is_settled(host)));
    operations.chain(reboots).chain(objects(world, twin)).collect()
}

/// A host that rebooted more often than its power came back and operations ordered; or more often by operations than in
/// the twin, beyond what faults or changes of the desired state explain. Each operation may reboot forward and back.
fn rebooted(world: &World, twin: &World, host: u32, is_plain: bool) -> Option<Difference> {
    let (all, ordered) = (world.hosts[host as usize].reboots(), Observers::of(world).oracle.reboots(host));
    let accounted = Observers::of(world).oracle.outages(host) + ordered;
    let passed_over = if is_plain { 0 } else { u32::from(Observers::of(world).oracle.wishes(host)) * 2 };
    let excused = u32::from(Observers::of(world).oracle.deeds(host).excused_disruptions) * 2;
    let worth = Observers::of(twin).oracle.reboots(host).max(passed_over) + excused;
    let name = machine_name(host);
    let detail = if all > accounted {
        format!("{name}: {all} reboots; accounted for are {accounted}")
    } else if ordered > worth {
        format!("{name}: {ordered} reboots by operations; accounted for are {worth}")
    } else {
        return None;
    };
    Some(Difference { invariant: NAME, host: Some(host), detail })
}

/// Objects that operators created or deleted more often than in the twin.
fn objects(world: &World, twin: &World) -> Vec<Difference> {
    let judge = |((kind, name), lives): ((Kind, &Arc<str>), Lives)| {
        let twins = Observers::of(twin).oracle.lives(kind, name);
        // An object that was deleted more often than in the twin may be created again.
        let created = twins.created + lives.ended.saturating_sub(twins.ended);
        let was_passed_over = kind == Kind::Node && was_passed_over(world, twin, name);
        // Each deletion of a Machine takes the Node that is there, if its kubelet was installed already.
        let ended = || Observers::of(world).oracle.lives(Kind::Machine, name).ended;
        let machines = if kind == Kind::Node { ended() } else { 0 };
        let deleted = (twins.deleted + u32::from(was_passed_over)).max(machines);
        if lives.created <= created && lives.deleted <= deleted {
            return None;
        }
        let detail = format!(
            "{} {name}: created {} times and deleted {} times by operators; accounted for are {created} and {deleted}",
            kind.name(),
            lives.created,
            lives.deleted,
        );
        Some(Difference { invariant: NAME, host: world.host_named(name), detail })
    };
    Observers::of(world).oracle.objects().filter_map(judge).collect()
}

/// Whether the host of a Node had operations, but none in the twin.
fn was_passed_over(world: &World, twin: &World, node: &str) -> bool {
    world.host_named(node).is_some_and(|host| {
        Observers::of(world).oracle.deeds(host).operations > 0
            && Observers::of(twin).oracle.deeds(host).operations == 0
    })
}

/// Whether users changed the desired state half-way, or a rollout has stopped half-way: then one world may have
/// operations on hosts that the other skipped.
fn is_open(world: &World) -> bool {
    Observers::of(world).oracle.is_hasty() || has_open_rollout(world, None)
}

fn overdone(world: &World, twin: &World, host: u32, is_plain: bool) -> Option<Difference> {
    let (deeds, twins) = (Observers::of(world).oracle.deeds(host), Observers::of(twin).oracle.deeds(host));
    let passed_over = if is_plain { 0 } else { Observers::of(world).oracle.wishes(host) };
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
