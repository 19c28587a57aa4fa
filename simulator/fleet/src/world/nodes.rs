//! What people and operators write on Nodes, and the end of a Node and its return.

use seaworthy_api::object::Resource;
use seaworthy_kernel::Timestamp;
use seaworthy_model::id::Kind;
use seaworthy_model::node::DRAIN_TAINT;

use super::World;
use super::api_server::{Preconditions, Stored, Written};
use super::arrival::Writer;
use super::host::{Change, Ended, Work};
use super::node_health::status;
use crate::vocabulary::{Occasion, machine_name};

impl World {
    /// `kubectl cordon` and `kubectl uncordon`: they change one field, if it is not so already.
    pub(crate) fn people_cordon(&mut self, number: u32, unschedulable: bool) {
        let (name, now) = (machine_name(number), self.queue.now());
        let written = self.api.update((Kind::Node, &name), Preconditions::default(), now, |object| {
            if let Resource::Node(node) = object {
                node.spec.unschedulable = unschedulable;
            }
        });
        let Ok(written) = written else { return };
        if written.committed {
            self.tally.note(Occasion::NodeCordonedByPeople);
            self.oracle.people_cordoned(number, unschedulable);
            self.committed(&written, Writer::Other);
        }
    }

    /// Whether people would find a Node unschedulable.
    pub(crate) fn is_unschedulable(&self, number: u32) -> bool {
        let node = self.api.get(Kind::Node, &machine_name(number));
        node.and_then(|node| node.node_spec()).is_some_and(|spec| spec.unschedulable)
    }

    /// What follows the write of a Node.
    pub(super) fn node_written(&mut self, written: &Written, writer: Writer, now: Timestamp) {
        self.judge_attributes(written, writer, now);
        let is_bare = |object: &Stored| object.node_spec().is_none();
        let was_bare = written.before.as_ref().is_some_and(|before| is_bare(before));
        if was_bare && is_bare(&written.object) && !written.removed {
            // Its kubelet says how it is, as nearly always.
            return;
        }
        let Some(host) = self.host_named(written.object.name()) else { return };
        let spec = |object: &Stored| object.node_spec().cloned().unwrap_or_default();
        let before = written.before.as_ref().map(|before| spec(before)).unwrap_or_default();
        let after = if written.removed { Default::default() } else { spec(&written.object) };
        let ours =
            |spec: &seaworthy_api::object::NodeSpec| spec.taints.iter().any(|taint| taint.key == DRAIN_TAINT);
        match (ours(&before), ours(&after)) {
            (false, true) => self.tally.note(Occasion::NodeCordoned),
            (true, false) => self.tally.note(Occasion::NodeUncordoned),
            (true, true) | (false, false) => {}
        }
        let is_operator = writer == Writer::Operator;
        let frees = before.unschedulable && !after.unschedulable && !written.removed;
        if is_operator && frees && self.oracle.is_cordoned_by_people(host) {
            let detail = format!("the Node of host {host} was uncordoned, and people had cordoned it");
            self.oracle.breach("foreignCordon", now, detail);
        }
        self.oracle.node_cordoned(host, ours(&after), now);
        self.oracle.node_there(host, !written.removed);
        if written.removed {
            self.tally.note(Occasion::NodeDeleted);
            self.nodes_gone.insert(host);
            self.node_gone(host);
        }
    }

    /// The kubelet that was installed registers its Node, if that is gone.
    pub(super) fn register_node(&mut self, number: u32, work: &Work, ended: Ended) {
        let Change::Install(install) = work.change else { return };
        let version = self.catalogue.version_name(install.version);
        let is_kubelet = || self.drains(version) || self.makes_node(version);
        if ended != Ended::Succeeded || !self.nodes_gone.contains(&number) || !is_kubelet() {
            return;
        }
        self.nodes_gone.remove(&number);
        let name = machine_name(number);
        let now = self.queue.now();
        let health = self.kubelets[number as usize].health;
        let mut node = Self::node(name.into(), now);
        if let Resource::Node(node) = &mut node {
            node.status = Some(status(health, now));
        }
        if let Ok(written) = self.api.create(node, now) {
            self.committed(&written, Writer::Other);
        }
    }

    /// Whether pods do not outlive a change of this version.
    pub(super) fn drains(&self, version: &str) -> bool {
        let object = self.api.get(Kind::MachineComponent, version);
        let spec = object.and_then(|object| object.version_spec());
        spec.is_some_and(|spec| matches!(spec.disruption.as_str(), "Drain" | "Reboot"))
    }

    /// Whether a version makes its host a node.
    pub(super) fn makes_node(&self, version: &str) -> bool {
        let object = self.api.get(Kind::MachineComponent, version);
        object.and_then(|object| object.version_spec()).is_some_and(|spec| spec.node_identity.is_some())
    }

    /// Since when a Node says that it is ready, if it does.
    fn node_ready_since(&self, number: u32) -> Option<Timestamp> {
        let stored = self.api.get(Kind::Node, &machine_name(number))?;
        let shown = stored.shown();
        let Resource::Node(node) = &*shown else { return None };
        let status = node.status.as_ref()?;
        let ready = status.conditions.iter().find(|condition| condition.r#type == "Ready")?;
        ready.last_transition_time.as_ref().filter(|_| ready.status == "True")?.get()
    }

    /// Work begins on a host that pods would not outlive: they have left, and no others come.
    pub(super) fn judge_drain(&mut self, number: u32, work: &Work, sent: Timestamp) {
        let comes = match work.change {
            Change::Install(install) => Some(install.version),
            Change::Remove => None,
        };
        let running = self.hosts[number as usize].running();
        let goes = running.and_then(|running| running.previous()).map(|previous| previous.version);
        let versions = comes.into_iter().chain(goes);
        if !versions.into_iter().any(|version| self.drains(self.catalogue.version_name(version)))
            || self.api.get(Kind::Node, &machine_name(number)).is_none()
        {
            return;
        }
        let now = self.queue.now();
        if !self.oracle.is_cordoned(number) {
            let detail = format!("work on host {number} began while its Node took pods");
            self.oracle.breach("drained", now, detail);
        }
        let (left, _) = self.pods_on(number);
        // Of a Node that was not ready a moment ago nobody could know better.
        let known = self.oracle.known_at(sent);
        if left > 0
            && self.is_node_ready(number)
            && self.node_ready_since(number).is_none_or(|at| at <= known)
        {
            self.oracle.breach("drained", now, format!("work on host {number} began under {left} pods"));
        }
    }
}
