//! Which version a machine should have: the pin in its spec, else what a set says that selects it, else the fleet's
//! default; of the last two, once the rollout admits the machine.
//!
//! A pure function of the record, so the last writer wins and there is nothing to lock. A component that nothing
//! mentions is not removed: only `state: Absent` removes, and a set with `onLeave: Remove` from machines that leave it.

use seaworthy_model::id::{ComponentId, SetId};
use seaworthy_model::machine::Want;

use crate::rows::fleet::RolloutState;
use crate::rows::machine::Machine;
use crate::world::World;

/// What a machine should have of one component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target<'w> {
    /// The component.
    pub component: ComponentId,
    /// What it should have.
    pub aim: Aim<'w>,
    /// The origin of the decision.
    pub origin: Origin,
}

/// The desired state of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim<'w> {
    /// The wanted version, or its absence.
    Set(&'w Want),
    /// The installed release, unchanged.
    Keep,
}

/// What decides about a component of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The Machine's own spec.
    Pin,
    /// The rollout of this index, of the fleet's defaults or of a set.
    Rollout(usize),
    /// A set that the machine has left, and with which the component goes.
    Left(SetId),
    /// Nothing: it is installed, and no pin mentions it and no rollout has taken it up.
    Nobody,
}

/// What a machine should have, component by component: pins in their order, then what sets and the fleet's defaults say,
/// then what is installed and not mentioned.
pub fn targets<'w>(world: &'w World, machine: &'w Machine) -> impl Iterator<Item = Target<'w>> {
    // A machine with an invalid spec has no targets.
    let known = machine.spec().map(|spec| {
        let installed = machine.host.facts.as_ref().map_or(&[][..], |facts| &facts.components);
        (&spec.pins[..], &world.fleet.rollouts[..], installed)
    });
    let (pins, rollouts, installed) = known.unwrap_or_default();
    let is_pinned = |component| pins.iter().any(|pin| pin.component == component);
    let is_governed =
        move |rollout: &RolloutState| world.governor(machine, rollout.record.component) == rollout.owner;
    let is_default = move |component| {
        rollouts.iter().any(|rollout| rollout.record.component == component && is_governed(rollout))
    };
    let pinned = pins.iter().filter(move |pin| is_pinned(pin.component)).map(|pin| Target {
        component: pin.component,
        aim: Aim::Set(&pin.want),
        origin: Origin::Pin,
    });
    let by_default = rollouts.iter().enumerate().filter_map(move |(index, rollout)| {
        let component = rollout.record.component;
        let aim = (!is_pinned(component) && is_governed(rollout)).then(|| aim(machine, rollout))?;
        Some(Target { component, aim, origin: Origin::Rollout(index) })
    });
    let others = installed.iter().map(|installed| installed.component);
    // What goes with a set is known from the record, before the host was read.
    let status = machine.object.as_ref().map(|object| &object.status.components[..]).unwrap_or_default();
    let is_read = machine.host.facts.is_some();
    let recorded = status.iter().filter(move |status| !is_read && status.set.is_some());
    let others = others.chain(recorded.map(|status| status.component));
    let others = others.filter(move |component| !is_pinned(*component) && !is_default(*component));
    let others = others.map(|component| match world.set_left(machine, component) {
        Some(set) => Target { component, aim: Aim::Set(&Want::Absent), origin: Origin::Left(set) },
        None => Target { component, aim: Aim::Keep, origin: Origin::Nobody },
    });
    pinned.chain(by_default).chain(others)
}

/// The desired state that a rollout sets for a machine without a pin.
fn aim<'w>(machine: &Machine, rollout: &'w RolloutState) -> Aim<'w> {
    let Some(uid) = machine.uid() else { return Aim::Keep };
    if rollout.superseded {
        Aim::Keep
    } else if rollout.admits(rollout.key.rank(uid)) {
        Aim::Set(rollout.record.target())
    } else if machine.installed(rollout.record.component).is_some() {
        Aim::Keep
    } else {
        rollout.record.from.as_ref().map_or(Aim::Keep, Aim::Set)
    }
}
