//! The desired state: what users ask of the fleet and its machines ("wishes"), now and until lately.
//!
//! Two invariants rest on it. A host's version goes back only when the desired state names the lower version, or did so
//! until lately, so that the operator could not know better (`versionOrder`). And no operation starts on a paused
//! machine or fleet, once the operator could know of the pause (`pause`).

use std::collections::{BTreeMap, BTreeSet};

use seaworthy_api::object::Metadata;
use seaworthy_api::v1alpha1::{ClusterPackageVersionStatus, ComponentSetting, MachineSpec, RolloutStatus};
use seaworthy_kernel::Timestamp;
use seaworthy_model::id::{Kind, Uid};

use super::desired::{Desired, Group, Member};
use super::recount::{Miscounts, Truth};
use crate::vocabulary::{host_number, host_of_address};
use crate::world::api_server::{ApiServer, Written};

/// The start of an installation that may go back to a lower version.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step<'a> {
    /// The Machine that the operation is for; `None` when that Machine is gone.
    pub machine: Option<&'a str>,
    pub component: &'a str,
    /// The name of the `MachineComponent` that is installed, and of the new one.
    pub from: &'a str,
    pub to: &'a str,
}

/// A version that the desired state named, and until when; `None` stands for no pin.
type Dropped = (Option<String>, Timestamp);

/// Another set, or the same one, says something else of a component from now on.
#[derive(Clone, Debug)]
struct Redecided {
    /// On this Machine only, whose labels have changed.
    machine: Option<String>,
    component: String,
    at: Timestamp,
}

/// The desired state, and how often it changed.
#[derive(Clone, Debug)]
pub(super) struct Wishes {
    fleet_paused: Option<Timestamp>,
    paused: BTreeMap<Uid, Timestamp>,
    /// Dropped versions, by name of the Machine (empty for the fleet) and component.
    dropped: BTreeMap<(String, String), Vec<Dropped>>,
    /// The number of components in the fleet's defaults.
    components: u16,
    /// All components that the fleet's defaults ever named. A component that they no longer name stays installed, and
    /// is removed with the Machine.
    mentioned: BTreeSet<String>,
    fleet_changes: u16,
    redecided: Vec<Redecided>,
    /// By host: changes of its own Machine.
    changes: Vec<u16>,
    /// Whether the fleet's defaults ever changed. Then a new Machine first gets the earlier defaults, until the rollout
    /// reaches it.
    has_history: bool,
    /// Whether there ever was a set.
    has_sets: bool,
    /// Whether users changed the desired state before every machine had reached it.
    hasty: bool,
    /// Machines that a client tried to create again while their predecessors were still being deleted, so that their
    /// names were taken.
    turned_away: BTreeSet<u32>,
}

impl Wishes {
    pub(super) fn new(hosts: u32) -> Self {
        Self {
            fleet_paused: None,
            paused: BTreeMap::new(),
            dropped: BTreeMap::new(),
            components: 0,
            mentioned: BTreeSet::new(),
            fleet_changes: 0,
            redecided: Vec::new(),
            changes: vec![0; hosts as usize],
            has_history: false,
            has_sets: false,
            hasty: false,
            turned_away: BTreeSet::new(),
        }
    }

    /// A client creates a Machine. `is_taken` when its name was taken.
    pub(super) fn joins(&mut self, host: u32, is_taken: bool) {
        if is_taken {
            self.turned_away.insert(host);
        } else {
            self.turned_away.remove(&host);
        }
    }

    /// Whether a Machine is missing because its name was taken when a client created it again.
    pub(super) fn was_turned_away(&self, host: u32) -> bool {
        self.turned_away.contains(&host)
    }

    /// How often the desired state of a host has changed, component by component. Each change may cause one operation.
    pub(super) fn changes(&self, host: u32) -> u16 {
        self.fleet_changes.saturating_add(self.changes[host as usize])
    }

