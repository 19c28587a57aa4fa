//! Compares the final states: the same objects with the same contents, and on every host what the same desired state
//! leads to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use seaworthy_api::object::{ClusterPackageVersion, Machine, Resource};
use seaworthy_api::v1alpha1::{ComponentSetting, RolloutStatus};
use seaworthy_model::id::Kind;
use seaworthy_model::meta::FINALIZER;
use seaworthy_model::package_version::SINGLETON;

use super::Difference;
use crate::observers::Observers;
use crate::observers::oracle::{Desired, stray_hosts};
use crate::vocabulary::{host_number, machine_name};
use crate::world::World;

const NAME: &str = "twinState";

/// All differences. Empty when both worlds ended alike, apart from the hosts that are `exempt`.
pub(super) fn differences(world: &World, twin: &World, exempt: &BTreeSet<u32>) -> Vec<Difference> {
    let mut differences = Vec::new();
    let mut add = |host: Option<u32>, detail: String| {
        differences.push(Difference { invariant: NAME, host, detail });
    };
    let fleets = [world, twin].map(fleet_of);
    // A machine that has not converged has a confirmed reason, which need not hold in both worlds.
    let (strays, twin_strays) = (stray_hosts(world), stray_hosts(twin));
    let is_held = |world, host: &&u32| Observers::of(world).oracle.was_held_up(**host);
    let held = strays.iter().filter(|host| is_held(world, host));
    let held: BTreeSet<u32> =
        held.chain(twin_strays.iter().filter(|host| is_held(twin, host))).copied().collect();
    compare_names((world, twin), &held, &mut add);
    let is_whole = world.hosts.iter().all(|host| host.is_reachable())
        && held.is_empty()
        && strays.iter().chain(&twin_strays).all(|host| !exempt.contains(host));
    if let [Some(fleet), Some(twins)] = fleets {
        compare_fleets((fleet, twins), is_whole, &mut add);
    }
    let (machines, twins) = (by_host(world), by_host(twin));
    for host in 0..world.scenario.fleet.machines {
        if !world.hosts[host as usize].is_reachable() {
            continue;
        }
        let pair = (machines.get(&host), twins.get(&host));
        let (Some(machine), Some(other)) = pair else {
            // A missing Machine is already reported.
            if pair.0.is_none() && pair.1.is_none() && !held.contains(&host) {
                compare_empty((world, twin), host, &mut add);
            }
            continue;
        };
        compare_machines((machine, other), host, &mut add);
        let is_stray = strays.contains(&host) || twin_strays.contains(&host);
        if !is_stray && machine.spec.components == other.spec.components {
            for setting in Desired::of(world.api_servers.home()).wanted(machine) {
                compare_component((world, twin), (host, &setting), machine, &mut add);
            }
        }
    }
    differences
}

/// The Machine of each host, if it is not being deleted. Of several for one host, the last.
fn by_host(world: &World) -> BTreeMap<u32, Box<Machine>> {
    let objects = world.api_servers.home().collection(Kind::Machine).objects();
    let machines = objects.into_iter().filter(|object| !object.is_terminating());
    let machines = machines.filter_map(|object| {
        let Resource::Machine(machine) = object.resource() else { return None };
        Some((host_number(&machine.spec.address.ip)?, machine))
    });
    machines.collect()
}

fn fleet_of(world: &World) -> Option<&ClusterPackageVersion> {
    world.api_servers.home().get(Kind::ClusterPackageVersion, SINGLETON)?.package_version()
}

