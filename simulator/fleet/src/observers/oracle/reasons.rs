//! At the end of a run, the operator must give a true reason for every machine that has not converged (`explained`).
//! Both a false reason and a missing reason are breaches. Broken hosts explain a full budget only when there are at
//! least as many of them as the limit.
//!
//! | reason of the operator | what confirms it |
//! |---|---|
//! | `Unreachable`, `BackOff` | the host has no power, or no network |
//! | `ReleaseFailed` | the host's journal: exactly this version failed, or the journal has lost its beginning |
//! | `MaxUnavailable`, `MaxFailures` | at least `limit` hosts are unreachable or have a failed release |
//! | `TooManyUnavailable` | four fifths of `limit` hosts are unreachable or have a Node that is not ready |
//! | `TooManyFailures` | at least `limit` hosts have a failed release, or a journal that has lost its beginning |
//! | `GateInconclusive` | a host is unreachable or has a failed release, or a Node is not ready |
//! | `ArtefactUnavailable` | nothing can be downloaded now, or a version has no artefact that can be |
//! | `GateFailed` | the record, which shows machines that went wrong |
//! | `Paused` | the Machine, a set that decides about it, or the fleet is paused |
//! | `InvalidSpec`, `UnknownVersion`, `NoArtefact`, `MissingParameter`, `DependencyCycle` | the objects, read again |
//! | `VersionSkew`, `ApiServerSkew` | the rule, read again, and the versions of the API servers |
//! | `ApiServerUnknown` | no API server reports its version |
//! | `DuplicateHost`, `IdentityMismatch` | the host's owner, its machine-id |
//! | `ForeignIdentity` | the node that the certificate on the host names |
//! | `Draining`, `DrainOverdue` | pods on the Node |
//! | `RollbackUnsafe` | the version says `rollback: Unsafe` |
//! | `DisruptionBudget` | pods on the Node, and budgets that allow nothing |
//! | `DrainForbidden` | a pod on the Node that no controller would replace |
//! | `NodeConflict` | a label or taint on the Node to which another writer gave another value |
//! | `LastSchedulableNode` | the operator has cordoned another Node, and no other Node takes pods |
//! | `HostAhead` | the host has seen that epoch, and it is higher than that of the Lease |
//! | `StoreRegressed` | a host has seen a higher epoch than that of the Lease |
//! | `InFlight`, `AwaitingOwnWrite`, `SessionLimit`, `Superseding`, ... | nothing: they have passed by the end |

use std::sync::Arc;

use seaworthy_api::names::Names;
use seaworthy_api::object::{Machine, Resource};
use seaworthy_api::parse;
use seaworthy_api::v1alpha1::LEASE;
use seaworthy_model::cause::CauseKind;
use seaworthy_model::component::{Rollback, VersionSpec};
use seaworthy_model::config::Config;
use seaworthy_model::id::{ComponentId, Interned as _, Kind, PolicyId, VersionId};
use seaworthy_model::lease::Epoch;
use seaworthy_model::package_version::SINGLETON;
use seaworthy_model::policy::Stop;
use seaworthy_model::report::{Blocker, Subject};
use seaworthy_model::requirement::{Party, Requirement, VersionNumber};

use super::convergence::Stray;
use super::desired::{Desired, has_found_trouble};
use super::mistaken::recorded_host;
use super::policies::spec_of;
use crate::vocabulary::machine_name;
use crate::world::World;
use crate::world::host::{Ended, Host, Operation};

/// The machines that have not converged without a true reason. `strays` are all that have not converged.
pub(super) fn unexplained(world: &World, strays: &[Stray]) -> Vec<String> {
    if strays.is_empty() {
        return Vec::new();
    }
    let Some((_, engine, names)) = world.mind() else {
        return vec!["nobody can say why machines are not as they should be: no operator is alive".into()];
    };
    let truth = Truth::of(world, names);
    let doubts = strays.iter().filter_map(|stray| {
        let id = names.find_machine(&stray.machine.metadata.name)?;
        let own = engine.world().blocker(Subject::Machine(id));
        let sets = engine.world().sets().map(|(owner, _)| owner.subject());
        let owners = sets.chain([Subject::PackageVersion]);
        let mut owners = owners.filter_map(|owner| engine.world().blocker(owner));
        // What a turn in a rollout waits for is the blocker of the defaults, or of a set.
        let said = own.filter(|own| *own != Blocker::AwaitingGrant);
        let said = said.or_else(|| owners.find(|said| truth.confirms(*said, stray)));
        let said = said.or_else(|| engine.world().blocker(Subject::PackageVersion)).or(own);
        let doubt = match said {
            None => "nobody says why".to_owned(),
            Some(blocker) if truth.confirms(blocker, stray) => return None,
            Some(blocker) => format!("{} is said to be why, and is not true", blocker.name()),
        };
        Some(format!("{} {}: {doubt}", stray.machine.metadata.name, stray.finding))
    });
    doubts.collect()
}

