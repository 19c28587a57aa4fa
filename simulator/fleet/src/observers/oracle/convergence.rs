//! The judgement at the end: every reachable machine has exactly what the specs ask for, nothing on its host has
//! drifted, and the status says so.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use seaworthy_api::names::Names;
use seaworthy_api::object::{Machine, Metadata, Resource};
use seaworthy_api::parse;
use seaworthy_api::v1alpha1::{Address, ClusterPackageVersionStatus, ComponentSetting, Condition};
use seaworthy_model::component::{Architecture, Fact, Recipe, ReleaseId, VersionSpec};
use seaworthy_model::id::Kind;
use seaworthy_model::meta::FINALIZER;

use super::desired::Desired;
use super::mistaken::{Mistaken, recorded_host};
use crate::vocabulary::host_number;
use crate::world::World;
use crate::world::api_server::Stored;
use crate::world::host::{CGROUP_VERSION, Host};

/// The differences from the desired state. Empty when the world has converged.
#[derive(Clone, Debug, Default)]
pub(super) struct Findings {
    /// The first few, for display.
    pub examples: Vec<String>,
    /// The number of findings.
    pub count: u32,
}

/// The number of examples to keep.
const EXAMPLES_MAX: usize = 8;

impl Findings {
    fn add(&mut self, finding: impl FnOnce() -> String) {
        self.count += 1;
        if self.examples.len() < EXAMPLES_MAX {
            self.examples.push(finding());
        }
    }
}

/// Compares the true state, the desired state and the status.
#[must_use]
pub(super) fn findings(world: &World, mistaken: &Mistaken) -> Findings {
    let mut findings = Findings::default();
    let desired = Desired::of(world.api_servers.home());
    let mut releases = Releases::new(world);
    let mut is_whole = world.hosts.iter().all(Host::is_reachable);
    for object in world.api_servers.home().collection(Kind::Machine).objects() {
        let Resource::Machine(machine) = &object.resource() else { continue };
        let Some(host) = world.host_of(machine) else { continue };
        if host.is_given_up(machine.metadata.uid.get()) {
            is_whole = false;
            continue;
        }
        let is_anothers =
            host.has_made_up(recorded_host(machine)) || mistaken.host_of(world, machine).is_some();
        if is_anothers && machine.metadata.deletion_timestamp.is_none() {
            is_whole = false;
            if host.is_reachable() && reason(machine, "Ready") != "IdentityMismatch" {
                findings.add(|| {
                    format!("Machine {} does not say that its host is another", machine.metadata.name)
                });
            }
            continue;
        }
        if machine.metadata.deletion_timestamp.is_some() {
            findings.add(|| format!("Machine {} is still being deleted", machine.metadata.name));
        } else if host.is_shut() {
            findings.add(|| format!("the host of Machine {} lets nobody in", machine.metadata.name));
        } else if host.is_reachable() {
            judge_machine(machine, host, &desired, &mut releases, &mut findings);
        } else if truth(machine, "Ready") == "True" {
            findings.add(|| format!("Machine {} is Ready, and cannot be reached", machine.metadata.name));
        }
    }
    let is_over = findings.count == 0 && is_whole;
    if let Some(fleet) = desired.fleet {
        let owner = ("the ClusterPackageVersion", &fleet.metadata);
        judge_owner(owner, fleet.status.as_ref(), is_over, &mut findings);
    }
    for group in desired.groups {
        let name = format!("the {} {}", group.kind.name(), group.metadata.name);
        judge_owner((&name, group.metadata), group.status, is_over, &mut findings);
    }
    findings
}

/// A Machine that has not converged, for whatever reason.
#[derive(Clone, Debug)]
pub(super) struct Stray {
    /// The Machine.
    pub machine: Box<Machine>,
    /// The number of its host, if it has one.
    pub host: Option<u32>,
    /// What has not converged.
    pub finding: String,
}