/// Compares which objects there are. A Machine that is being deleted on a host in `held` stays until its pods may leave.
fn compare_names(
    (world, twin): (&World, &World),
    held: &BTreeSet<u32>,
    add: &mut impl FnMut(Option<u32>, String),
) {
    for kind in [
        Kind::Machine,
        Kind::MachineComponent,
        Kind::ClusterPackageVersion,
        Kind::MachineComponentSet,
        Kind::CanaryRelease,
    ] {
        let names = |world: &World| -> Vec<Arc<str>> {
            world
                .api_servers
                .home()
                .collection(kind)
                .objects()
                .iter()
                .map(|object| Arc::clone(object.name()))
                .collect()
        };
        let (here, there) = (names(world), names(twin));
        if here == there {
            continue;
        }
        let host = |name: &str| name.strip_prefix("m-").and_then(|number| number.parse().ok());
        // A client that creates a Machine again does not wait until the name is free.
        let is_late = |world: &World, name: &str| {
            host(name).is_some_and(|host| Observers::of(world).oracle.was_turned_away(host))
        };
        let waits = |world: &World, name: &str| {
            kind == Kind::Machine
                && host(name).is_some_and(|host| held.contains(&host))
                && world.api_servers.home().get(kind, name).is_some_and(|machine| machine.is_terminating())
        };
        let missing = |name: &&Arc<str>| {
            there.binary_search(name).is_err()
                && !is_late(twin, name)
                && !is_kept(world, twin, name)
                && !waits(world, name)
        };
        for name in here.iter().filter(missing) {
            add(host(name), format!("{} {name} exists, and without faults it does not", kind.name()));
        }
        let missing = |name: &&Arc<str>| {
            here.binary_search(name).is_err()
                && !is_late(world, name)
                && !is_kept(twin, world, name)
                && !waits(twin, name)
        };
        for name in there.iter().filter(missing) {
            add(host(name), format!("{} {name} does not exist, and without faults it does", kind.name()));
        }
    }
}

/// Whether a version that users deleted stays in `world` because of the record of a rollout, and `other` has no such
/// record. Which rollouts were completed before the last one depends on how long each took; a record keeps its versions
/// until the next rollout.
fn is_kept(world: &World, other: &World, name: &str) -> bool {
    let stored = world.api_servers.home().get(Kind::MachineComponent, name);
    let Some(stored) = stored.filter(|stored| stored.is_terminating()) else { return false };
    let Resource::MachineComponent(version) = stored.resource() else { return false };
    let records = |world| {
        let mut rollouts = rollouts_of(world, Some(&version.spec.component));
        rollouts.any(|rollout| {
            let mut wants = rollout.from.iter().chain([&rollout.to]);
            wants.any(|want| want.version.as_deref() == Some(&*version.spec.version))
        })
    };
    records(world) && !records(other)
}