/// Hosts that are unreachable, or whose Nodes are not ready.
fn unavailable(world: &World) -> u32 {
    let hosts = (0..).zip(&world.hosts);
    let has_node = |host: u32| world.api_servers.home().get(Kind::Node, &machine_name(host)).is_some();
    let sick = hosts.filter(|(number, host)| {
        !host.is_reachable() || (has_node(*number) && !world.is_node_ready(*number))
    });
    u32::try_from(sick.count()).unwrap_or(u32::MAX)
}

/// Whether such an operation ended on a host, or may have: a long journal has lost its beginning.
fn may_have_had(host: &Host, is: impl Fn(&(Operation, Ended)) -> bool) -> bool {
    !host.is_journal_whole() || host.journal().iter().any(is)
}

/// The true state of the fleet, against which reasons are checked.
struct Truth<'a> {
    world: &'a World,
    names: &'a Names,
    /// Hosts that are unreachable, or have a failed release and therefore hold a slot.
    broken: u32,
    /// Hosts that are unreachable, or whose Nodes are not ready.
    unavailable: u32,
    failed: u32,
    epoch: u32,
}

impl<'a> Truth<'a> {
    fn of(world: &'a World, names: &'a Names) -> Self {
        let failed = |host: &Host| may_have_had(host, |(_, ended)| matches!(ended, Ended::Failed(_)));
        let count = |is: &dyn Fn(&Host) -> bool| {
            u32::try_from(world.hosts.iter().filter(|host| is(host)).count()).unwrap_or(u32::MAX)
        };
        let lease = world.api_servers.home().get(Kind::Lease, LEASE).map(|lease| lease.resource());
        let epoch = lease.and_then(|lease| {
            let Resource::Lease(lease) = lease else { return None };
            Some(parse::lease(&lease).ok()?.record.epoch.0)
        });
        Self {
            world,
            names,
            unavailable: unavailable(world),
            broken: count(&|host| !host.is_reachable() || failed(host)),
            failed: count(&failed),
            epoch: epoch.unwrap_or_default(),
        }
    }

