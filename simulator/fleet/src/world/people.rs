//! Users: they apply, edit and delete, and check their expectations.

use std::collections::BTreeMap;
use std::sync::Arc;

use seaworthy_api::object::{Endpoint, Machine, Metadata, Resource};
use seaworthy_api::v1alpha1::{Address, MachineSpec, NodeLabels, Parameters, RELEASE_ANNOTATION, Ssh};
use seaworthy_kernel::{Draws, Priority};
use seaworthy_model::id::Kind;

use super::World;
use super::api_server::{Preconditions, Refusal, WriteResult};
use super::event::Event;
use super::happening::Happening;
use super::writer::Writer;
use crate::scenario::Edit;
use crate::vocabulary::{Fleet, address, machine_name, since_start};

impl World {
    /// Applies what is there at the beginning.
    pub(super) fn populate(&mut self) {
        let scenario = Arc::clone(&self.scenario);
        let mut racks = Racks::default();
        for number in 0..scenario.fleet.machines {
            let machine = racks.machine(&scenario.fleet, &self.draws, number);
            let name = Arc::clone(&machine.metadata().name);
            self.apply(machine);
            if scenario.fleet.nodes && !self.nodes_gone.contains(&number) {
                let now = self.queue.now();
                let node = Self::node(name, now);
                let written = self.api.create(node, now);
                self.note(written, "Node");
            }
        }
        for manifest in &scenario.manifests {
            if let Some(object) = manifest.object() {
                let key = (object.kind(), Arc::clone(&object.metadata().name));
                self.applied.insert(key, Arc::new(object.clone()));
                self.apply(object.clone());
            }
        }
    }

    /// Users act on a moment of the timeline.
    pub(super) fn people_act(&mut self, index: u32) {
        let scenario = Arc::clone(&self.scenario);
        let Some(moment) = scenario.timeline.get(index as usize) else { return };
        self.happened(&Happening::PeopleAct(index, moment));
        for manifest in &moment.apply {
            if let Some(object) = manifest.object() {
                let key = (object.kind(), Arc::clone(&object.metadata().name));
                self.applied.insert(key, Arc::new(object.clone()));
                self.apply(object.clone());
            }
        }
        for edit in &moment.edit {
            self.edit(edit);
        }
        for reference in &moment.delete {
            self.applied.remove(&(reference.kind.kind(), Arc::from(reference.name.as_str())));
            let now = self.queue.now();
            let object = (reference.kind.kind(), reference.name.as_str());
            let written = self.api.delete(object, Preconditions::default(), now);
            self.note(written, &reference.name);
        }
        if moment.adopt {
            self.adopt();
        }
        for (machines, unschedulable) in [(&moment.cordon, true), (&moment.uncordon, false)] {
            for number in machines {
                self.people_cordon(*number, unschedulable);
            }
        }
        for change in &moment.relabel {
            for number in &change.machines {
                self.people_relabel(*number, change);
            }
        }
        if let Some(open) = moment.budgets {
            self.close_budgets(!open);
        }
        for number in &moment.clear {
            self.clear_host(*number);
        }
        for number in &moment.release {
            self.release_host(*number);
        }
        if let Some(upgrade) = moment.upgrade_api_servers {
            self.upgrade_api_servers(upgrade);
        }
        if let Some(upgrade) = moment.upgrade_operators {
            self.upgrade_operators(upgrade);
        }
        if let Some(seat) = moment.start_operator {
            self.queue.after(std::time::Duration::ZERO, Priority::NORMAL, Event::Start { seat });
        }
    }

    /// `kubectl apply`: the object is created, or its spec, labels and annotations become those of the manifest.
    pub(super) fn apply(&mut self, object: Resource) {
        let (kind, name) = (object.kind(), object.metadata().name.clone());
        let now = self.queue.now();
        let written = if self.api.get(kind, &name).is_none() {
            self.api.create(object, now)
        } else {
            self.api.update((kind, &name), Preconditions::default(), now, |present| {
                let metadata = present.metadata_mut();
                metadata.labels.clone_from(&object.metadata().labels);
                metadata.annotations.clone_from(&object.metadata().annotations);
                replace_spec(present, object);
            })
        };
        self.note(written, &name);
    }

    fn edit(&mut self, edit: &Edit) {
        for &number in &edit.machines {
            let name = machine_name(number);
            let now = self.queue.now();
            let written = self.api.update((Kind::Machine, &name), Preconditions::default(), now, |object| {
                let Resource::Machine(machine) = object else { return };
                let spec = Arc::make_mut(&mut machine.spec);
                if let Some(components) = &edit.components {
                    spec.components.clone_from(components);
                }
                if let Some(labels) = &edit.node_labels {
                    spec.node_labels.clone_from(labels);
                }
                if let Some(taints) = &edit.node_taints {
                    spec.node_taints.clone_from(taints);
                }
                spec.paused = edit.paused.unwrap_or(spec.paused);
                if edit.retry.is_some() {
                    spec.retry.clone_from(&edit.retry);
                }
            });
            self.note(written, &name);
        }
    }

