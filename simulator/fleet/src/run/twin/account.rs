//! Effects, compared: what was done to each host and to each object, beyond what was done in the twin, was worth a change
//! of wishes that the twin never acted on, or is what something that went wrong has cost.
//!
//! Operators create nothing but the Lease, and delete nothing: nothing that goes wrong accounts for one more, except that a
//! Lease which people deleted is created again. A host is started anew when its power is back, and by an operation that wants
//! it: once on the way there, and once on the way back.
//!
//! Disruption budgets decide when a drain ends, and a moment decides which pods are where by then. A host whose pods a
//! budget has kept, here or in the twin, or that people had to clear first, may have been passed over in the one world when
//! people changed their minds, and worked on in the other: it may have been worked on as often as they did. And the Node of
//! a host that was never worked on in the twin is left alone there when its Machine goes: it may be deleted here.

use std::sync::Arc;

use seaworthy_model::id::Kind;

use super::Difference;
use super::state::has_open_rollout;
use crate::observers::Observers;
use crate::observers::oracle::Lives;
use crate::vocabulary::machine_name;
use crate::world::World;

const NAME: &str = "twinEffects";

/// Hosts and objects to which too much was done. Empty when all is accounted for.
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

/// A host that was started anew more often than its power came back and operations ordered; or by operations more often than
/// in the twin and than what went wrong or was wished beyond the twin accounts for, each of which may go there and back.
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
        // What was deleted more often than in the twin may be created again.
        let created = twins.created + lives.ended.saturating_sub(twins.ended);
        let was_passed_over = kind == Kind::Node && was_passed_over(world, twin, name);
        let deleted = twins.deleted + u32::from(was_passed_over);
        if lives.created <= created && lives.deleted <= deleted {
            return None;
        }
        let detail = format!(
            "{} {name}: created {} times and deleted {} times by operators; accounted for are {created} and {deleted}",
            kind.name(),
            lives.created,
            lives.deleted,
        );
        Some(Difference { invariant: NAME, host: None, detail })
    };
    Observers::of(world).oracle.objects().filter_map(judge).collect()
}

/// Whether the host of a Node was worked on, and never in the twin.
fn was_passed_over(world: &World, twin: &World, node: &str) -> bool {
    world.host_named(node).is_some_and(|host| {
        Observers::of(world).oracle.deeds(host).operations > 0
            && Observers::of(twin).oracle.deeds(host).operations == 0
    })
}

/// Whether people changed their minds half-way, or a rollout has stopped half-way: then hosts were worked on in the one
/// world that were passed over in the other.
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
