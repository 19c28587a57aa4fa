//! The controller that watches over the leases of Nodes.

use seaworthy_api::object::Resource;
use seaworthy_kernel::{Priority, Timestamp};
use seaworthy_model::id::Kind;
use seaworthy_model::node::Health;

use crate::vocabulary::{Occasion, machine_name};
use crate::world::World;
use crate::world::api_server::{Preconditions, Status};
use crate::world::event::Event;
use crate::world::happening::Happening;
use crate::world::node::{GRACE, next_status};
use crate::world::writer::Writer;

impl World {
    /// When a lease that was renewed last at `renewed` expires. In an outage of the API server, kube-controller-manager
    /// loses its own Lease: it restarts, and grants every Node the whole grace from then on.
    fn deadline(&self, renewed: Timestamp) -> Timestamp {
        renewed.max(self.disturbance.api_down) + GRACE
    }

    /// Schedules a look at the lease of a Node for the time when it expires, unless it is renewed until then.
    pub(in crate::world) fn plan_expiry(&mut self, host: u32) {
        let at = self.deadline(self.api_servers.home().node_renewed(host));
        self.queue.at_rank(at, Priority::TIMEOUT, host, Event::Expiry { host });
    }

    /// The lease of a Node may have run out.
    pub(in crate::world) fn expiry(&mut self, number: u32) {
        let kubelet = self.kubelets[number as usize];
        if kubelet.health == Health::Unknown {
            return self.queue.discount();
        }
        let renewed = self.renewed(number);
        let deadline = self.deadline(renewed);
        if deadline <= self.queue.now() {
            return self.judge_node(number, Health::Unknown);
        }
        self.queue.discount();
        if self.is_explicit() || !kubelet.is_steady(renewed) {
            self.queue.at_rank(deadline, Priority::TIMEOUT, number, Event::Expiry { host: number });
        }
    }

    /// Sets the true condition of a host's Node, and writes it unless a fault falsifies the condition.
    pub(in crate::world) fn judge_node(&mut self, number: u32, health: Health) {
        let before = std::mem::replace(&mut self.kubelets[number as usize].health, health);
        if before != health {
            self.node_readiness_changed(number);
        }
        if before != health && !self.disturbance.lies.contains_key(&number) {
            self.post_health(number, health);
        }
    }

    /// A fault makes the Node of a host report this condition, or keep its present one, whatever the truth is. If it
    /// reports Ready, the operator cannot know that the host is lost.
    pub(in crate::world) fn lie(&mut self, number: u32, says: Option<Health>) {
        self.note_occasion(Occasion::NodeLied);
        let Some(kubelet) = self.kubelets.get(number as usize) else { return };
        let before = self.disturbance.lies.get(&number).copied().unwrap_or(kubelet.health);
        let says = says.unwrap_or(before);
        self.disturbance.lies.insert(number, says);
        if says == Health::Healthy {
            self.happened(&Happening::HostBack(number));
        }
        if says != before {
            self.post_health(number, says);
        }
    }

    /// The Node of a host reports its true condition again.
    pub(in crate::world) fn tell_truth(&mut self, number: u32) {
        let Some(said) = self.disturbance.lies.remove(&number) else { return };
        let kubelet = self.kubelets[number as usize];
        if kubelet.is_missed {
            self.happened(&Happening::HostLost(number));
        } else {
            self.happened(&Happening::HostBack(number));
        }
        if kubelet.health != said {
            self.post_health(number, kubelet.health);
        }
    }

    /// A Node's condition is written.
    fn post_health(&mut self, number: u32, health: Health) {
        self.happened(&Happening::NodeSays(number, health));
        self.post_status(number, health);
    }

    /// The status of a Node is written although it is as ready as before.
    pub(in crate::world) fn post_condition(&mut self, number: u32) {
        let health = self.kubelets[number as usize].health;
        let health = self.disturbance.lies.get(&number).copied().unwrap_or(health);
        self.post_status(number, health);
    }

    fn post_status(&mut self, number: u32, health: Health) {
        let now = self.queue.now();
        let name = machine_name(number);
        let stored = self.api_servers.home().get(Kind::Node, &name).map(|node| node.resource());
        let before = stored.and_then(|node| if let Resource::Node(node) = node { node.status } else { None });
        let pressure = self.kubelets[number as usize].has_pressure;
        let status = Status::Node(next_status(before, (health, pressure), now));
        let result = self.api_servers.home_mut().update_status(
            (Kind::Node, &name),
            Preconditions::default(),
            now,
            status,
        );
        if let Ok(written) = result {
            self.committed(&written, Writer::Other);
        }
    }
}