    /// Users record that the host of a Machine is gone for good.
    fn release_host(&mut self, number: u32) {
        let (name, now) = (machine_name(number), self.queue.now());
        if self.api.get(Kind::Machine, &name).is_none() {
            // The Machine is already gone, which is what they want.
            return;
        }
        let written = self.api.update((Kind::Machine, &name), Preconditions::default(), now, |object| {
            let uid = object.metadata().uid.to_string();
            object.metadata_mut().annotations.insert(RELEASE_ANNOTATION.to_owned(), uid);
        });
        self.note(written, &name);
    }

    /// Handles the result of a write of users. A refusal is an error in the scenario.
    pub(super) fn note(&mut self, result: WriteResult, name: &str) {
        match result {
            Ok(written) => self.committed(&written, Writer::Other),
            Err(refusal) => {
                let why = match refusal {
                    Refusal::AlreadyExists => "it exists already".to_owned(),
                    Refusal::NotFound => "there is no such object".to_owned(),
                    Refusal::Conflict(why) => why.to_owned(),
                    Refusal::TestFailed => "it is not as it was".to_owned(),
                    Refusal::Invalid(invalid) => format!("{}: {}", invalid.field, invalid.message),
                };
                let now = self.queue.now();
                let detail = format!("{name} at {}: {why}", since_start(now));
                self.happened(&Happening::PeopleRefused(detail));
            }
        }
    }

    /// A machine of the fleet, as people applied it.
    pub(super) fn machine(&self, number: u32) -> Resource {
        Racks::default().machine(&self.scenario.fleet, &self.draws, number)
    }

    /// The number of hosts per version of each component.
    #[must_use]
    pub fn versions(&self) -> BTreeMap<String, u32> {
        let mut versions = BTreeMap::new();
        for host in &self.hosts {
            for installed in host.installed() {
                *versions.entry(installed.version).or_default() += 1;
            }
        }
        let name = |(version, count)| (self.catalogue.version_name(version).to_owned(), count);
        versions.into_iter().map(name).collect()
    }
}

/// What the machines of a fleet have in common. They share these strings, so that a large fleet fits into memory.
struct Racks {
    ssh: Ssh,
    zones: BTreeMap<u32, Arc<str>>,
    racks: BTreeMap<(u32, u32), Arc<str>>,
}

impl Default for Racks {
    fn default() -> Self {
        let ssh = Ssh {
            port: 22,
            user: "root".into(),
            secret_name: "fleet-key".into(),
            host_keys: [HOST_KEY.into()].into(),
            host_key_policy: "Pinned".into(),
        };
        Self { ssh, zones: BTreeMap::new(), racks: BTreeMap::new() }
    }
}

impl Racks {
    /// A machine of the fleet, as people applied it.
    fn machine(&mut self, fleet: &Fleet, draws: &Draws, number: u32) -> Resource {
        let zone = number % fleet.zones;
        let rack = number / fleet.zones % fleet.racks_per_zone;
        let idc = self.zones.entry(zone).or_insert_with(|| format!("zone-{zone}").into());
        let in_rack = self.racks.entry((zone, rack)).or_insert_with(|| format!("rack-{zone}-{rack}").into());
        let name: Arc<str> = machine_name(number).into();
        let mut metadata = Metadata::named(Arc::clone(&name));
        if let Some(pool) = fleet.pool_of(number, draws) {
            metadata.labels.insert("pool".into(), pool.into());
        }
        Resource::Machine(Box::new(Machine {
            api_version: Endpoint::of(Kind::Machine).api_version.into(),
            kind: Kind::Machine.name().into(),
            metadata,
            spec: Arc::new(MachineSpec {
                address: Address {
                    ip: address(number).into(),
                    hostname: Some(name),
                    idc: Some(Arc::clone(idc)),
                    rack: Some(Arc::clone(in_rack)),
                },
                ssh: self.ssh.clone(),
                components: Vec::new(),
                parameters: Parameters::new(),
                node_labels: NodeLabels::new(),
                node_taints: Vec::new(),
                paused: false,
                retry: None,
            }),
            status: None,
        }))
    }
}

/// All hosts of a simulated fleet present the same key: nothing in the simulation tells them apart by it.
const HOST_KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f";

fn replace_spec(present: &mut Resource, object: Resource) {
    match (present, object) {
        (Resource::Machine(present), Resource::Machine(object)) => present.spec = object.spec,
        (Resource::MachineComponent(present), Resource::MachineComponent(object)) => {
            present.spec = object.spec
        }
        (Resource::ClusterPackageVersion(present), Resource::ClusterPackageVersion(object)) => {
            present.spec = object.spec;
        }
        (Resource::Lease(present), Resource::Lease(object)) => present.spec = object.spec,
        (_, _) => {}
    }
}
