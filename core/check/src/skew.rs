//! Skew: a version is installed only if it and the installed versions satisfy each other's rules. A version with a rule
//! about API servers is installed only if all of them are known to satisfy it.

use alloc::format;
use alloc::string::String;

use seaworthy_engine::{Machine, World};
use seaworthy_model::component::VersionSpec;
use seaworthy_model::host::{Change, Operation};
use seaworthy_model::report::Turn;
use seaworthy_model::requirement::{ApiServers, Party, VersionNumber};

use crate::invariant::{Findings, Invariant, works};

pub(crate) const INVARIANT: Invariant = Invariant { name: "skew", judge };

fn judge(world: &World, turn: &Turn, findings: &mut Findings<'_>) {
    if !world.is_ordered() {
        return;
    }
    for (action, id, operation) in works(turn) {
        if let Some(detail) = objection(world, world.machine(id), operation) {
            findings.against(action, detail);
        }
    }
}

fn objection(world: &World, machine: &Machine, operation: &Operation) -> Option<String> {
    let Change::Install(release) = &operation.change else { return None };
    let there = machine.reported(operation.component).map(|found| found.version);
    let comes = world.version_spec(release.version).filter(|_| there != Some(release.version))?;
    if let Some(rule) = comes.requires.iter().find(|rule| rule.party == Party::ApiServer) {
        let found = world.api_servers.get();
        let goes = |found: ApiServers| rule.admits(Some(found.oldest)) && rule.admits(Some(found.newest));
        if !found.is_some_and(goes) {
            return Some(format!("{} does not go with API servers of {found:?}", comes.version));
        }
    }
    let others = machine.host.facts.iter().flat_map(|facts| &facts.components);
    let others = others.filter(|other| other.component != operation.component);
    let mut specs = others.filter_map(|other| world.version_spec(other.version));
    let other = specs.find(|other| breaks(comes, other) || breaks(other, comes))?;
    let component = world.component_name(other.component);
    Some(format!("{} does not go with {component} {}", comes.version, other.version))
}

/// Whether one version breaks a rule of another.
fn breaks(ruled: &VersionSpec, other: &VersionSpec) -> bool {
    let mut rules = ruled.requires.iter();
    let rule = rules.find(|rule| rule.party == Party::Component(other.component));
    rule.is_some_and(|rule| !rule.admits(VersionNumber::of(&other.version)))
}
