//! Which machines a canary would pick.

use std::collections::BTreeMap;

use seaworthy_api::object::Resource;
use seaworthy_api::v1alpha1::CanaryMachine;
use seaworthy_engine::{Owner, PassedOver, World};
use seaworthy_model::component_set::{Pick, SetSpec};
use seaworthy_model::id::CanaryId;
use seaworthy_model::package_version::FleetReason;
use serde::Serialize;

use super::{Subject, told};
use crate::live::Problem;
use crate::live::picture::Picture;

/// The machines of a canary.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Picking {
    /// How many.
    pub(super) count: usize,
    /// Their names, as far as they are known.
    pub(super) machines: Vec<String>,
    /// Whether the operator has recorded them.
    pub(super) is_recorded: bool,
    /// Whether they are drawn when the canary is created: then nobody knows before which ones.
    pub(super) is_open: bool,
    /// How many machines its selector names, if it picks a number of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) selected: Option<usize>,
    /// How many of these it passes over, and why.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) passed_over: BTreeMap<&'static str, usize>,
    /// Machines that it names and that do not exist.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) missing: Vec<String>,
}

impl Picking {
    /// Why a canary with these machines rolls out nothing.
    pub(super) fn refusal(&self) -> Option<String> {
        (self.count == 0 && self.missing.is_empty()).then(|| told(FleetReason::NoMachines, None))
    }
}

/// Picks the machines of a canary as the operator would, unless it has, and takes them in as recorded.
pub(super) fn pick(picture: &mut Picture, subject: &mut Subject, id: CanaryId) -> Result<Picking, Problem> {
    let mut found = Picking::default();
    let world = picture.world();
    let recorded = world.set(Owner::Canary(id)).and_then(|set| set.object());
    let recorded = recorded.map(|object| &object.status.picked[..]).unwrap_or_default();
    let mut machines: Vec<_> = recorded.iter().map(|picked| picked.machine).collect();
    found.is_recorded = !machines.is_empty();
    if machines.is_empty() {
        let choice = world.choice(id);
        machines = choice.machines;
        found.is_open = choice.is_drawn && subject.uid.is_none();
        if let Some(spec) = world.set(Owner::Canary(id)).and_then(|set| set.spec()) {
            (found.selected, found.passed_over) = passed_over(world, spec);
        }
    }
    let (there, missing): (Vec<_>, Vec<_>) =
        machines.iter().partition(|machine| world.machine(**machine).object.is_some());
    let names = |of: Vec<_>| of.into_iter().map(|machine| world.machine_name(machine).to_owned()).collect();
    let picked: Vec<String> = names(there);
    found.missing = names(missing);
    found.count = picked.len();
    if !found.is_recorded {
        record(subject, machines.iter().map(|machine| world.machine_name(*machine)));
        picture.see(&subject.object)?;
    }
    if !found.is_open {
        found.machines = picked;
    }
    Ok(found)
}

/// Writes the machines into the object that is planned.
fn record<'n>(subject: &mut Subject, names: impl Iterator<Item = &'n str>) {
    if let Resource::CanaryRelease(canary) = &mut subject.object {
        let waiting = |name: &str| CanaryMachine { name: name.to_owned(), result: "Waiting".to_owned() };
        canary.status.get_or_insert_default().machines = names.map(waiting).collect();
    }
}

/// How many machines a canary selects that picks a number of them, and how many of these it passes over.
fn passed_over(world: &World, spec: &SetSpec) -> (Option<usize>, BTreeMap<&'static str, usize>) {
    let mut counts = BTreeMap::new();
    if !spec.canary.as_ref().is_some_and(|canary| matches!(canary.pick, Pick::Count { .. })) {
        return (None, counts);
    }
    let machines = world.machines().map(|(_, machine)| machine);
    let selected = machines.filter(|machine| {
        machine.object.as_ref().is_some_and(|object| spec.selector.matches(&object.labels))
    });
    let mut count = 0;
    for machine in selected {
        count += 1;
        if let Some(why) = world.passed_over(spec, machine) {
            *counts.entry(in_words(why)).or_default() += 1;
        }
    }
    (Some(count), counts)
}

/// Why a machine is passed over, after how many they are.
const fn in_words(why: PassedOver) -> &'static str {
    match why {
        PassedOver::Terminating => "being deleted",
        PassedOver::InvalidSpec => "with a spec that is not acceptable",
        PassedOver::Pinned => "that pin a component",
        PassedOver::InCanary => "in another canary",
        PassedOver::Paused => "paused",
        PassedOver::Unreachable => "not reachable",
        PassedOver::OutOfService => "out of service",
        PassedOver::Unlabelled => "without a label of pick.per",
    }
}
