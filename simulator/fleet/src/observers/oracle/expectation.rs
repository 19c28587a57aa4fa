//! Checks the expectations of scenarios against the true state.

use std::collections::BTreeMap;

use seaworthy_api::object::Resource;
use seaworthy_model::id::Kind;
use seaworthy_model::package_version::SINGLETON;
use serde::Deserialize;

use super::Oracle;
use super::convergence::{findings, is_misnamed, strays};
use super::reasons::unexplained;
use crate::observers::tally::Tally;
use crate::scenario::{Check, ExpectedCondition};
use crate::vocabulary::Occasion;
use crate::world::World;

/// The reasons why an expectation does not hold. Empty if it holds.
#[must_use]
pub(crate) fn judge(world: &World, (oracle, tally): (&Oracle, &Tally), check: &Check) -> Vec<String> {
    match check {
        Check::Converged => {
            let findings = findings(world, &oracle.mistaken);
            let mut problems = findings.examples;
            let more = findings.count as usize - problems.len();
            if more > 0 {
                problems.push(format!("and {more} more"));
            }
            problems
        }
        Check::Installed(components) => {
            judge_installed((world, oracle), 0..world.scenario.fleet.machines, components)
        }
        Check::InstalledOn(expected) => {
            judge_installed((world, oracle), expected.machines.iter().copied(), &expected.components)
        }
        Check::Unschedulable(expected) => {
            let machines = 0..world.scenario.fleet.machines;
            let found: Vec<u32> = machines.filter(|number| world.is_unschedulable(*number)).collect();
            let problem = || format!("unschedulable are the Nodes of {found:?}, expected {expected:?}");
            if found == *expected { Vec::new() } else { vec![problem()] }
        }
        Check::MaxHarmed(most) => at_most("hosts harmed", u64::from(oracle.harmed()), u64::from(*most)),
        Check::MinHarmed(least) => at_least("hosts harmed", u64::from(oracle.harmed()), u64::from(*least)),
        Check::MaxAtWork(most) => {
            at_most("hosts at work at once", u64::from(oracle.peak().at_work), u64::from(*most))
        }
        Check::NothingRemoved => at_most("removals", tally.count(Occasion::Removed), 0),
        Check::Stopped(reason) => judge_stopped(world, reason),
        Check::Gone(reference) => {
            match world.api_servers.home().get(reference.kind.kind(), &reference.name) {
                Some(_) => vec![format!("{} {} still exists", reference.kind.kind().name(), reference.name)],
                None => Vec::new(),
            }
        }
        Check::Condition(expected) => judge_condition(world, expected),
        Check::MaxOperations(most) => at_most("operations on hosts", tally.operations, *most),
        Check::MaxOperationsPerMachine(most) => {
            let most = u64::from(*most) * u64::from(world.scenario.fleet.machines);
            at_most("operations on hosts", tally.operations, most)
        }
        Check::MaxApiWrites(most) => {
            at_most("writes to the API server", tally.api_writes - tally.lease_renewals, *most)
        }
        Check::MaxCordons(most) => at_most("cordons", tally.count(Occasion::NodeCordoned), *most),
    }
}

/// The machines that have not converged for no valid reason, except those that were judged already.
#[must_use]
pub(crate) fn doubts(world: &World) -> Vec<String> {
    let is_judged = world.scenario.eventually.iter().any(|check| matches!(check, Check::Converged));
    unexplained(world, &strays(world, is_judged))
}

/// A condition of an object, as far as it is compared. The conditions of Nodes have no reason here.
#[derive(Debug, Deserialize)]
struct Shown {
    r#type: String,
    status: String,
    #[serde(default)]
    reason: String,
}

fn conditions(object: &Resource) -> Vec<Shown> {
    let tree = serde_json::to_value(object).unwrap_or_default();
    tree.pointer("/status/conditions").and_then(|list| Vec::deserialize(list).ok()).unwrap_or_default()
}

fn judge_condition(world: &World, expected: &ExpectedCondition) -> Vec<String> {
    let ExpectedCondition { kind, name, r#type, status, reason } = expected;
    let Some(object) = world.api_servers.home().get(kind.kind(), name) else {
        return vec![format!("there is no {} {name}", kind.kind().name())];
    };
    let conditions = conditions(&object.resource());
    let found = conditions.iter().find(|condition| condition.r#type == *r#type);
    let words = found.map_or("nothing".to_owned(), |found| format!("{}/{}", found.status, found.reason));
    let holds = found.is_some_and(|found| {
        found.status == *status && reason.as_ref().is_none_or(|reason| found.reason == *reason)
    });
    if holds {
        return Vec::new();
    }
    let reason = reason.as_deref().unwrap_or("any reason");
    vec![format!("{name}: expected {type}={status}/{reason}, found {words}")]
}

fn judge_installed(
    (world, oracle): (&World, &Oracle),
    hosts: impl IntoIterator<Item = u32>,
    components: &BTreeMap<String, String>,
) -> Vec<String> {
    let expected: Vec<_> = components
        .iter()
        .map(|(component, version)| {
            let known = world.catalogue.find_component(component);
            (component, version, known, format!("{component}-{version}"))
        })
        .collect();
    let mut problems = Vec::new();
    let mut wrong = 0u32;
    for number in hosts {
        let Some(host) = world.hosts.get(number as usize).filter(|host| host.is_reachable()) else {
            continue;
        };
        // A host without a Machine has no desired state.
        let Some(machine) = world.machine_stored(number) else { continue };
        if host.is_given_up(Some(machine.uid())) || is_misnamed((world, &oracle.mistaken), machine, host) {
            continue;
        }
        for (component, version, known, wanted) in &expected {
            let present = known.and_then(|known| host.installed_of(known));
            let name = present.map(|installed| world.catalogue.version_name(installed.version));
            let right = match (version.as_str(), present) {
                ("none", present) => present.is_none(),
                (_, None) => false,
                (_, Some(installed)) => installed.drift.is_none() && name == Some(wanted.as_str()),
            };
            if !right {
                wrong += 1;
                if wrong <= 5 {
                    problems.push(format!(
                        "host {number}: expected {component} {version}, found {} {:?}",
                        name.unwrap_or("nothing"),
                        present.map(|installed| installed.drift).unwrap_or_default()
                    ));
                }
            }
        }
    }
    if wrong > 5 {
        problems.push(format!("and {} more", wrong - 5));
    }
    problems
}

fn judge_stopped(world: &World, reason: &str) -> Vec<String> {
    let fleet = world.api_servers.home().get(Kind::ClusterPackageVersion, SINGLETON);
    let Some(fleet) = fleet.and_then(|object| object.package_version()) else {
        return vec!["there is no ClusterPackageVersion".to_owned()];
    };
    let conditions = fleet.status.iter().flat_map(|status| &status.conditions);
    let found: Vec<String> = conditions
        .clone()
        .map(|condition| format!("{}={}/{}", condition.r#type, condition.status, condition.reason))
        .collect();
    let stopped = conditions.into_iter().any(|condition| {
        condition.r#type == "Progressing" && condition.status == "False" && condition.reason == reason
    });
    if stopped {
        Vec::new()
    } else {
        vec![format!("expected Progressing=False/{reason}, found {}", found.join(" "))]
    }
}

fn at_most(what: &str, count: u64, most: u64) -> Vec<String> {
    if count <= most { Vec::new() } else { vec![format!("{count} {what}, expected at most {most}")] }
}

fn at_least(what: &str, count: u64, least: u64) -> Vec<String> {
    if count >= least { Vec::new() } else { vec![format!("{count} {what}, expected at least {least}")] }
}
