//! What the cluster sees of Nodes, what follows a write of one, and the end of a Node and its return.

use seaworthy_api::object::Resource;
use seaworthy_kernel::Timestamp;
use seaworthy_model::id::Kind;
use seaworthy_model::node::DRAIN_TAINT;

use crate::vocabulary::{Occasion, machine_name};
use crate::world::World;
use crate::world::api_server::{Stored, Written};
use crate::world::happening::{Happening, NodeWrite};
use crate::world::host::{Change, Ended, Work};
use crate::world::node::new_node;
use crate::world::writer::Writer;

impl World {
    /// Whether users have cordoned a Node and not uncordoned it.
    pub(crate) fn is_cordoned_by_people(&self, number: u32) -> bool {
        self.cordoned_by_people.contains(&number)
    }

    /// Whether a Node carries the operator's taint.
    pub(crate) fn has_our_taint(&self, number: u32) -> bool {
        let node = self.api_servers.home().get(Kind::Node, &machine_name(number));
        let spec = node.and_then(|node| node.node_spec());
        spec.is_some_and(|spec| spec.taints.iter().any(|taint| taint.key == DRAIN_TAINT))
    }

    /// Whether users see a Node as unschedulable.
    pub(crate) fn is_unschedulable(&self, number: u32) -> bool {
        let node = self.api_servers.home().get(Kind::Node, &machine_name(number));
        node.and_then(|node| node.node_spec()).is_some_and(|spec| spec.unschedulable)
    }

    /// What follows the write of a Node.
    pub(in crate::world) fn node_written(&mut self, written: &Written, writer: Writer) {
        self.note_attributes(written, writer);
        let is_bare = |object: &Stored| object.node_spec().is_none();
        let was_bare = written.before.as_ref().is_some_and(|before| is_bare(before));
        if was_bare && is_bare(&written.object) && !written.removed {
            // Nearly always, a kubelet only reports its condition.
            return;
        }
        let Some(host) = self.host_named(written.object.name()) else { return };
        let spec = |object: &Stored| object.node_spec().cloned().unwrap_or_default();
        let before = written.before.as_ref().map(|before| spec(before)).unwrap_or_default();
        let after = if written.removed { Default::default() } else { spec(&written.object) };
        let ours =
            |spec: &seaworthy_api::object::NodeSpec| spec.taints.iter().any(|taint| taint.key == DRAIN_TAINT);
        match (ours(&before), ours(&after)) {
            (false, true) => self.note_occasion(Occasion::NodeCordoned),
            (true, false) => self.note_occasion(Occasion::NodeUncordoned),
            (true, true) | (false, false) => {}
        }
        let is_operator = writer == Writer::Operator;
        let frees = before.unschedulable && !after.unschedulable && !written.removed;
        let is_turned = before.unschedulable != after.unschedulable && !written.removed;
        self.happened(&Happening::NodeWritten(NodeWrite {
            host,
            is_freed_by_operator: is_operator && frees,
            by_people: (!is_operator && is_turned).then_some(after.unschedulable),
            is_cordoned: ours(&after),
            is_there: !written.removed,
        }));
        if written.removed {
            self.note_occasion(Occasion::NodeDeleted);
            self.nodes_gone.insert(host);
            self.cordoned_by_people.remove(&host);
            self.node_gone(host);
        }
    }

    /// An operation has ended. In a scenario without kubelets, software that disrupts pods stands for one: its
    /// installation creates the Node anew, if that is gone.
    pub(in crate::world) fn stand_in_registers(&mut self, number: u32, work: &Work, ended: Ended) {
        let Change::Install(install) = work.change else { return };
        let stands_in = !self.software.has_kubelet()
            && ended == Ended::Succeeded
            && self.drains(self.catalogue.version_name(install.version));
        if stands_in {
            self.register_node(number);
        }
    }

    /// A kubelet creates its Node, unless it is there.
    pub(in crate::world) fn register_node(&mut self, number: u32) {
        if !self.nodes_gone.remove(&number) {
            return;
        }
        let now = self.queue.now();
        let health = self.kubelets[number as usize].health;
        let health = self.disturbance.lies.get(&number).copied().unwrap_or(health);
        let node = new_node(machine_name(number).into(), health, now);
        if let Ok(written) = self.api_servers.home_mut().create(node, now) {
            self.note_occasion(Occasion::NodeRegistered);
            self.committed(&written, Writer::Other);
            self.node_registered(number);
        }
    }

    /// Whether a change of this version disrupts pods, so that the Node has to be drained.
    pub(crate) fn drains(&self, version: &str) -> bool {
        let object = self.api_servers.home().get(Kind::MachineComponent, version);
        let spec = object.and_then(|object| object.version_spec());
        spec.is_some_and(|spec| matches!(spec.disruption.as_str(), "Drain" | "Reboot"))
    }

    /// Whether a version makes its host a node.
    pub(crate) fn makes_node(&self, version: &str) -> bool {
        let object = self.api_servers.home().get(Kind::MachineComponent, version);
        object.and_then(|object| object.version_spec()).is_some_and(|spec| spec.node_identity.is_some())
    }

    /// Since when a Node reports that it is ready, if it does.
    pub(crate) fn node_ready_since(&self, number: u32) -> Option<Timestamp> {
        let stored = self.api_servers.home().get(Kind::Node, &machine_name(number))?;
        let shown = stored.shown();
        let Resource::Node(node) = &*shown else { return None };
        let status = node.status.as_ref()?;
        let ready = status.conditions.iter().find(|condition| condition.r#type == "Ready")?;
        ready.last_transition_time.as_ref().filter(|_| ready.status == "True")?.get()
    }
}
