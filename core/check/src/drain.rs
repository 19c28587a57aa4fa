//! Drains.
//!
//! - Work that pods do not survive starts only on a machine whose Node is cordoned for this machine and was seen empty
//!   since, or of which no Node is known and no pods were found. The repair of a service that does not run is no such work.
//! - Pods are evicted only from such a Node, and only pods that a drain may evict. They are deleted only when a rollout says so,
//!   and no earlier than it says.
//! - The operator uncordons a Node only as far as its mark records that the operator cordoned it, and deletes a Node only
//!   with its Machine.
//! - Every write to a Node is fenced with its last observed state.
//! - A rollout cordons a Node only under a grant: as many Nodes may be drained at once as may be worked on at once.

use alloc::format;
use core::time::Duration;

use seaworthy_engine::{Machine, Standing, World};
use seaworthy_model::effect::{Action, Effect, Fence, Target};
use seaworthy_model::host::{Change, Drift, Operation};
use seaworthy_model::host_order::HostCommand;
use seaworthy_model::id::{MachineId, VersionId};
use seaworthy_model::lease::Epoch;
use seaworthy_model::node::{NodeCordon, NodeState};
use seaworthy_model::pod::{PodFate, PodName};
use seaworthy_model::report::Turn;

use crate::invariant::{Findings, Invariant};

pub(crate) const INVARIANT: Invariant = Invariant { name: "drain", judge };

/// How old a list of pods may be when work starts: later pods ignore the cordon, such as those of a DaemonSet.
const LIST_VALID: Duration = Duration::from_secs(30);

fn judge(world: &World, turn: &Turn, findings: &mut Findings<'_>) {
    for action in &turn.actions {
        match (action.target, &action.effect) {
            (Target::Host(id), Effect::Host(order)) => {
                if let HostCommand::Apply(operation) = &order.command {
                    judge_work(world, world.machine(id), operation, action, findings);
                }
            }
            (Target::Node(id), _) => judge_node(world, id, action, findings),
            _ => {}
        }
    }
}

fn judge_work(
    world: &World,
    machine: &Machine,
    operation: &Operation,
    action: &Action,
    findings: &mut Findings<'_>,
) {
    let reported = machine.reported(operation.component);
    if let (Some(there), Change::Install(release)) = (reported, &operation.change)
        && there.release == release.id
        && there.drift.contains(Drift::NOT_RUNNING)
    {
        return;
    }
    let goes = machine.installed(operation.component).map(|installed| installed.version);
    let (comes, is_removal) = match &operation.change {
        Change::Install(release) => (Some(release.version), false),
        Change::Remove => (None, true),
    };
    let drains = |version: VersionId| {
        let spec = world.version_spec(version);
        spec.is_some_and(|spec| spec.disruption.drains() || (is_removal && spec.node_identity.is_some()))
    };
    if !goes.into_iter().chain(comes).any(drains) {
        return;
    }
    if machine.node.is_none() {
        if goes.is_some_and(drains) && !is_seen_without_pods(world, machine) {
            findings.against(action, "no Node was seen, and nobody has looked for its pods".into());
        }
        return;
    }
    let valid_since = world.now() - LIST_VALID;
    if !machine.is_drained(world.drain_policy(), world.epoch(), (valid_since, world.now())) {
        let component = world.component_name(operation.component);
        findings.against(action, format!("{component} is changed under pods that do not survive that"));
    }
}

/// Whether a machine of which no Node is known was seen to have no pods.
fn is_seen_without_pods(world: &World, machine: &Machine) -> bool {
    let listed = machine.drain.as_ref().and_then(|drain| drain.pods.as_ref());
    listed.is_some_and(|listed| {
        listed.at >= world.now() - LIST_VALID
            && listed.left(world.drain_policy(), Some(world.now())).next().is_none()
    })
}

fn judge_node(world: &World, id: MachineId, action: &Action, findings: &mut Findings<'_>) {
    // `gate` judges where probe pods start.
    if matches!(action.effect, Effect::StartProbe(_)) {
        return;
    }
    let machine = world.machine(id);
    let Some(node) = &machine.node else {
        if action.effect != Effect::ListPods {
            findings.against(action, "there is no such Node".into());
        }
        return;
    };
    let expected = if let Effect::Evict(pod) | Effect::DeletePod(pod) = &action.effect {
        Fence::Incarnation(pod.uid)
    } else if action.effect == Effect::ListPods {
        Fence::None
    } else {
        world.node_uid(id).map_or(Fence::Absent, Fence::Incarnation)
    };
    if action.fence != expected {
        findings.against(action, format!("its fence is {:?}, expected is {expected:?}", action.fence));
    }
    if !world.in_flight().get(&action.id).is_some_and(|in_flight| in_flight.ticket.is_about_node()) {
        findings.against(action, "the engine does not remember it".into());
    }
    if let Effect::Cordon(cordon) = &action.effect {
        judge_cordon(machine, node, (cordon, action), world.epoch(), findings);
        if !node.is_ours() && world.last_node(id).is_some() {
            findings.against(action, "no schedulable Node is left for pods that are being evicted".into());
        }
        if lacks_grant(world, machine, &cordon.mark.reason) {
            findings.against(action, "the Node is drained for a rollout without a grant".into());
        }
    } else if let Effect::Uncordon(uncordon) = &action.effect {
        let is_anothers = machine.freed || node.mark().is_none_or(|mark| mark.found_unschedulable);
        if is_anothers && uncordon.makes_schedulable() {
            findings.against(action, "somebody else has cordoned the Node".into());
        }
        if uncordon.shape != node.shape() {
            findings.against(action, "the Node looks different by now".into());
        }
    } else if action.effect == Effect::DeleteNode {
        judge_deletion(machine, node, action, findings);
    } else if let Effect::Evict(pod) | Effect::DeletePod(pod) = &action.effect {
        judge_eviction(world, machine, pod, action, findings);
    }
}

