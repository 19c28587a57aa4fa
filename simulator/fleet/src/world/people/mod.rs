//! Users: they apply, edit and delete, and check their expectations.

mod adoption;
mod gates;
mod nodes;
mod racks;
mod workloads;

use std::sync::Arc;

use seaworthy_api::object::Resource;
use seaworthy_api::v1alpha1::RELEASE_ANNOTATION;
use seaworthy_kernel::Priority;
use seaworthy_model::id::Kind;

use racks::Racks;

use crate::scenario::{ApiServerUpgrade, Edit};
use crate::vocabulary::{machine_name, since_start};
use crate::world::World;
use crate::world::api_server::{Preconditions, Refusal, WriteResult};
use crate::world::event::Event;
use crate::world::happening::Happening;
use crate::world::node::new_node;
use crate::world::writer::Writer;

impl World {
    /// Applies what is there at the beginning.
    pub(in crate::world) fn populate(&mut self) {
        let scenario = Arc::clone(&self.scenario);
        let mut racks = Racks::default();
        for number in 0..scenario.fleet.machines {
            let machine = racks.machine(&scenario.fleet, &self.draws, number);
            let name = Arc::clone(&machine.metadata().name);
            self.apply(machine);
            if !scenario.fleet.nodes {
                continue;
            }
            if let Some(condition) = self.first_condition(number) {
                let now = self.queue.now();
                let node = new_node(name, condition, now);
                let written = self.api_servers.home_mut().create(node, now);
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
    pub(in crate::world) fn people_act(&mut self, index: u32) {
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
            // Whether a Node is there does not depend on users alone.
            let is_there = self.api_servers.home().get(object.0, object.1).is_some();
            if is_there || object.0 != Kind::Node {
                let written = self.api_servers.home_mut().delete(object, Preconditions::default(), now);
                self.note(written, &reference.name);
            }
        }
        if moment.adopt {
            self.adopt();
        }
        if moment.override_gates {
            self.override_gates();
        }
        if moment.confirm_rollouts {
            self.confirm_rollouts();
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
    pub(in crate::world) fn apply(&mut self, object: Resource) {
        let (kind, name) = (object.kind(), object.metadata().name.clone());
        let now = self.queue.now();
        let written = if self.api_servers.home().get(kind, &name).is_none() {
            self.api_servers.home_mut().create(object, now)
        } else {
            self.api_servers.home_mut().update((kind, &name), Preconditions::default(), now, |present| {
                let metadata = present.metadata_mut();
                metadata.labels.clone_from(&object.metadata().labels);
                metadata.annotations.clone_from(&object.metadata().annotations);
                // Of a Node, people manage nothing else.
                if kind != Kind::Node {
                    present.take_spec(object);
                }
            })
        };
        self.note(written, &name);
    }

    fn edit(&mut self, edit: &Edit) {
        for &number in &edit.machines {
            let name = machine_name(number);
            let now = self.queue.now();
            let written = self.api_servers.home_mut().update(
                (Kind::Machine, &name),
                Preconditions::default(),
                now,
                |object| {
                    let Resource::Machine(machine) = object else { return };
                    if let Some(pool) = &edit.pool {
                        machine.metadata.labels.insert("pool".into(), pool.clone());
                    }
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
                },
            );
            self.note(written, &name);
        }
    }

    /// Users record that the host of a Machine is gone for good.
    fn release_host(&mut self, number: u32) {
        let (name, now) = (machine_name(number), self.queue.now());
        if self.api_servers.home().get(Kind::Machine, &name).is_none() {
            // The Machine is already gone, which is what they want.
            return;
        }
        let written = self.api_servers.home_mut().update(
            (Kind::Machine, &name),
            Preconditions::default(),
            now,
            |object| {
                let uid = object.metadata().uid.to_string();
                object.metadata_mut().annotations.insert(RELEASE_ANNOTATION.to_owned(), uid);
            },
        );
        self.note(written, &name);
    }

    /// Handles the result of a write of users. A refusal is an error in the scenario.
    pub(in crate::world) fn note(&mut self, result: WriteResult, name: &str) {
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
                self.happened(&Happening::PeopleRefused(&detail));
            }
        }
    }

    /// A machine of the fleet, as people applied it.
    pub(in crate::world) fn machine(&self, number: u32) -> Resource {
        Racks::default().machine(&self.scenario.fleet, &self.draws, number)
    }

    /// Users begin to upgrade the API servers.
    fn upgrade_api_servers(&mut self, upgrade: ApiServerUpgrade) {
        let now = self.queue.now();
        self.replicas.upgrade(upgrade.to.0, now, upgrade.lasting.0);
    }
}