    /// Whether timing may have decided which operations happened at all: users changed the desired state before it was
    /// reached.
    pub(super) const fn is_hasty(&self) -> bool {
        self.hasty
    }

    /// Since when a Machine, or the whole fleet, is paused.
    pub(super) fn paused_since(&self, machine: Uid) -> Option<Timestamp> {
        let own = self.paused.get(&machine).copied();
        [own, self.fleet_paused].into_iter().flatten().min()
    }

    pub(super) fn machine_written(&mut self, written: &Written, now: Timestamp) {
        let after = written.object.machine_spec();
        let before = written.before.as_ref().and_then(|before| before.machine_spec());
        let was_leaving = written.before.as_ref().is_some_and(|before| before.is_terminating());
        let leaves = written.object.is_terminating() || written.removed;
        let Some(after) = after else { return };
        self.labels_written(written, now);
        let same = before.is_some_and(|before| std::sync::Arc::ptr_eq(before, after) || before == after);
        if same && was_leaving == leaves && !written.removed {
            return;
        }
        let uid = written.object.uid();
        if after.paused && !written.removed {
            self.paused.entry(uid).or_insert(now);
        } else {
            self.paused.remove(&uid);
        }
        let everything = self.components.saturating_add(count(&after.components));
        let worth = match before {
            None if self.has_history => everything.saturating_add(self.components),
            None => everything,
            _ if leaves && !was_leaving => {
                let left = u16::try_from(self.mentioned.len()).unwrap_or(u16::MAX);
                left.saturating_add(count(&after.components))
            }
            Some(before) if !same => self.edited(before, after, written.object.name(), now),
            Some(_) => 0,
        };
        self.hasty |= written.before.is_some();
        let host = host_number(&after.address.ip).and_then(|host| self.changes.get_mut(host as usize));
        if let Some(changes) = host {
            *changes = changes.saturating_add(worth);
        }
    }

    /// The labels of a Machine may have changed, so that other sets select it.
    fn labels_written(&mut self, written: &Written, now: Timestamp) {
        let Some(before) = &written.before else { return };
        if !self.has_sets || before.labels() == written.object.labels() {
            return;
        }
        self.hasty = true;
        let name = written.object.name().to_string();
        let components = self.mentioned.iter().cloned();
        let redecided =
            components.map(|component| Redecided { machine: Some(name.clone()), component, at: now });
        self.redecided.extend(redecided);
        let worth = u16::try_from(self.mentioned.len()).unwrap_or(u16::MAX);
        let host = written.object.address().and_then(host_of_address);
        if let Some(changes) = host.and_then(|host| self.changes.get_mut(host as usize)) {
            *changes = changes.saturating_add(worth);
        }
    }

    fn is_redecided(&self, step: &Step<'_>, known: Timestamp) -> bool {
        self.redecided.iter().any(|one| {
            let is_there = one.machine.as_deref().is_none_or(|name| step.machine.is_none_or(|it| it == name));
            is_there && one.component == step.component && one.at >= known
        })
    }

    /// A Machine was edited. Returns the number of operations that this may cause.
    fn edited(&mut self, before: &MachineSpec, after: &MachineSpec, name: &str, now: Timestamp) -> u16 {
        self.drop_wishes(name, &before.components, &after.components, now);
        let changed = differing(&before.components, &after.components)
            .saturating_add(differing(&after.components, &before.components));
        // The address is an input of every release. Any other edit allows another try of a failed operation.
        let all = self.components.saturating_add(count(&after.components));
        if before.address == after.address { changed.max(1) } else { all.saturating_add(changed) }
    }