/// All Machines that have not converged. For Machines whose hosts cannot be reached, only the installed software
/// counts, because the operator cannot report more. Set `are_reachable_well` when all other Machines are already known
/// to be converged.
#[must_use]
pub(super) fn strays(world: &World, are_reachable_well: bool) -> Vec<Stray> {
    let desired = Desired::of(world.api_servers.home());
    let mut releases = Releases::new(world);
    let mut strays = Vec::new();
    if are_reachable_well && world.hosts.iter().all(Host::is_reachable) {
        return strays;
    }
    for object in world.api_servers.home().collection(Kind::Machine).objects() {
        let Resource::Machine(machine) = object.resource() else { continue };
        let number = host_number(&machine.spec.address.ip);
        let host = number.and_then(|number| world.hosts.get(number as usize));
        let mut findings = Findings::default();
        let is_held = machine.metadata.finalizers.iter().any(|one| **one == *FINALIZER);
        match host {
            _ if machine.metadata.deletion_timestamp.is_some() && is_held => {
                findings.add(|| "is still being deleted".to_owned());
            }
            _ if machine.metadata.deletion_timestamp.is_some() => {}
            None => {}
            Some(host) if !host.is_reachable() => {
                judge_host(&machine, host, &desired, &mut releases, &mut findings);
            }
            Some(_) if are_reachable_well => {}
            Some(host) => judge_machine(&machine, host, &desired, &mut releases, &mut findings),
        }
        if let Some(finding) = findings.examples.pop() {
            strays.push(Stray { machine, host: number, finding });
        }
    }
    strays
}

/// The hosts of all Machines that have not converged.
#[must_use]
pub(crate) fn stray_hosts(world: &World) -> BTreeSet<u32> {
    strays(world, false).iter().filter_map(|stray| stray.host).collect()
}

fn judge_machine(
    machine: &Machine,
    host: &Host,
    desired: &Desired<'_>,
    releases: &mut Releases<'_>,
    findings: &mut Findings,
) {
    judge_host(machine, host, desired, releases, findings);
    let name = &machine.metadata.name;
    let number = releases.world.host_named(name);
    if number.is_some_and(|host| releases.world.has_our_taint(host)) {
        findings.add(|| format!("{name}: we still keep pods off its Node"));
    }
    if number.is_some_and(|host| is_left_cordoned(releases.world, host)) {
        findings.add(|| format!("{name}: its Node is unschedulable, and people have not cordoned it"));
    }
    let strays = number.map(|host| releases.world.attribute_strays(host));
    for stray in strays.into_iter().flatten() {
        findings.add(|| format!("{name}: {stray}"));
    }
    let is_held = machine.metadata.finalizers.iter().any(|one| **one == *FINALIZER);
    if !host.installed().is_empty() && !is_held {
        let name = &machine.metadata.name;
        findings.add(|| format!("{name}: is in use, and nothing holds it when it is deleted"));
    }
    judge_status(machine, host, releases.world, findings);
}

/// Whether a Node is unschedulable although users have not cordoned it, or have uncordoned it since.
fn is_left_cordoned(world: &World, host: u32) -> bool {
    world.is_unschedulable(host) && !world.is_cordoned_by_people(host)
}

/// Compares the installed software with the desired state.
fn judge_host(
    machine: &Machine,
    host: &Host,
    desired: &Desired<'_>,
    releases: &mut Releases<'_>,
    findings: &mut Findings,
) {
    let name = &machine.metadata.name;
    for component in desired.overdue(machine, releases.world.api_servers.home()) {
        findings.add(|| format!("{name}: still has {component} from a set that it has left"));
    }
    for setting in desired.wanted(machine) {
        let component = releases.world.catalogue.find_component(&setting.name);
        let present = component.and_then(|component| host.installed_of(component));
        let expected = releases.release(&setting, machine, host.architecture);
        match (expected, present) {
            (None, None) => {}
            (None, Some(_)) => {
                findings.add(|| format!("{name}: {} is to be absent and is not", setting.name))
            }
            (Some(_), None) => findings.add(|| format!("{name}: {} is missing", setting.name)),
            (Some(release), Some(present))
                if releases.world.catalogue.release_id(present.release) != release =>
            {
                findings.add(|| {
                    let version = releases.world.catalogue.version_name(present.version);
                    format!("{name}: has {version} and should have {}", version_of(&setting))
                })
            }
            (Some(_), Some(present)) if !present.drift.is_none() => {
                findings.add(|| {
                    format!("{name}: {} differs from its release: {:?}", setting.name, present.drift)
                });
            }
            (Some(_), Some(_)) => {}
        }
    }
}

