//! The machines about which an owner ceases to decide, and what becomes of its components there.

use std::collections::{BTreeMap, BTreeSet};

use seaworthy_engine::{Machine, Owner, World};
use seaworthy_model::component_set::OnLeave;
use seaworthy_model::id::{ComponentId, MachineId, VersionId};
use seaworthy_model::machine::Want;
use serde::Serialize;

use super::batches::is_pinned;
use crate::live::picture::Picture;

/// What becomes of a component, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Fate {
    component: String,
    /// The version that is installed, or `nothing`.
    from: String,
    /// The version that is wanted then, or `nothing`.
    to: String,
    /// Whether the machines change.
    is_change: bool,
    why: String,
}

/// Machines that have the same ahead of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Leaving {
    #[serde(flatten)]
    pub(super) fate: Fate,
    /// Their names.
    #[serde(rename = "leaving")]
    pub(super) machines: Vec<String>,
}

/// What an owner decides before the change.
pub(super) struct Before {
    held: Vec<Held>,
    /// What machines lose already: they have left a set.
    lost: BTreeSet<(MachineId, ComponentId)>,
}

/// What an owner wants of a component, and where.
struct Held {
    component: ComponentId,
    want: Want,
    machines: BTreeSet<MachineId>,
}

impl Before {
    /// What it decides now; nothing if it does not exist.
    pub(super) fn of(world: &World, owner: Option<Owner>) -> Self {
        let settings = owner.and_then(|owner| world.charter(owner)?.components).unwrap_or_default();
        let held = settings.iter().map(|setting| {
            let component = setting.component;
            let is_held = |machine: &&Machine| {
                !is_pinned(machine, component) && Some(world.governor(machine, component)) == owner
            };
            let machines = readable(world).filter(is_held).map(|machine| machine.id).collect();
            Held { component, want: setting.want.clone(), machines }
        });
        Self { held: held.collect(), lost: lost(world).collect() }
    }

    /// The machines about which the owner does not decide any more.
    pub(super) fn leaving(&self, picture: &Picture, owner: Owner) -> Vec<Leaving> {
        let world = picture.world();
        let mut found: BTreeMap<Fate, Vec<String>> = BTreeMap::new();
        let mut add = |machine: MachineId, fate: Option<Fate>| {
            let names = fate.map(|fate| found.entry(fate).or_default());
            names.into_iter().for_each(|names| names.push(world.machine_name(machine).to_owned()));
        };
        for held in &self.held {
            for id in &held.machines {
                let machine = world.machine(*id);
                let heir = heir(world, machine, held.component);
                if heir != Some(owner) {
                    add(*id, Departure { picture, owner, heir, machine, held }.fate());
                }
            }
        }
        for (id, component) in lost(world).filter(|it| !self.lost.contains(it)) {
            if !self.held.iter().any(|held| held.component == component && held.machines.contains(&id)) {
                add(id, lost_late(picture, world.machine(id), component));
            }
        }
        found.into_iter().map(|(fate, machines)| Leaving { fate, machines }).collect()
    }
}

/// A machine about whose component an owner does not decide any more.
struct Departure<'p> {
    picture: &'p Picture,
    owner: Owner,
    /// What decides then.
    heir: Option<Owner>,
    machine: &'p Machine,
    held: &'p Held,
}

impl Departure<'_> {
    /// `None` if it has nothing, and gets nothing.
    fn fate(&self) -> Option<Fate> {
        let component = self.held.component;
        let installed = self.machine.installed(component).map(|installed| installed.version);
        let want = self.heir.and_then(|heir| self.picture.world().charter(heir)?.want(component));
        let is_lost = self.picture.world().set_left(self.machine, component).is_some();
        let to = match want {
            Some(want) => want.version(),
            None => installed.filter(|_| !is_lost),
        };
        let is_change = to != installed || want.is_some_and(|want| !is_same(want, &self.held.want));
        let ending = match want {
            Some(want) => self.inherited(want),
            None => format!("{} is {}", self.component(), self.unnamed()),
        };
        let why = format!("{}; {ending}", self.cause());
        let text = |version| text(self.picture, component, version);
        let (from, to) = (text(installed), text(to));
        let fate = Fate { component: self.component().to_owned(), from, to, is_change, why };
        (installed.is_some() || fate.is_change).then_some(fate)
    }

    /// Why the owner does not decide any more.
    fn cause(&self) -> String {
        let (world, owner) = (self.picture.world(), self.owner);
        if matches!(owner, Owner::Set(_)) && !world.owners_of(self.machine).contains(&owner) {
            return "they leave the set".to_owned();
        }
        // Nothing comes after the defaults.
        if world.set(owner).is_some_and(|set| set.mentions(self.held.component)) {
            return "another one comes first".to_owned();
        }
        let verb = if owner == Owner::Fleet { "name" } else { "names" };
        format!("{} {verb} {} no longer", told(world, owner), self.component())
    }

    /// What the next one that decides wants.
    fn inherited(&self, want: &Want) -> String {
        let component = self.component();
        let heir = self.heir.unwrap_or(Owner::Fleet);
        let (verb, who) = (if heir == Owner::Fleet { "" } else { "s" }, told(self.picture.world(), heir));
        match want.version() {
            Some(version) => {
                let version = text(self.picture, self.held.component, Some(version));
                format!("{who} name{verb} {component} {version}")
            }
            None => format!("{who} want{verb} no {component}"),
        }
    }

    /// What becomes of a component of which nobody says what is wanted.
    fn unnamed(&self) -> String {
        let world = self.picture.world();
        let component = self.held.component;
        if let Some(heir) = self.heir {
            return format!("kept: the spec is not acceptable of {}", told(world, heir));
        }
        if world.set_left(self.machine, component).is_some() {
            return "removed: onLeave is Remove".to_owned();
        }
        let has_left = !world.owners_of(self.machine).contains(&self.owner);
        let spec = world.set(self.owner).and_then(|set| set.spec()).filter(|_| has_left);
        let why = match spec {
            Some(spec) if spec.on_leave == OnLeave::Keep => "onLeave is Keep",
            Some(_) if selects_nobody(world, self.owner) => "a set that selects no machine removes nothing",
            Some(spec) if spec.components.iter().any(|setting| setting.component == component) => {
                "their status does not say that it is from the set"
            }
            Some(_) => "the set names it no longer",
            None => "nobody else names it",
        };
        format!("kept: {why}")
    }

    fn component(&self) -> &str {
        self.picture.world().component_name(self.held.component)
    }
}

