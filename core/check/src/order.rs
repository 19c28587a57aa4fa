//! Order: a component is installed only when its dependencies are on the machine and undamaged. It is removed only when no
//! installed component depends on it.

use alloc::format;
use alloc::vec::Vec;

use seaworthy_engine::{Machine, World};
use seaworthy_model::host::Change;
use seaworthy_model::id::{ComponentId, VersionId};
use seaworthy_model::report::Turn;

use crate::invariant::{Findings, Invariant, works};

pub(crate) const INVARIANT: Invariant = Invariant { name: "order", judge };

fn judge(world: &World, turn: &Turn, findings: &mut Findings<'_>) {
    if !world.is_ordered() {
        return;
    }
    for (action, id, operation) in works(turn) {
        let machine = world.machine(id);
        let found = match &operation.change {
            Change::Install(release) => {
                lacking(world, machine, release.version).map(|other| ("is installed without", other))
            }
            Change::Remove => {
                needing(world, machine, operation.component).map(|other| ("is removed under", other))
            }
        };
        if let Some((what, other)) = found {
            let (component, other) = (operation.component, world.component_name(other));
            findings.against(action, format!("{} {what} {other}", world.component_name(component)));
        }
    }
}

/// A dependency of a version that is missing or damaged.
fn lacking(world: &World, machine: &Machine, version: VersionId) -> Option<ComponentId> {
    let mut needed = world.version_spec(version)?.depends_on.iter().copied();
    needed.find(|component| machine.reported(*component).is_none_or(|found| !found.drift.is_none()))
}

/// An installed component that depends on `component`. If both depend on each other, one of them has to go first, and
/// neither counts.
fn needing(world: &World, machine: &Machine, component: ComponentId) -> Option<ComponentId> {
    let installed = machine.host.facts.iter().flat_map(|facts| &facts.components);
    let mut others = installed.map(|found| found.component).filter(|other| *other != component);
    others
        .find(|other| leads_to(world, machine, *other, component) && !is_in_circle(world, machine, component))
}

fn is_in_circle(world: &World, machine: &Machine, component: ComponentId) -> bool {
    let mut ahead: Vec<ComponentId> = needs(world, machine, component).collect();
    let mut seen = ahead.clone();
    while let Some(next) = ahead.pop() {
        for needed in needs(world, machine, next) {
            if !seen.contains(&needed) {
                seen.push(needed);
                ahead.push(needed);
            }
        }
    }
    seen.contains(&component)
}

fn leads_to(world: &World, machine: &Machine, from: ComponentId, to: ComponentId) -> bool {
    needs(world, machine, from).any(|needed| needed == to)
}

/// What an installed component depends on.
fn needs<'w>(
    world: &'w World,
    machine: &Machine,
    component: ComponentId,
) -> impl Iterator<Item = ComponentId> + use<'w> {
    let spec = machine.reported(component).and_then(|found| world.version_spec(found.version));
    spec.into_iter().flat_map(|spec| spec.depends_on.iter().copied())
}