fn judge_status(machine: &Machine, host: &Host, world: &World, findings: &mut Findings) {
    let name = &machine.metadata.name;
    let Some(status) = &machine.status else { return findings.add(|| format!("{name}: has no status")) };
    if status.observed_generation != machine.metadata.generation {
        findings.add(|| {
            let (observed, generation) = (status.observed_generation, machine.metadata.generation);
            format!("{name}: the status speaks of generation {observed}, the spec is at {generation}")
        });
    }
    for kind in ["Ready", "Reachable", "InSync"] {
        if truth(machine, kind) != "True" {
            findings.add(|| {
                let condition = status.conditions.iter().find(|condition| condition.r#type == kind);
                let reason = condition.map_or("missing", |condition| &condition.reason);
                format!("{name}: condition {kind} is not True: {reason}")
            });
        }
    }
    let recorded = || status.components.iter().filter(|component| component.release.is_some());
    let same = host.installed().len() == recorded().count()
        && host.installed().iter().all(|installed| {
            let name = world.catalogue.component_name(installed.component);
            let release = world.catalogue.release_id(installed.release);
            recorded()
                .any(|component| *component.name == *name && component.release == Some(release.0.into()))
        });
    if !same {
        findings.add(|| format!("{name}: the status does not say what is installed: {:?}", status.installed));
    }
}

/// Judges the status of what owns rollouts. `is_over` when every Machine has converged.
fn judge_owner(
    (name, metadata): (&str, &Metadata),
    status: Option<&ClusterPackageVersionStatus>,
    is_over: bool,
    findings: &mut Findings,
) {
    let Some(status) = status else { return findings.add(|| format!("{name} has no status")) };
    if metadata.deletion_timestamp.is_some() {
        findings.add(|| format!("{name} is still being deleted"));
    }
    if status.observed_generation != metadata.generation {
        findings.add(|| format!("the status of {name} speaks of an older generation"));
    }
    for rollout in status.rollouts.iter().filter(|rollout| rollout.completed_at.is_none()) {
        findings.add(|| format!("the rollout of {} by {name} is not completed", rollout.component));
    }
    let goes_on = |told: &&Condition| matches!(&*told.reason, "RollingOut" | "MachinesLeftOut");
    if let Some(told) = status.conditions.iter().find(goes_on).filter(|_| is_over) {
        findings.add(|| format!("{name} says {}, and nothing is left to do", told.reason));
    }
}

fn version_of(setting: &ComponentSetting) -> String {
    format!("{}-{}", setting.name, setting.version.as_deref().unwrap_or_default())
}

/// The status of the condition of that type, or an empty string.
fn truth<'a>(machine: &'a Machine, kind: &str) -> &'a str {
    let conditions: &[Condition] = machine.status.as_ref().map_or(&[], |status| &status.conditions);
    conditions.iter().find(|condition| condition.r#type == kind).map_or("", |condition| &condition.status)
}

/// The reason of the condition of that type, or an empty string.
fn reason<'a>(machine: &'a Machine, kind: &str) -> &'a str {
    let conditions: &[Condition] = machine.status.as_ref().map_or(&[], |status| &status.conditions);
    conditions.iter().find(|condition| condition.r#type == kind).map_or("", |condition| &condition.reason)
}

/// Whether a Machine has recorded a machine-id that its host made up, or another host by a mistake of people. They have to
/// correct that.
#[must_use]
pub(super) fn is_misnamed((world, mistaken): (&World, &Mistaken), machine: &Stored, host: &Host) -> bool {
    let Resource::Machine(machine) = &*machine.shown() else { return false };
    host.has_made_up(recorded_host(machine)) || mistaken.host_of(world, machine).is_some()
}

/// Computes releases from the manifests again, so that the judge does not rely on the code it judges.
struct Releases<'a> {
    world: &'a World,
    names: Names,
    specs: BTreeMap<String, Option<Arc<VersionSpec>>>,
    /// The first few releases that depend on no fact of a machine. A fleet has few defaults.
    known: Vec<(ComponentSetting, Architecture, ReleaseId)>,
}

/// The size up to which a linear search is faster than computing a release again.
const KNOWN_MAX: usize = 32;

impl<'a> Releases<'a> {
    fn new(world: &'a World) -> Self {
        Self { world, names: Names::new(), specs: BTreeMap::new(), known: Vec::new() }
    }