/// What becomes of a component that a machine has from a set which it had left before. The set did not take it back then.
fn lost_late(picture: &Picture, machine: &Machine, component: ComponentId) -> Option<Fate> {
    let world = picture.world();
    let set = told(world, Owner::Set(world.set_left(machine, component)?));
    let name = world.component_name(component);
    let installed = machine.installed(component)?.version;
    Some(Fate {
        component: name.to_owned(),
        from: text(picture, component, Some(installed)),
        to: text(picture, component, None),
        is_change: true,
        why: format!("they have left {set} before; {name} is removed: onLeave is Remove"),
    })
}

/// Whether a set selects no machine.
pub(super) fn selects_nobody(world: &World, owner: Owner) -> bool {
    matches!(owner, Owner::Set(_))
        && !readable(world).any(|machine| world.owners_of(machine).contains(&owner))
}

/// The machines that a change may reach.
fn readable(world: &World) -> impl Iterator<Item = &Machine> {
    let machines = world.machines().map(|(_, machine)| machine);
    machines.filter(|machine| machine.is_live() && machine.spec().is_some())
}

/// What machines lose because they have left a set.
fn lost(world: &World) -> impl Iterator<Item = (MachineId, ComponentId)> {
    readable(world).flat_map(move |machine| {
        let status = machine.object.as_ref().map(|object| &object.status.components[..]);
        let recorded = status.unwrap_or_default().iter().filter(|status| status.set.is_some());
        let lost = recorded.filter(move |status| world.set_left(machine, status.component).is_some());
        lost.map(|status| (machine.id, status.component))
    })
}

/// What decides about a component of a machine without a pin; `None` if nobody names it.
fn heir(world: &World, machine: &Machine, component: ComponentId) -> Option<Owner> {
    let governor = world.governor(machine, component);
    let is_named = governor != Owner::Fleet
        || world.charter(governor).is_some_and(|charter| charter.want(component).is_some());
    is_named.then_some(governor)
}

/// Whether two owners want a component with the same parameters: those show in no status.
fn is_same<'w>(one: &'w Want, other: &'w Want) -> bool {
    let parameters = |want: &'w Want| match want {
        Want::Present { parameters, .. } => Some(parameters),
        Want::Absent => None,
    };
    one.version().is_none() || parameters(one) == parameters(other)
}

/// An owner, for people.
fn told(world: &World, owner: Owner) -> String {
    let name = world.name_of(owner);
    match owner {
        Owner::Fleet => "the defaults".to_owned(),
        Owner::Set(_) => format!("the set {name}"),
        Owner::Canary(_) => format!("the canary {name}"),
    }
}

/// A version as its author spells it, or `nothing`.
fn text(picture: &Picture, component: ComponentId, version: Option<VersionId>) -> String {
    let known = version.map_or("nothing", |version| picture.version_text(component, version));
    known.to_owned()
}

impl Leaving {
    /// What becomes of how many machines, and why, as lines for people.
    pub(super) fn in_words(&self, names: &str) -> String {
        let Fate { component, from, to, is_change, why } = &self.fate;
        let count = self.machines.len();
        if *is_change {
            format!("{component} {from} -> {to}: {count} machines change: {names}\n  {why}\n")
        } else {
            format!("{component} {from}: {count} machines keep it: {names}\n  {why}\n")
        }
    }
}