fn compare_fleets(
    (fleet, twin): (&ClusterPackageVersion, &ClusterPackageVersion),
    is_whole: bool,
    add: &mut impl FnMut(Option<u32>, String),
) {
    if fleet.spec != twin.spec {
        add(None, "the ClusterPackageVersion has another spec than without faults".into());
    }
    let told = |fleet: &ClusterPackageVersion| -> Vec<(String, String, String)> {
        let conditions = fleet.status.iter().flat_map(|status| &status.conditions);
        conditions
            .map(|told| (told.r#type.to_string(), told.status.to_string(), told.reason.to_string()))
            .collect()
    };
    let (here, there) = (told(fleet), told(twin));
    // A rollout that skips lost machines, or one whose pods do not leave, may end differently.
    let is_decided_alike = !is_reverted(fleet) && !is_reverted(twin);
    let is_stopped = ends_in_failures(fleet) && ends_in_failures(twin);
    if is_whole && is_decided_alike && here != there && !is_stopped {
        add(None, format!("the ClusterPackageVersion says {here:?}, and without faults {there:?}"));
    }
}

/// Whether the rollout of a default was reverted.
fn is_reverted(fleet: &ClusterPackageVersion) -> bool {
    let rollouts = fleet.status.iter().flat_map(|status| &status.rollouts);
    rollouts.filter_map(|rollout| rollout.course.as_ref()).any(|course| course.reverted_at.is_some())
}

/// Whether a rollout failed on machines, and does not go on. Whether machines are left that it could still try depends on
/// how many of those were tried while the limit was not reached.
fn ends_in_failures(fleet: &ClusterPackageVersion) -> bool {
    let Some(status) = &fleet.status else { return false };
    let is_over = |reason: &str| matches!(reason, "TooManyFailures" | "MachinesLeftOut");
    status.rollouts.iter().any(|rollout| rollout.failed > 0)
        && status.conditions.iter().all(|told| is_over(&told.reason))
}

fn compare_machines(
    (machine, twin): (&Machine, &Machine),
    host: u32,
    add: &mut impl FnMut(Option<u32>, String),
) {
    let name = &machine.metadata.name;
    if machine.spec != twin.spec {
        add(Some(host), format!("{name} has another spec than without faults"));
    }
    let is_held = |machine: &Machine| machine.metadata.finalizers.iter().any(|one| **one == *FINALIZER);
    let is_used =
        |machine: &Machine| machine.status.as_ref().is_some_and(|status| !status.components.is_empty());
    // A Machine that was never in use needs no finalizer; one that was keeps it until its deletion.
    if is_held(machine) != is_held(twin) && is_used(machine) && is_used(twin) {
        add(
            Some(host),
            format!("{name} is held: {}, and without faults {}", is_held(machine), is_held(twin)),
        );
    }
}

/// Compares a host without a Machine.
fn compare_empty((world, twin): (&World, &World), host: u32, add: &mut impl FnMut(Option<u32>, String)) {
    let count = |world: &World| world.hosts[host as usize].installed().len();
    let (here, there) = (count(world), count(twin));
    if here != there {
        let name = machine_name(host);
        add(
            Some(host),
            format!("host of {name}, which is gone: {here} components left, and without faults {there}"),
        );
    }
}

fn compare_component(
    (world, twin): (&World, &World),
    (host, setting): (u32, &ComponentSetting),
    machine: &Machine,
    add: &mut impl FnMut(Option<u32>, String),
) {
    let is_pinned = machine.spec.components.iter().any(|pin| pin.name == setting.name);
    let component = Some(setting.name.as_str());
    let differs = |world| has_open_rollout(world, component) || has_reverted_rollout(world, component);
    if !is_pinned && (differs(world) || differs(twin)) {
        return;
    }
    // Which machines a canary picks depends on who could be worked on just then.
    let is_tried = |world: &World| {
        let group = Desired::of(world.api_servers.home()).group_of(&machine.metadata, &setting.name);
        group.is_some_and(|group| group.kind == Kind::CanaryRelease)
    };
    if is_tried(world) || is_tried(twin) {
        return;
    }
    let present = |world: &World| {
        let number = world.catalogue.find_component(&setting.name)?;
        let installed = world.hosts[host as usize].installed_of(number)?;
        let name = world.catalogue.version_name(installed.version).to_owned();
        Some((name, world.catalogue.release_id(installed.release), installed.drift))
    };
    let (here, there) = (present(world), present(twin));
    if here != there {
        let words = |present: &Option<(String, _, _)>| {
            present.as_ref().map_or("nothing".to_owned(), |(name, _, _)| name.clone())
        };
        let (name, here, there) = (machine_name(host), words(&here), words(&there));
        add(Some(host), format!("{name} has {here} of {}, and without faults {there}", setting.name));
    }
}

/// Whether the rollout of a component, or of any, was reverted. Faults may decide a gate.
fn has_reverted_rollout(world: &World, component: Option<&str>) -> bool {
    rollouts_of(world, component)
        .any(|rollout| rollout.course.as_ref().is_some_and(|course| course.reverted_at.is_some()))
}

/// The rollouts of a component, or all of them.
fn rollouts_of<'a>(world: &'a World, component: Option<&'a str>) -> impl Iterator<Item = &'a RolloutStatus> {
    let records: Vec<_> = Desired::of(world.api_servers.home()).records().collect();
    let rollouts = records.into_iter().flat_map(|status| &status.rollouts);
    rollouts.filter(move |rollout| component.is_none_or(|component| *rollout.component == *component))
}

/// Whether the rollout of a component, or of any, is not completed.
pub(super) fn has_open_rollout(world: &World, component: Option<&str>) -> bool {
    rollouts_of(world, component).any(|rollout| rollout.completed_at.is_none())
}