    /// Whether the true state confirms a reason.
    fn confirms(&self, said: Blocker, stray: &Stray) -> bool {
        let (machine, host) = (&*stray.machine, stray.host.and_then(|host| self.world.host(host)));
        let of_host = |holds: &dyn Fn(&Host) -> bool| host.is_some_and(holds);
        match said {
            Blocker::Unreachable { .. } | Blocker::BackOff { .. } => of_host(&|host| !host.is_reachable()),
            Blocker::ReleaseFailed { version, cause } => {
                of_host(&|host| self.has_failed(host, version, cause))
            }
            Blocker::MaxUnavailable { limit, .. }
            | Blocker::MaxFailures { limit, .. }
            | Blocker::TooManyUnavailable { limit, .. }
            | Blocker::TooManyFailures { limit, .. } => self.is_at_limit(said, limit),
            Blocker::ArtefactUnavailable => self.world.lacks_artefacts(),
            Blocker::GateInconclusive => self.unavailable > 0 || self.broken > 0,
            Blocker::GateFailed { batch } => self.has_failed_gate(batch),
            Blocker::Paused => machine.spec.paused || self.is_fleet_paused() || self.is_set_paused(machine),
            Blocker::PolicyPaused { policy }
            | Blocker::PolicyInvalid { policy }
            | Blocker::Frozen { policy, .. }
            | Blocker::OutsideWindow { policy, .. }
            | Blocker::InFlightLimit { policy }
            | Blocker::RateLimit { policy, .. } => self.is_kept_back(said, policy),
            Blocker::InvalidSpec => !self.is_acceptable(machine),
            Blocker::UnknownVersion(version) => self.version(version).is_none(),
            Blocker::NoArtefact(version) => of_host(&|host| self.has_no_artefact(host, version)),
            Blocker::RollbackUnsafe { version } => {
                self.version(version).is_some_and(|spec| spec.content.rollback == Rollback::Unsafe)
            }
            Blocker::MissingParameter(version) => self.lacks_parameter(machine, version),
            Blocker::Dependency { component } => of_host(&|host| self.is_entangled(host, component)),
            Blocker::VersionSkew { .. }
            | Blocker::ApiServerSkew { .. }
            | Blocker::ApiServerUnknown { .. } => self.is_skewed(said),
            Blocker::DependencyCycle { component } => self.is_in_circle(component),
            Blocker::DuplicateHost | Blocker::IdentityMismatch | Blocker::ForeignIdentity => {
                of_host(&|host| self.is_strange(host, said, machine))
            }
            Blocker::HostAhead { seen } => of_host(&|host| self.is_ahead(host, seen)),
            Blocker::StoreRegressed { .. } => self.world.hosts.iter().any(|host| host.epoch().0 > self.epoch),
            Blocker::NotLeading
            | Blocker::Standby { .. }
            | Blocker::RenewalOverdue { .. }
            | Blocker::SteppedDown { .. }
            | Blocker::AdoptionRefused { .. }
            | Blocker::EpochsExhausted { .. }
            | Blocker::Stopping
            | Blocker::NotSynced(_)
            | Blocker::AwaitingOwnWrite
            | Blocker::InFlight
            | Blocker::SessionLimit
            | Blocker::AwaitingArtefact
            | Blocker::Baking { .. }
            | Blocker::TooDisruptive { .. }
            | Blocker::SetEmptied { .. }
            | Blocker::TooManyUndrained { .. }
            | Blocker::Superseding
            | Blocker::AwaitingGrant
            | Blocker::AwaitingNode { .. }
            | Blocker::InUse(_)
            | Blocker::AwaitingCertificate
            | Blocker::CertificateDenied
            | Blocker::HostNotRead
            | Blocker::NotApproved(_) => false,
            Blocker::Draining { .. }
            | Blocker::DrainOverdue { .. }
            | Blocker::DisruptionBudget { .. }
            | Blocker::DrainForbidden { .. }
            | Blocker::LastSchedulableNode { .. } => self.is_undrained(said, stray),
            Blocker::NodeConflict { .. } => self.is_conflicted(stray),
        }
    }

    /// Whether a version has no artefact for a host.
    fn has_no_artefact(&self, host: &Host, version: VersionId) -> bool {
        self.version(version).is_some_and(|spec| !spec.suits(host.architecture))
    }

    /// Whether as many hosts are in trouble as a reason says.
    fn is_at_limit(&self, said: Blocker, limit: u32) -> bool {
        let (hosts, is_beyond) = if matches!(said, Blocker::TooManyUnavailable { .. }) {
            (self.unavailable, u64::from(self.unavailable) * 5 >= u64::from(limit) * 4)
        } else if matches!(said, Blocker::TooManyFailures { .. }) {
            (self.failed, self.failed >= limit)
        } else {
            (self.broken, self.broken >= limit)
        };
        hosts > 0 && is_beyond
    }

    /// Whether something keeps pods on a Node, as a reason says.
    fn is_undrained(&self, said: Blocker, stray: &Stray) -> bool {
        if matches!(said, Blocker::DisruptionBudget { .. }) {
            self.is_held_up(stray)
        } else if matches!(said, Blocker::LastSchedulableNode { .. }) {
            self.is_last_node(stray)
        } else {
            self.has_pods(stray, matches!(said, Blocker::DrainForbidden { .. }))
        }
    }

    /// Whether a host is not what its Machine takes it for.
    fn is_strange(&self, host: &Host, said: Blocker, machine: &Machine) -> bool {
        if said == Blocker::DuplicateHost {
            return host.owner().is_some() && host.owner() != machine.metadata.uid.get();
        }
        if said == Blocker::IdentityMismatch {
            return recorded_host(machine).is_some_and(|recorded| recorded != host.identity);
        }
        let known = host.node().and_then(|node| node.certificate());
        known.is_some_and(|known| self.world.is_of_others(known, &machine.metadata.name))
    }

