//! Labels and taints of Nodes.
//!
//! - The operator writes only what the Machine wants, and only where nobody else has set another value.
//! - It repairs and removes only what its own record on the Node lists.
//! - Every change starts from the last observed state of the Node.
//! - It writes nothing for a Machine that is paused or being deleted.

use alloc::format;

use seaworthy_engine::{Machine, Standing, World};
use seaworthy_model::attributes::{
    AttributesChange, Carried, LabelChange, NEXT_TAINT, NodeAttributes, Taint, TaintChange, TaintEffect,
    is_reserved,
};
use seaworthy_model::draw::word;
use seaworthy_model::effect::{Action, Effect};
use seaworthy_model::report::Turn;

use crate::invariant::{Findings, Invariant};

pub(crate) const INVARIANT: Invariant = Invariant { name: "attributes", judge };

fn judge(world: &World, turn: &Turn, findings: &mut Findings<'_>) {
    for action in &turn.actions {
        if let (Some(id), Effect::WriteNodeAttributes(change)) = (action.target.machine(), &action.effect) {
            judge_change(world, world.machine(id), (change, action), findings);
        }
    }
}

fn judge_change(
    world: &World,
    machine: &Machine,
    (change, action): (&AttributesChange, &Action),
    findings: &mut Findings<'_>,
) {
    let Some(node) = &machine.node else { return };
    let (nothing, bare) = (NodeAttributes::default(), Carried::default());
    let carried = node.carried.as_deref().unwrap_or(&bare);
    let wanted = machine.spec().and_then(|spec| spec.node.as_deref()).unwrap_or(&nothing);
    let wanted = &with_next(world, machine, wanted);
    let applied = carried.applied().unwrap_or(&nothing);
    let record = carried.record.as_ref().map(|(_, text)| text);
    let has = (change.has_labels, change.has_annotations, change.has_taints);
    if change.record.as_ref() != record || has != (node.has_labels, node.has_annotations, node.has_taints) {
        findings.against(action, "the Node looks different by now".into());
    }
    if !machine.is_live() || world.halt(machine).is_some() || machine.spec().is_none_or(|spec| spec.paused) {
        findings.against(action, "the Machine is paused or being deleted".into());
    }
    for label in &change.labels {
        if let Some(what) = wrong_label(label, (wanted, applied, carried)) {
            findings.against(action, format!("label {} {what}", label.key));
        }
    }
    for taint in &change.taints {
        if let Some(what) = wrong_taint(taint, (wanted, applied, carried)) {
            findings.against(action, format!("taint {} {what}", taint.key));
        }
    }
    judge_record(change, (wanted, applied), action, findings);
}

/// What is wanted of a Node, with the taint of those that are next in line: steering is asked for, and some rollout permits the
/// machine and has not changed it.
fn with_next(world: &World, machine: &Machine, wanted: &NodeAttributes) -> NodeAttributes {
    let mut wanted = wanted.clone();
    let rollouts = world.fleet.rollouts.iter().enumerate();
    let mut standings = rollouts.filter(|(_, it)| it.is_active()).map(|(index, _)| machine.standing(index));
    let is_permitted =
        standings.any(|it| matches!(it, Standing::Eligible | Standing::Granted | Standing::Held));
    if world.drain_policy().steer && is_permitted && world.is_next(machine) {
        let (key, effect) = (NEXT_TAINT.into(), TaintEffect::PreferNoSchedule);
        wanted.taints.push(Taint { key, value: "".into(), effect });
        wanted.sort();
    }
    wanted
}

/// What is wanted, what the operator has set, and what the Node carries.
type Sides<'a> = (&'a NodeAttributes, &'a NodeAttributes, &'a Carried);

fn wrong_label(change: &LabelChange, (wanted, applied, carried): Sides<'_>) -> Option<&'static str> {
    let LabelChange { key, from, to } = change;
    let ours = applied.label(key);
    if is_reserved(key) {
        Some("is reserved")
    } else if from.as_ref() != carried.label(key) {
        Some("looks different by now")
    } else if ours.is_none() && (from.is_some() || carried.others.iter().any(|it| it.key == word(key))) {
        Some("is somebody else's")
    } else if to.as_ref() != wanted.label(key) {
        Some("does not become what is wanted")
    } else if to.is_none() && (from.is_none() || from.as_ref() != ours) {
        Some("is removed, although its value is not ours")
    } else {
        None
    }
}

fn wrong_taint(change: &TaintChange, (wanted, applied, carried): Sides<'_>) -> Option<&'static str> {
    let TaintChange { key, effect, from, to } = change;
    let ours = applied.taint(key, *effect);
    let there = carried.taint(key, *effect).map(|(place, taint)| (place, &taint.value));
    if is_reserved(key) && **key != *NEXT_TAINT {
        Some("is reserved")
    } else if from.as_ref().map(|(place, value)| (*place, value)) != there {
        Some("looks different by now")
    } else if ours.is_none() && there.is_some() {
        Some("is somebody else's")
    } else if to.as_ref() != wanted.taint(key, *effect) {
        Some("does not become what is wanted")
    } else if to.is_none() && (there.is_none() || there.map(|(_, value)| value) != ours) {
        Some("is removed, although its value is not ours")
    } else {
        None
    }
}

/// The new record lists only wanted labels and taints that are ours already or become ours with this change.
fn judge_record(
    change: &AttributesChange,
    (wanted, applied): (&NodeAttributes, &NodeAttributes),
    action: &Action,
    findings: &mut Findings<'_>,
) {
    for label in &change.applied.labels {
        let comes = change.labels.iter().any(|it| it.key == label.key && it.from.is_none());
        let is_ours = comes || applied.label(&label.key).is_some();
        if !is_ours || wanted.label(&label.key) != Some(&label.value) {
            findings.against(action, format!("label {} is recorded as ours, and is not", label.key));
        }
    }
    for taint in &change.applied.taints {
        let is_it = |it: &&TaintChange| it.key == taint.key && it.effect == taint.effect;
        let comes = change.taints.iter().find(is_it).is_some_and(|it| it.from.is_none());
        let is_ours = comes || applied.taint(&taint.key, taint.effect).is_some();
        if !is_ours || wanted.taint(&taint.key, taint.effect) != Some(&taint.value) {
            findings.against(action, format!("taint {} is recorded as ours, and is not", taint.key));
        }
    }
}