    pub(super) fn package_version_written(&mut self, written: &Written, now: Timestamp) {
        let Some(object) = written.object.package_version() else { return };
        let before = written.before.as_ref().and_then(|before| before.package_version());
        let old = before.map_or(&[][..], |before| &before.spec.components);
        let new = if written.removed { &[][..] } else { &object.spec.components[..] };
        if object.spec.paused && !written.removed {
            self.fleet_paused.get_or_insert(now);
        } else {
            self.fleet_paused = None;
        }
        self.components = count(new);
        self.mentioned.extend(new.iter().map(|setting| setting.name.clone()));
        self.fleet_changes = self.fleet_changes.saturating_add(differing(new, old));
        let is_edited = old != new;
        if is_edited {
            self.drop_wishes("", old, new, now);
        }
        let rollouts = before.and_then(|before| before.status.as_ref()).map(|status| &status.rollouts);
        let is_open = rollouts.is_some_and(|rollouts| rollouts.iter().any(|one| one.completed_at.is_none()));
        let is_unseen = before.is_some_and(|before| {
            before
                .status
                .as_ref()
                .is_none_or(|status| status.observed_generation < before.metadata.generation)
        });
        let newly_reverted = reverted(object.status.as_ref())
            .saturating_sub(reverted(before.and_then(|it| it.status.as_ref())));
        self.fleet_changes = self.fleet_changes.saturating_add(newly_reverted);
        self.hasty |= newly_reverted > 0;
        self.has_history |= before.is_some() && is_edited;
        self.hasty |= before.is_some() && is_edited && (is_open || is_unseen);
    }

    /// A set was written: what its machines are to have changes, and so does what others are to have whom it selected.
    pub(super) fn set_written(&mut self, written: &Written, now: Timestamp) {
        let Some(object) = Group::of(&written.object) else { return };
        let before = written.before.as_ref().and_then(|before| Group::of(before));
        let newly_reverted =
            reverted(object.status).saturating_sub(reverted(before.and_then(|it| it.status)));
        self.fleet_changes = self.fleet_changes.saturating_add(newly_reverted);
        self.hasty |= newly_reverted > 0;
        let was_leaving = written.before.as_ref().is_some_and(|before| before.is_terminating());
        let leaves = object.metadata.deletion_timestamp.is_some() || written.removed;
        if before.is_some_and(|before| before.has_terms_of(&object))
            && was_leaving == leaves
            && !written.removed
        {
            return;
        }
        let of_both = before.map_or(&[][..], |before| before.components);
        let of_both: Vec<ComponentSetting> = of_both.iter().chain(object.components).cloned().collect();
        self.mentioned.extend(of_both.iter().map(|setting| setting.name.clone()));
        self.fleet_changes = self.fleet_changes.saturating_add(count(&of_both));
        let redecided = of_both.iter().map(|setting| Redecided {
            machine: None,
            component: setting.name.clone(),
            at: now,
        });
        self.redecided.extend(redecided);
        self.drop_wishes("", &of_both, &[], now);
        self.has_history = true;
        self.has_sets = true;
        self.hasty |= before.is_some();
    }

    /// A `MachineComponent` is gone. A new one of the same name may have other contents.
    pub(super) const fn version_removed(&mut self) {
        self.fleet_changes = self.fleet_changes.saturating_add(1);
        self.hasty = true;
    }

    /// Recounts the present desired state.
    pub(super) fn recount(&self, truth: &Truth<'_>, found: &mut Miscounts) {
        let fleet = truth.fleet();
        let components = fleet.map_or(&[][..], |fleet| &fleet.spec.components);
        found.compare("components of the fleet", self.components, count(components));
        let is_paused = fleet.is_some_and(|fleet| fleet.spec.paused);
        found.compare("whether the fleet is paused", self.fleet_paused.is_some(), is_paused);
        let paused = truth.machines.iter().filter(|machine| machine.is_paused);
        let paused: BTreeSet<Uid> = paused.map(|machine| machine.uid).collect();
        found.compare("Machines that are paused", self.paused.keys().copied().collect(), paused);
        let is_known = |setting: &ComponentSetting| self.mentioned.contains(&setting.name);
        found.compare("whether all that is wished for was noted", components.iter().all(is_known), true);
    }