    /// The release that `setting` asks for; `None` when it asks for absence, or for what does not exist.
    fn release(
        &mut self,
        setting: &ComponentSetting,
        machine: &Machine,
        architecture: Architecture,
    ) -> Option<ReleaseId> {
        if setting.state == "Absent" {
            return None;
        }
        let is_it = |known: &&(ComponentSetting, _, _)| (&known.0, known.1) == (setting, architecture);
        if let Some((_, _, release)) = self.known.iter().find(is_it) {
            return Some(*release);
        }
        let spec = self.spec(&version_of(setting))?;
        if !spec.suits(architecture) {
            return None;
        }
        let facts =
            spec.content.facts.iter().map(|fact| (*fact, fact_of(*fact, machine, architecture))).collect();
        let own = &machine.spec.parameters;
        let named = spec.machine_parameters.iter().map(|name| Some((name.clone(), own.get(name)?.clone())));
        let recipe = Recipe {
            version: spec.version.clone(),
            artefact: spec.artefact(architecture).cloned(),
            content: spec.content.clone(),
            parameters: Arc::new(setting.parameters.clone()),
            machine_parameters: named.collect::<Option<_>>()?,
            facts,
        };
        let release = recipe.release_id();
        if spec.is_uniform() && self.known.len() < KNOWN_MAX {
            self.known.push((setting.clone(), architecture, release));
        }
        Some(release)
    }

    fn spec(&mut self, version: &str) -> Option<Arc<VersionSpec>> {
        if let Some(spec) = self.specs.get(version) {
            return spec.clone();
        }
        let object = self.world.api_servers.home().get(Kind::MachineComponent, version);
        let spec = object.and_then(|object| {
            let Resource::MachineComponent(object) = &object.resource() else { return None };
            parse::version(object, &mut self.names).ok().and_then(|(_, read)| read.spec.ok())
        });
        self.specs.insert(version.to_owned(), spec.clone());
        spec
    }
}

fn fact_of(fact: Fact, machine: &Machine, architecture: Architecture) -> String {
    let Address { ip, hostname, idc, rack } = &machine.spec.address;
    let text = |value: &Option<Arc<str>>| value.as_deref().unwrap_or_default().to_owned();
    match fact {
        Fact::MachineName => machine.metadata.name.to_string(),
        Fact::Ip => ip.to_string(),
        Fact::Hostname => text(hostname),
        Fact::Idc => text(idc),
        Fact::Rack => text(rack),
        Fact::Architecture => architecture.name().to_owned(),
        Fact::CgroupVersion => CGROUP_VERSION.name().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaworthy_api::object::ClusterPackageVersion;

    fn fleet(reason: &str, completed: &str) -> ClusterPackageVersion {
        let condition = |kind: &str| {
            format!(
                r#"{{"type":"{kind}","status":"False","reason":"{reason}","message":"","observedGeneration":1,
                    "lastTransitionTime":"2026-01-01T00:00:00Z"}}"#
            )
        };
        let text = format!(
            r#"{{"metadata":{{"name":"default","generation":1}},"spec":{{"components":[]}},"status":{{
                "observedGeneration":1,"conditions":[{},{}],
                "rollouts":[{{"component":"webd","generation":1,"to":{{"state":"Present","version":"1.0.0"}},
                    "admittedBelow":4294967295,"startedAt":"2026-01-01T00:00:00Z"{completed}}}]}}}}"#,
            condition("Complete"),
            condition("Progressing")
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn a_status_that_goes_on_when_all_is_over_is_found() {
        let over = r#","completedAt":"2026-01-01T01:00:00Z""#;
        for (reason, completed, is_over, expected) in [
            ("RollingOut", over, true, 1),
            ("MachinesLeftOut", over, true, 1),
            ("MachinesLeftOut", over, false, 0),
            ("Paused", over, true, 0),
            ("AllUpdated", over, true, 0),
            ("AllUpdated", "", true, 1),
        ] {
            let mut findings = Findings::default();
            let fleet = fleet(reason, completed);
            let owner = ("the ClusterPackageVersion", &fleet.metadata);
            judge_owner(owner, fleet.status.as_ref(), is_over, &mut findings);
            assert_eq!(findings.count, expected, "{reason}{completed}: {:?}", findings.examples);
        }
    }
}
