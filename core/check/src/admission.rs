//! Admission: a threshold falls only when a completed rollout begins anew. A wave grants no more machines than there are free units, and no more than may
//! still fail; and it drops nobody who is or may be at work, or whose failure is not recorded. The record of a rollout stays as long as machines are being
//! worked on for it. A change that a rollout brings starts only under a recorded grant.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;

use seaworthy_engine::{Machine, Origin, Owner, RolloutState, Standing, Ticket, World, targets};
use seaworthy_model::effect::Action;
use seaworthy_model::host::Change;
use seaworthy_model::id::{ComponentId, MachineId};
use seaworthy_model::package_version::{PackageVersionStatus, Rollout};
use seaworthy_model::report::{Subject, Turn};

use crate::invariant::{Findings, Invariant, recorded, works};

pub(crate) const INVARIANT: Invariant = Invariant { name: "admission", judge };

fn judge(world: &World, turn: &Turn, findings: &mut Findings<'_>) {
    for action in &turn.actions {
        if let Some(written) = recorded(action) {
            judge_status(world, written, action, findings);
        }
    }
    for (action, id, operation) in works(turn) {
        let machine = world.machine(id);
        let target = targets(world, machine).find(|target| target.component == operation.component);
        let Some(Origin::Rollout(index)) = target.map(|target| target.origin) else { continue };
        if is_new(machine, operation.component, &operation.change) && !is_covered(world, machine, index) {
            findings.against(action, "it starts, and no record shows that it may be at work".into());
        }
    }
}

/// The controller of the rollouts decided last, so the world is still as it saw it.
fn judge_status(
    world: &World,
    (owner, status): (Owner, &PackageVersionStatus),
    action: &Action,
    findings: &mut Findings<'_>,
) {
    let free = world.slots().saturating_sub(world.occupied());
    // Two rollouts on one machine pay once.
    let mut taken: BTreeSet<MachineId> = BTreeSet::new();
    let rollouts = world.fleet.rollouts.iter().enumerate();
    for (index, state) in rollouts.filter(|(_, state)| state.owner == owner) {
        let is_same = |new: &&Rollout| new.component == state.record.component;
        let new = status.rollouts.iter().find(is_same);
        for lost in at_work(world, state).into_iter().filter(|rank| !covers(new, state, *rank)) {
            findings
                .against(action, format!("the grant {lost} of {:?} goes, at work", state.record.component));
        }
        let Some(new) = new.filter(|new| new.generation == state.record.generation) else { continue };
        for lost in unrecorded(world, state).filter(|rank| !covers(Some(new), state, *rank)) {
            let component = state.record.component;
            findings
                .against(action, format!("the grant {lost} of {component:?} goes, its failure unrecorded"));
        }
        let begins_anew = state.record.completed_at.is_some() && new.completed_at.is_none();
        if new.admitted_below < state.record.admitted_below && !begins_anew {
            findings.against(action, format!("the threshold of {:?} falls", new.component));
        }
        let granted = newly_granted(world, (index, state), new);
        let room = state.counts.room(world.failures_max());
        if granted.len() > room as usize {
            findings.against(action, format!("{} are granted, and {room} may be at work", granted.len()));
        }
        let takes = |id: &MachineId| {
            let machine = world.machine(*id);
            !machine.claims() && !machine.is_spared()
        };
        taken.extend(granted.into_iter().filter(takes));
    }
    let mut writes = world.in_flight().values().filter(|other| other.ticket == Ticket::Write);
    let is_other = |subject: Subject| subject != owner.subject() && is_record(world, subject);
    if !taken.is_empty() && writes.any(|write| is_other(write.subject)) {
        findings.against(action, "machines are granted while another record may be written".into());
    }
    let taken = taken.len();
    if taken > free as usize {
        findings.against(action, format!("{taken} are granted {free} free units"));
    }
}

/// Whether a subject has a record of rollouts, and still exists.
fn is_record(world: &World, subject: Subject) -> bool {
    Owner::of(subject.target()).is_some_and(|owner| world.charter(owner).is_some())
}

/// The granted ranks of the machines at work.
fn at_work(world: &World, state: &RolloutState) -> Vec<u32> {
    let busy = state.holders.iter().filter(|(_, id)| world.machine(*id).is_unresolved());
    busy.map(|(rank, _)| *rank).collect()
}

/// The granted ranks of the machines whose status does not show yet that the release failed there.
fn unrecorded(world: &World, state: &RolloutState) -> impl Iterator<Item = u32> {
    let ranks = world.unrecorded_failures().filter_map(|machine| Some(state.key.rank(machine.uid()?)));
    ranks.filter(|rank| state.grants(*rank))
}

/// Whether the new record of a component still shows that a machine may be at work for this rollout.
fn covers(new: Option<&Rollout>, state: &RolloutState, rank: u32) -> bool {
    let Some(new) = new else { return false };
    if new.generation == state.record.generation {
        return new.granted.as_ref().is_none_or(|granted| granted.contains(&rank));
    }
    let mut superseded = new.superseded.iter();
    superseded.any(|old| old.generation == state.record.generation && old.granted.contains(&rank))
}

/// The machines that the new record grants in addition. Machines of one rank count as one, because no grant can tell them
/// apart.
fn newly_granted(world: &World, (index, state): (usize, &RolloutState), new: &Rollout) -> Vec<MachineId> {
    let ranks = new.granted.as_deref().unwrap_or_default();
    let ranks = ranks.iter().filter(|rank| !state.grants(**rank));
    let waiting = ranks.filter_map(|rank| {
        let mut of_rank = state.waiting.range((*rank, MachineId(0))..=(*rank, MachineId(u32::MAX)));
        of_rank.find(|(_, id)| world.machine(*id).standing(index) != Standing::Deferred).map(|(_, id)| *id)
    });
    waiting.collect()
}

/// Whether a change is not just a repair of what is installed.
fn is_new(machine: &Machine, component: ComponentId, change: &Change) -> bool {
    match change {
        Change::Install(release) => {
            machine.installed(component).is_none_or(|installed| installed.release != release.id)
        }
        Change::Remove => true,
    }
}

/// Whether the record of the rollout or of the machine shows that the machine may be at work.
fn is_covered(world: &World, machine: &Machine, index: usize) -> bool {
    let state = &world.fleet.rollouts[index];
    let Some(charter) = world.charter(state.owner) else { return false };
    let is_granted = machine.uid().is_some_and(|uid| state.grants(state.key.rank(uid)));
    let is_own = machine.object.as_ref().is_some_and(|object| {
        object.meta.generation != object.status.observed_generation || object.meta.is_terminating()
    });
    (is_granted && charter.status.epoch == world.epoch()) || is_own || machine.is_recorded_drifted()
}
