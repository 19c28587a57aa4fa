//! To which of several changes a fault is charged.
//!
//! A machine that several rollouts have changed may have gone wrong because of any of them. As each draws its machines for
//! itself, the others break as many of those that it has not touched, and a gate compares with these. But near its end a
//! rollout has touched all. So the machines count that it alone has changed. If enough of those are well, and not so for
//! every other suspect, it is not to blame: its gate leaves the shared machines that went wrong to the others. Otherwise all
//! are charged, so a fault that comes of two changes together, or of which too little is known, stops them both.

use alloc::vec::Vec;

use seaworthy_model::time::Timestamp;

use crate::rows::fleet::RolloutState;
use crate::rows::machine::Machine;
use crate::world::World;

/// So many machines of its own have to be well for a rollout not to be to blame: a release that breaks one in four leaves so
/// many alone less than once in 17 times.
const WELL: u32 = 10;

/// The machines of a rollout that others have changed as well.
pub(super) struct Suspects {
    /// The rollout whose gate it is.
    index: usize,
    /// Those that it alone has changed.
    alone: Alone,
    /// Those that went wrong, each with the other rollouts that have changed it.
    shared: Vec<Vec<usize>>,
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

impl Suspects {
    pub(super) fn new(index: usize) -> Self {
        Self { index, alone: Alone::default(), shared: Vec::new() }
    }

    /// Notes a machine that the rollout has changed.
    pub(super) fn note(&mut self, world: &World, machine: &Machine, is_wrong: bool) {
        let others: Vec<usize> = changed_by(world, machine).filter(|other| *other != self.index).collect();
        if others.is_empty() {
            self.alone.count(is_wrong);
        } else if is_wrong {
            self.shared.push(others);
        }
    }

    /// How many of the machines that went wrong are charged to other rollouts. `began` is when this one started.
    pub(super) fn charged_to_others(&self, world: &World, began: Timestamp) -> u32 {
        if self.shared.is_empty() || !self.alone.are_well() {
            return 0;
        }
        let mut alone = Vec::new();
        alone.resize(world.fleet.rollouts.len(), Alone::default());
        for (_, machine) in world.machines() {
            let mut changed_by = changed_by(world, machine);
            if let (Some(one), None) = (changed_by.next(), changed_by.next()) {
                alone[one].count(is_away(machine, began));
            }
        }
        let is_suspected = |others: &&Vec<usize>| others.iter().any(|other| !alone[*other].are_well());
        u32::try_from(self.shared.iter().filter(is_suspected).count()).unwrap_or(u32::MAX)
    }
}

/// Whether a machine has become unavailable since then, or its Node has begun to report a problem.
pub(super) fn is_away(machine: &Machine, since: Timestamp) -> bool {
    let troubled = machine.node.as_ref().and_then(|node| node.troubled_since);
    machine.unavailable_since().max(troubled).is_some_and(|at| at > since)
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