fn judge_cordon(
    machine: &Machine,
    node: &NodeState,
    (cordon, action): (&NodeCordon, &Action),
    epoch: Epoch,
    findings: &mut Findings<'_>,
) {
    if cordon.shape != node.shape() {
        findings.against(action, "the Node looks different by now".into());
    }
    if Some(cordon.mark.machine) != machine.uid() {
        findings.against(action, "the mark names another Machine".into());
    }
    if cordon.mark.epoch != epoch {
        findings.against(action, "the mark names another epoch".into());
    }
    let is_anothers = machine.freed || node.mark().is_none_or(|mark| mark.found_unschedulable);
    let found = cordon.shape.unschedulable && is_anothers;
    if cordon.mark.found_unschedulable != found {
        findings.against(action, "the mark does not say how the Node was found".into());
    }
    if !machine.object.as_ref().is_some_and(|object| object.meta.is_held()) {
        findings.against(action, "the Machine carries no finalizer of ours".into());
    }
}

/// Whether a rollout that drains the Node deletes by now what has not left.
fn is_overdue(world: &World, machine: &Machine) -> bool {
    let since = machine.mark(world.epoch()).map(|mark| mark.since);
    let after = world.force_after(machine);
    since.zip(after).is_some_and(|(since, after)| since + after <= world.now())
}

/// Whether the machine waits for its turn in the rollout of a component, and has nothing to repair there.
fn lacks_grant(world: &World, machine: &Machine, component: &str) -> bool {
    let mut rollouts = world.fleet.rollouts.iter().enumerate();
    let found = rollouts.find(|(_, rollout)| {
        let brings = rollout.record.component;
        world.component_name(brings) == component && world.governor(machine, brings) == rollout.owner
    });
    found.is_some_and(|(index, rollout)| {
        let reported = machine.reported(rollout.record.component);
        !rollout.superseded
            && matches!(machine.standing(index), Standing::Eligible | Standing::Deferred)
            && reported.is_none_or(|reported| reported.drift.is_none())
    })
}

fn judge_deletion(machine: &Machine, node: &NodeState, action: &Action, findings: &mut Findings<'_>) {
    let Some(object) = &machine.object else { return };
    if !object.meta.is_terminating() {
        findings.against(action, "a Node is deleted, and its Machine is not".into());
    }
    let is_left = machine.host.facts.as_ref().is_some_and(|facts| facts.components.is_empty());
    if !is_left && !object.is_released {
        findings.against(action, "a Node is deleted, and software is still on its host".into());
    }
    let reported = node.cordon.as_ref().and_then(|cordon| cordon.host);
    let recorded = object.status.identity.as_ref().map(|identity| identity.host);
    if reported.zip(recorded).is_some_and(|(reported, recorded)| reported != recorded) {
        findings.against(action, "the Node is another host's".into());
    }
}

fn judge_eviction(
    world: &World,
    machine: &Machine,
    pod: &PodName,
    action: &Action,
    findings: &mut Findings<'_>,
) {
    let listed = machine.drain.as_ref().and_then(|drain| drain.pods.as_ref());
    let unready_at = machine.unready_at(world.now());
    let fates = listed.map(|listed| listed.fates(world.drain_policy(), unready_at));
    let Some((_, fate)) = fates.into_iter().flatten().find(|(facts, _)| facts.pod == *pod) else {
        return findings.against(action, format!("pod {pod} was not seen there"));
    };
    let is_forced = matches!(action.effect, Effect::DeletePod(_));
    if is_forced && !is_overdue(world, machine) {
        findings.against(action, format!("pod {pod} is deleted, and no rollout says so"));
    }
    if fate != PodFate::Evicted && !(is_forced && matches!(fate, PodFate::Forbidden(_))) {
        findings.against(action, format!("pod {pod} is evicted, although its fate is {fate:?}"));
    }
    if machine.mark(world.epoch()).is_none() {
        findings.against(action, format!("pod {pod} is evicted from a Node that is not cordoned"));
    }
}
