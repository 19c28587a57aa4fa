//! The batches of a rollout that would begin now.

use seaworthy_api::v1alpha1::{ComponentSetting, WantStatus};
use seaworthy_engine::{Machine, Owner, RankKey, end_of_batch};
use seaworthy_model::id::{ComponentId, Uid, VersionId};
use seaworthy_model::package_version::Rollout;
use seaworthy_model::quantity::CountOrPercent;
use serde::Serialize;

use super::Subject;
use super::pick::Picking;
use crate::live::picture::Picture;

/// The machines that would change, and those that would not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Batches {
    /// The machines that change, batch by batch, each in the order of their turns. None while it is not known which machines
    /// a canary picks.
    #[serde(rename = "batches")]
    pub(super) changing: Vec<Vec<String>>,
    /// How many machines each batch changes.
    pub(super) sizes: Vec<usize>,
    /// Machines that pin another version, or this one.
    pub(super) pinned: usize,
    /// Machines that have it.
    pub(super) unchanged: usize,
    /// Machines about which a canary, or a set that comes first, decides.
    pub(super) decided_by_others: usize,
}

/// Divides the machines of an owner into batches.
pub(super) fn batches(
    picture: &Picture,
    owner: Owner,
    (subject, setting): (&Subject, &ComponentSetting),
    pick: Option<&Picking>,
) -> Batches {
    let Some(component) = picture.component(&setting.name) else { return Batches::default() };
    let world = picture.world();
    let is_open = pick.is_some_and(|pick| pick.is_open);
    // The order of what does not exist yet is not shown.
    let key = RankKey::new(subject.uid.unwrap_or(Uid(0)), subject.generation, &setting.name);
    let want = world.charter(owner).and_then(|charter| charter.want(component)?.version());
    let mut found = Batches::default();
    let mut ranked: Vec<(u32, &Machine)> = Vec::new();
    for (_, machine) in world.machines().filter(|(_, machine)| machine.is_live()) {
        let is_of_it = owner == Owner::Fleet || world.owners_of(machine).contains(&owner);
        let (true, Some(uid), Some(_)) = (is_of_it, machine.uid(), machine.spec()) else { continue };
        if is_pinned(machine, component) {
            found.pinned += 1;
        } else if world.governor(machine, component) != owner {
            found.decided_by_others += 1;
        } else {
            ranked.push((key.rank(uid), machine));
        }
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    let ranks: Vec<u32> = ranked.iter().map(|(rank, _)| *rank).collect();
    let ends = ends(subject, setting);
    let (mut below, mut rest) = (0, &ranked[..]);
    while below != Rollout::EVERYBODY {
        below = end_of_batch(&ranks, &ends, below);
        let (batch, later) = rest.split_at(rest.partition_point(|(rank, _)| *rank < below));
        rest = later;
        let changes = |machine: &Machine| is_open || !has(machine, component, (setting, want));
        let changing: Vec<&Machine> =
            batch.iter().map(|(_, machine)| *machine).filter(|machine| changes(machine)).collect();
        found.unchanged += batch.len() - changing.len();
        if !changing.is_empty() {
            found.sizes.push(changing.len());
            let names = changing.iter().map(|machine| world.machine_name(machine.id).to_owned());
            found.changing.extend((!is_open).then(|| names.collect()));
        }
    }
    found
}

/// Whether a machine says itself what it should have of a component.
pub(super) fn is_pinned(machine: &Machine, component: ComponentId) -> bool {
    machine.spec().is_some_and(|spec| spec.pins.iter().any(|pin| pin.component == component))
}

/// The ends of the batches. What worked before comes back at once.
fn ends(subject: &Subject, setting: &ComponentSetting) -> Vec<CountOrPercent> {
    let rollouts = subject.status.as_ref().map_or(&[][..], |status| &status.rollouts);
    let rollout = rollouts.iter().find(|rollout| rollout.component == setting.name);
    let is_it = |want: &WantStatus| want.version == setting.version && want.parameters == setting.parameters;
    let works = rollout.and_then(|rollout| {
        let catches_up =
            rollout.course.as_ref().is_some_and(|course| course.catches_up && course.failed_gate.is_none());
        let was_complete = rollout.completed_at.is_some() || catches_up;
        let proven = was_complete && rollout.updated > 0 && rollout.failed == 0;
        if proven { Some(&rollout.to) } else { rollout.from.as_ref() }
    });
    match &subject.strategy {
        Some(strategy) if !works.is_some_and(is_it) => strategy.batches.clone(),
        Some(_) | None => Vec::new(),
    }
}

/// Whether a machine has the version. Parameters show in no status: a change of them counts as a change of every machine.
fn has(
    machine: &Machine,
    component: ComponentId,
    (setting, want): (&ComponentSetting, Option<VersionId>),
) -> bool {
    let installed = machine.installed(component).map(|installed| installed.version);
    installed == want && setting.parameters.is_empty()
}