    /// Whether a disruption policy says what keeps a machine back.
    fn is_kept_back(&self, said: Blocker, policy: PolicyId) -> bool {
        let name = self.names.name(policy.named()).unwrap_or_default();
        let object = self.world.api_servers.home().get(Kind::DisruptionPolicy, name);
        let Some(spec) = object.map(|object| spec_of(object)) else { return false };
        let Some(spec) = spec else { return matches!(said, Blocker::PolicyInvalid { .. }) };
        let stop = spec.stop(self.world.now(), Config::default().apply_deadline * 3).0;
        match stop {
            Some(Stop::Paused) => matches!(said, Blocker::PolicyPaused { .. }),
            Some(Stop::Frozen(_)) => matches!(said, Blocker::Frozen { .. }),
            Some(Stop::OutsideWindow(_)) => matches!(said, Blocker::OutsideWindow { .. }),
            Some(Stop::Invalid) | None if matches!(said, Blocker::InFlightLimit { .. }) => {
                spec.in_flight.is_some()
            }
            Some(Stop::Invalid) | None => {
                let is_rate = matches!(said, Blocker::RateLimit { .. });
                is_rate && (spec.per_hour.is_some() || spec.per_day.is_some())
            }
        }
    }

    /// Whether the journal of a host shows that this version failed there.
    fn has_failed(&self, host: &Host, version: VersionId, cause: CauseKind) -> bool {
        let version = self.names.version_object_name(version).unwrap_or_default();
        may_have_had(host, |(operation, ended)| {
            let Some((installed, _)) = operation.release else { return false };
            *ended == Ended::Failed(cause) && self.world.catalogue.version_name(installed) == version
        })
    }

    /// Whether the host has seen this epoch, and it is higher than that of the Lease.
    fn is_ahead(&self, host: &Host, seen: Epoch) -> bool {
        host.epoch() == seen && seen.0 > self.epoch
    }

    /// Whether pods are on the Node of a machine, and no disruption budget lets any go.
    fn is_held_up(&self, stray: &Stray) -> bool {
        self.world.are_budgets_closed() && self.has_pods(stray, false)
    }

    /// Whether a version needs a parameter that the machine does not have.
    fn lacks_parameter(&self, machine: &Machine, version: VersionId) -> bool {
        self.version(version).is_some_and(|spec| {
            spec.machine_parameters.iter().any(|name| !machine.spec.parameters.contains_key(name))
        })
    }

    /// Whether another writer gave a label or taint of the Node another value.
    fn is_conflicted(&self, stray: &Stray) -> bool {
        stray.host.is_some_and(|host| self.world.has_attribute_conflict(host))
    }

    /// Whether the operator has cordoned another Node, and no other Node takes pods.
    fn is_last_node(&self, stray: &Stray) -> bool {
        let others = || (0..self.world.scenario.fleet.machines).filter(|host| Some(*host) != stray.host);
        others().any(|host| self.world.has_our_taint(host))
            && !others().any(|host| self.world.takes_pods(host))
    }

    /// Whether pods are on the Node of a machine; with `bare`, pods that no controller would replace.
    fn has_pods(&self, stray: &Stray, bare: bool) -> bool {
        let (all, lost) = stray.host.map_or((0, 0), |host| self.world.pods_on(host));
        if bare { lost > 0 } else { all > 0 }
    }

    fn is_fleet_paused(&self) -> bool {
        let fleet = self.world.api_servers.home().get(Kind::ClusterPackageVersion, SINGLETON);
        fleet.and_then(|fleet| fleet.package_version()).is_some_and(|fleet| fleet.spec.paused)
    }

    /// Whether a set is paused that names a component of a machine.
    fn is_set_paused(&self, machine: &Machine) -> bool {
        let desired = Desired::of(self.world.api_servers.home());
        desired.groups.iter().filter(|group| group.paused).any(|group| {
            let decides = |component: &str| desired.group_of(&machine.metadata, component);
            let mut own = group.components.iter();
            own.any(|setting| decides(&setting.name).is_some_and(|other| other.is(group)))
        })
    }

    /// Whether the record shows that the gate after this batch has failed, and what it has found.
    fn has_failed_gate(&self, batch: u32) -> bool {
        let desired = Desired::of(self.world.api_servers.home());
        let courses = desired.records().flat_map(|status| &status.rollouts);
        courses.filter_map(|rollout| rollout.course.as_ref()).any(|course| {
            let gate = course.failed_gate.as_ref();
            course.batch == i64::from(batch) && gate.is_some_and(has_found_trouble)
        })
    }