    fn drop_wishes(
        &mut self,
        owner: &str,
        old: &[ComponentSetting],
        new: &[ComponentSetting],
        now: Timestamp,
    ) {
        let mut drop = |component: &String, version: Option<&String>| {
            let key = (owner.to_owned(), component.clone());
            self.dropped.entry(key).or_default().push((version.cloned(), now));
        };
        for setting in old.iter().filter(|setting| !new.contains(setting)) {
            if setting.version.is_some() {
                drop(&setting.name, setting.version.as_ref());
            }
        }
        for setting in new.iter().filter(|setting| old.iter().all(|other| other.name != setting.name)) {
            drop(&setting.name, None);
        }
    }

    /// The breach, if any, of a step to a lower version. The operator knew the desired state at `known`.
    pub(super) fn objection(&self, step: &Step<'_>, api: &ApiServer, known: Timestamp) -> Option<String> {
        if !goes_back(step.component, step.from, step.to) || self.is_wished_for(step, api, known) {
            return None;
        }
        Some(format!("went from {} back to {}, which nobody asked for", step.from, step.to))
    }

    fn is_wished_for(&self, step: &Step<'_>, api: &ApiServer, known: Timestamp) -> bool {
        let to = version(step.component, step.to);
        let is_it =
            |setting: &ComponentSetting| setting.name == step.component && setting.version.as_deref() == to;
        let machine = step.machine.and_then(|name| api.get(Kind::Machine, name));
        let pins =
            machine.and_then(|machine| machine.machine_spec()).map_or(&[][..], |spec| &spec.components);
        let desired = Desired::of(api);
        let none = Metadata::default();
        let member = machine.map_or(Member::from(&none), |machine| Member::from(&**machine));
        let wanted = desired.setting_of(member, step.component);
        let plain = desired.unreverted(member, step.component);
        let dropped = |owner: &str, wanted: Option<&str>| {
            let dropped = self.dropped.get(&(owner.to_owned(), step.component.to_owned()));
            dropped.is_some_and(|list| {
                list.iter().any(|(version, until)| version.as_deref() == wanted && *until >= known)
            })
        };
        let is_pinned = pins.iter().any(|pin| pin.name == step.component)
            && step.machine.is_none_or(|name| !dropped(name, None));
        pins.iter().any(is_it)
            || (!is_pinned && wanted.as_deref().into_iter().chain(plain).any(is_it))
            || self.is_redecided(step, known)
            || step.machine.is_none_or(|name| dropped(name, to))
            || dropped("", to)
    }
}

/// The number of rollouts that were reverted.
fn reverted(status: Option<&ClusterPackageVersionStatus>) -> u16 {
    let rollouts = status.map_or(&[][..], |status| &status.rollouts);
    let courses = rollouts.iter().filter_map(|rollout: &RolloutStatus| rollout.course.as_ref());
    u16::try_from(courses.filter(|course| course.reverted_at.is_some()).count()).unwrap_or(u16::MAX)
}

fn count(settings: &[ComponentSetting]) -> u16 {
    u16::try_from(settings.len()).unwrap_or(u16::MAX)
}

/// The number of `these` that are not among `those`.
fn differing(these: &[ComponentSetting], those: &[ComponentSetting]) -> u16 {
    let others = these.iter().filter(|setting| !those.contains(setting)).count();
    u16::try_from(others).unwrap_or(u16::MAX)
}

/// Whether the step leads to a lower version. Only versions that consist of numbers are ordered.
pub(super) fn goes_back(component: &str, from: &str, to: &str) -> bool {
    let numbers = |name| Some(version(component, name)?.split('.').map(|part| part.parse::<u64>().ok()));
    let (Some(from), Some(to)) = (numbers(from), numbers(to)) else { return false };
    // Check the order first: it is rarely a step back, and then the other parts need not be parsed.
    to.clone().lt(from.clone()) && from.chain(to).all(|number| number.is_some())
}

/// The version in the name of a `MachineComponent`.
fn version<'a>(component: &str, name: &'a str) -> Option<&'a str> {
    name.strip_prefix(component)?.strip_prefix('-')
}

#[cfg(test)]
mod tests;
