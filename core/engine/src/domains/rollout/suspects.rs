//! To which of several changes a fault is charged.
//!
//! A machine that several rollouts have changed may have gone wrong because of any of them. As each draws its machines for
//! itself, the others break as many of those that it has not touched, and a gate compares with these. But near its end a
//! rollout has touched all. Then the likeliest is charged:
//!
//! 1. By spread: a rollout is not to blame if enough of the machines that it alone has changed are well, and that is not so for
//!    every other one.
//! 2. By onset: if a machine was well for long with the earlier changes, and soon went wrong after the last one, that is to
//!    blame.
//! 3. By class: a kubelet and what it needs take a Node down sooner than what only runs there does.
//!
//! Those whom none of that clears are charged alike: a fault that comes of two changes together, or of which too little is
//! known, stops them both.

use alloc::vec::Vec;
use core::time::Duration;

use seaworthy_model::id::{ComponentId, MachineId};
use seaworthy_model::time::Timestamp;

use crate::rows::fleet::RolloutState;
use crate::rows::machine::Machine;
use crate::world::World;

/// So many machines of its own have to be well for a rollout not to be to blame: a release that breaks one in four leaves so
/// many alone less than once in 17 times.
const WELL: u32 = 10;

/// So many times as long a machine has to have been well with the earlier changes as with the last one.
const SOONER: u32 = 4;

/// Clocks differ, and a Node tells whole seconds.
const CLOCKS: Duration = Duration::from_secs(60);

/// The machines of a rollout that others have changed as well.
pub(super) struct Suspects<'w> {
    world: &'w World,
    /// The rollout whose gate it is.
    index: usize,
    /// Those that it alone has changed.
    alone: Alone,
    /// Those that went wrong, each with all rollouts that have changed it.
    shared: Vec<(MachineId, Vec<usize>)>,
}

/// The machines that a rollout alone has changed.
#[derive(Clone, Copy, Debug, Default)]
struct Alone {
    changed: u32,
    wrong: u32,
}

impl Alone {
    const fn are_well(self) -> bool {
        self.changed >= WELL && self.wrong == 0
    }

    fn count(&mut self, is_wrong: bool) {
        self.changed += 1;
        self.wrong += u32::from(is_wrong);
    }
}

impl<'w> Suspects<'w> {
    pub(super) const fn new(world: &'w World, index: usize) -> Self {
        Self { world, index, alone: Alone { changed: 0, wrong: 0 }, shared: Vec::new() }
    }

    /// Notes a machine that the rollout has changed.
    pub(super) fn note(&mut self, id: MachineId, machine: &Machine, is_wrong: bool) {
        let mut others = changed_by(self.world, machine).filter(|other| *other != self.index).peekable();
        if others.peek().is_none() {
            self.alone.count(is_wrong);
        } else if is_wrong {
            let all = others.chain([self.index]).collect();
            self.shared.push((id, all));
        }
    }

    /// How many of the machines that went wrong are charged to other rollouts. `began` is when this one started.
    pub(super) fn charged_to_others(&self, began: Timestamp) -> u32 {
        if self.shared.is_empty() {
            return 0;
        }
        let alone = self.all_alone(began);
        let is_others = |(id, all): &&(MachineId, Vec<usize>)| {
            let mut left = all.clone();
            narrow(&mut left, |one| !alone[one].are_well());
            self.clear_by_onset(*id, &mut left);
            if is_unready(self.world.machine(*id)) {
                narrow(&mut left, |one| self.is_of_kubelet(one));
            }
            !left.contains(&self.index)
        };
        u32::try_from(self.shared.iter().filter(is_others).count()).unwrap_or(u32::MAX)
    }

    /// By rollout: the machines that it alone has changed.
    fn all_alone(&self, began: Timestamp) -> Vec<Alone> {
        let mut alone = Vec::new();
        alone.resize(self.world.fleet.rollouts.len(), Alone::default());
        for (_, machine) in self.world.machines() {
            let mut changed_by = changed_by(self.world, machine);
            if let (Some(one), None) = (changed_by.next(), changed_by.next()) {
                alone[one].count(is_away(machine, began));
            }
        }
        alone[self.index] = self.alone;
        alone
    }

    /// Leaves the last change before a fault, if the machine was well for long without it, and not with it.
    fn clear_by_onset(&self, id: MachineId, left: &mut Vec<usize>) {
        let Some(onset) = onset(self.world.machine(id)) else { return };
        let began = |index: usize| {
            let component = self.world.fleet.rollouts.get(index)?.record.component;
            self.world.changes.began(component, id)
        };
        let known: Option<Vec<(Timestamp, usize)>> =
            left.iter().map(|index| Some((began(*index)?, *index))).collect();
        let Some(mut known) = known else { return };
        known.sort_unstable();
        let [.., (earlier, _), (last, index)] = known[..] else { return };
        let (well, sick) = (last.since(earlier), onset.since(last).max(CLOCKS));
        if sick.saturating_mul(SOONER) <= well {
            left.retain(|one| *one == index);
        }
    }

    /// Whether a rollout changes a kubelet, or what one needs.
    fn is_of_kubelet(&self, index: usize) -> bool {
        let component = self.world.fleet.rollouts[index].record.component;
        let specs = self.world.versions.iter().filter_map(|version| version.object()?.spec.as_ref().ok());
        let mut kubelets = specs.filter(|spec| spec.node_identity.is_some());
        kubelets.any(|kubelet| {
            let needs =
                |needed: &ComponentId| *needed == component || self.world.may_need(*needed, component);
            kubelet.component == component || kubelet.depends_on.iter().any(needs)
        })
    }
}

/// Leaves those of which something is true, if there are any.
fn narrow(left: &mut Vec<usize>, is_so: impl Fn(usize) -> bool) {
    if left.iter().any(|one| is_so(*one)) {
        left.retain(|one| is_so(*one));
    }
}

/// Since when a machine is unavailable, or its Node reports a problem.
pub(super) fn onset(machine: &Machine) -> Option<Timestamp> {
    let troubled = machine.node.as_ref().and_then(|node| node.troubled_since);
    machine.unavailable_since().max(troubled)
}

/// Whether a machine has a Node, and that is not ready.
fn is_unready(machine: &Machine) -> bool {
    machine.node.is_some() && machine.unavailable_since().is_some()
}

/// Whether a machine has become unavailable, or its Node has begun to report a problem, after this time.
pub(super) fn is_away(machine: &Machine, since: Timestamp) -> bool {
    onset(machine).is_some_and(|at| at > since)
}

/// From when on a fault of a machine may be due to the change of a component, in a rollout that began at this time.
pub(super) fn changed_at(
    world: &World,
    (component, id): (ComponentId, MachineId),
    began: Timestamp,
) -> Timestamp {
    world.changes.began(component, id).map_or(began, |changed| began.max(changed - CLOCKS))
}

/// The rollouts under way with gates that have changed a machine.
fn changed_by<'w>(world: &'w World, machine: &'w Machine) -> impl Iterator<Item = usize> + 'w {
    let is_judged = |rollout: &RolloutState| {
        rollout.is_active() && rollout.record.course.is_some() && !rollout.record.is_reverted()
    };
    let rollouts = world.fleet.rollouts.iter().enumerate();
    rollouts
        .filter(move |(index, rollout)| machine.standing(*index).is_updated() && is_judged(rollout))
        .map(|(index, _)| index)
}