    /// Whether the specs of a Machine and of the fleet are valid.
    fn is_acceptable(&self, machine: &Machine) -> bool {
        let mut names = Names::new();
        let fleet = self.world.api_servers.home().get(Kind::ClusterPackageVersion, SINGLETON);
        let fleet = fleet.and_then(|fleet| fleet.package_version());
        let is_fleet_well = fleet.is_none_or(|fleet| {
            parse::package_version(fleet, &mut names).is_ok_and(|object| object.spec.is_ok())
        });
        let groups = Desired::of(self.world.api_servers.home()).groups;
        let are_sets_well = groups.iter().all(|group| group.spec().is_some());
        is_fleet_well
            && are_sets_well
            && parse::machine(machine, &mut names).is_ok_and(|(_, object)| object.spec.is_ok())
    }

    /// Whether another component has a reason to wait for this one: it is missing, drifted or failed, or it has
    /// dependencies itself.
    fn is_entangled(&self, host: &Host, component: ComponentId) -> bool {
        let name = self.names.component_name(component).unwrap_or_default();
        let Some(number) = self.world.catalogue.find_component(name) else { return true };
        let has_failed = host.journal().iter().any(|(operation, ended)| {
            operation.component == number && matches!(ended, Ended::Failed(cause) if cause.blames_release())
        });
        host.installed_of(number).is_none_or(|installed| {
            let version = self.world.catalogue.version_name(installed.version);
            has_failed || !installed.drift.is_none() || !self.needs_of(version).is_empty()
        })
    }

    /// Whether a version of the component depends on the component itself, through versions of others.
    fn is_in_circle(&self, component: ComponentId) -> bool {
        let own = self.names.component_name(component).unwrap_or_default();
        let mut ahead = vec![own.to_owned()];
        let mut seen: Vec<String> = Vec::new();
        while let Some(name) = ahead.pop() {
            let versions = self.world.catalogue.version_names().iter();
            let of_it = versions
                .filter(|version| version.strip_prefix(&*name).is_some_and(|rest| rest.starts_with('-')));
            for needed in of_it.flat_map(|version| self.needs_of(version)) {
                if !seen.contains(&needed) {
                    seen.push(needed.clone());
                    ahead.push(needed);
                }
            }
        }
        seen.iter().any(|name| name == own)
    }

    /// The components that a version depends on, by name.
    fn needs_of(&self, version: &str) -> Vec<String> {
        let version = self
            .world
            .api_servers
            .home()
            .get(Kind::MachineComponent, version)
            .map(|object| object.resource());
        let Some(Resource::MachineComponent(object)) = version else { return Vec::new() };
        object.spec.depends_on.clone()
    }

    /// Whether a version rule is broken as the reason claims.
    fn is_skewed(&self, said: Blocker) -> bool {
        let now = self.world.now();
        let mut servers = self.world.replicas.there(now, now);
        if let Blocker::VersionSkew { version, rule, other } = said {
            let number = self.version(other).and_then(|spec| VersionNumber::of(&spec.version));
            return self.rule(version, rule).is_some_and(|rule| !rule.admits(number));
        }
        if let Blocker::ApiServerSkew { version, rule, found } = said {
            let is_there = servers.any(|there| there == found);
            return is_there && self.rule(version, rule).is_some_and(|rule| !rule.admits(Some(found)));
        }
        let Blocker::ApiServerUnknown { version } = said else { return false };
        let has_rule =
            |spec: Arc<VersionSpec>| spec.requires.iter().any(|rule| rule.party == Party::ApiServer);
        servers.next().is_none() && self.version(version).is_some_and(has_rule)
    }

    /// The rule of a version with this index.
    fn rule(&self, version: VersionId, rule: u8) -> Option<Requirement> {
        self.version(version)?.requires.get(usize::from(rule)).copied()
    }

    fn version(&self, version: VersionId) -> Option<Arc<VersionSpec>> {
        let name = self.names.version_object_name(version).ok()?;
        let Resource::MachineComponent(object) =
            self.world.api_servers.home().get(Kind::MachineComponent, name)?.resource()
        else {
            return None;
        };
        parse::version(&object, &mut Names::new()).ok().and_then(|(_, read)| read.spec.ok())
    }
}

#[cfg(test)]
mod tests;
