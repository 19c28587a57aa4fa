//! Kubelets and the controller that watches over their leases, folded: of ten thousand leases that are renewed every ten
//! seconds only that renewal is simulated which does not come.

use std::time::Duration;

use seaworthy_api::object::{Metadata, Node, NodeCondition, NodeStatus, Resource};
use seaworthy_kernel::{Priority, Span, Timestamp, word};
use seaworthy_model::id::Kind;
use seaworthy_model::node::Health;

use super::World;
use super::api_server::{Preconditions, Status};
use super::arrival::Writer;
use super::event::Event;
use crate::scenario::Occasion;

/// A Node whose lease was not renewed for so long is `Unknown`: kube-controller-manager's
/// `--node-monitor-grace-period`.
pub const GRACE: Duration = Duration::from_secs(40);
/// A kubelet renews its lease this often, so the last renewal before a loss is up to so long ago.
const RENEWAL: Span = Span::millis(0, 10_000);
/// Between the start of a host and a kubelet that is ready.
const STARTUP: Span = Span::millis(10_000, 40_000);

/// What is known of the Node of a host.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeLife {
    generation: u32,
    posted: Health,
}

impl NodeLife {
    pub(super) const READY: Self = Self { generation: 0, posted: Health::Healthy };
}

impl World {
    /// The Node that a host has at the beginning.
    pub(super) fn node(name: &str, now: Timestamp) -> Resource {
        Resource::Node(Box::new(Node {
            api_version: "v1".into(),
            kind: Kind::Node.name().into(),
            metadata: Metadata::named(name),
            status: Some(status(Health::Healthy, now)),
            ..Node::default()
        }))
    }

    /// A host was lost: its Node will be `Unknown` once the lease has run out.
    pub(super) fn host_lost(&mut self, number: u32) {
        self.tally.note(Occasion::HostLost);
        if !self.disturbance.lies.contains_key(&number) {
            self.oracle.host_lost(number, self.queue.now());
        }
        let generation = self.next_generation(number);
        let renewed = self.draws.within(word("renewal"), u64::from(number), u64::from(generation), RENEWAL);
        self.queue.after(
            GRACE.saturating_sub(renewed),
            Priority::WORLD,
            Event::Node { host: number, generation },
        );
    }

    /// A host is back after `delay`.
    pub(super) fn host_back(&mut self, number: u32, delay: Duration) {
        if !self.hosts[number as usize].is_reachable() {
            return;
        }
        let generation = self.next_generation(number);
        if self.nodes[number as usize].posted == Health::Healthy {
            return self.oracle.host_back(number);
        }
        let span = if delay.is_zero() { RENEWAL } else { STARTUP };
        let delay = delay + self.draws.within(word("ready"), u64::from(number), u64::from(generation), span);
        self.queue.after(delay, Priority::WORLD, Event::Node { host: number, generation });
    }

    fn next_generation(&mut self, number: u32) -> u32 {
        let node = &mut self.nodes[number as usize];
        node.generation = node.generation.wrapping_add(1);
        node.generation
    }

    /// The condition of a Node changes.
    pub(super) fn node_changes(&mut self, number: u32, generation: u32) {
        if self.nodes[number as usize].generation != generation {
            return self.queue.discount();
        }
        let reachable = self.hosts[number as usize].is_reachable();
        if reachable {
            self.oracle.host_back(number);
        }
        let truth = if reachable { Health::Healthy } else { Health::Unknown };
        self.post_health(number, self.disturbance.lies.get(&number).copied().unwrap_or(truth));
    }

    /// From now on the Node of a host says this, or what it says already, whatever the truth is. That the host is lost
    /// cannot be known then.
    pub(super) fn lie(&mut self, number: u32, says: Option<Health>) {
        let says = says.unwrap_or(self.nodes[number as usize].posted);
        self.tally.note(Occasion::NodeLied);
        self.disturbance.lies.insert(number, says);
        self.next_generation(number);
        if says == Health::Healthy {
            self.oracle.host_back(number);
        }
        self.post_health(number, says);
    }

    /// The Node of a host says the truth again.
    pub(super) fn tell_truth(&mut self, number: u32) {
        if self.disturbance.lies.remove(&number).is_none() {
            return;
        }
        self.next_generation(number);
        if self.hosts[number as usize].is_reachable() {
            self.oracle.host_back(number);
            self.post_health(number, Health::Healthy);
        } else {
            self.oracle.host_lost(number, self.queue.now());
            self.post_health(number, Health::Unknown);
        }
    }

    /// A Node's condition is written, unless it is what it was.
    fn post_health(&mut self, number: u32, health: Health) {
        self.nodes[number as usize].posted = health;
        if !self.scenario.fleet.nodes {
            return;
        }
        let now = self.queue.now();
        self.recorder.node(now, number, health);
        let name = machine_name(number);
        let status = Status::Node(status(health, now));
        let result = self.api.update_status((Kind::Node, &name), Preconditions::default(), now, status);
        if let Ok(written) = result {
            self.committed(&written, Writer::Other);
        }
    }

    /// Watches of a kind deliver nothing until then.
    pub(super) fn hold_watch(&mut self, kind: Kind, until: Timestamp) {
        let table = super::api_server::KINDS.iter().position(|of| *of == kind).unwrap_or_default();
        self.holds[table] = self.holds[table].max(until);
        self.tally.note(Occasion::WatchHeld);
    }
}

/// The name of a machine of the fleet, and of its Node.
#[must_use]
pub fn machine_name(number: u32) -> String {
    format!("m-{number:05}")
}

fn status(health: Health, now: Timestamp) -> NodeStatus {
    let word = match health {
        Health::Healthy => "True",
        Health::Unhealthy => "False",
        Health::Unknown => "Unknown",
    };
    let condition = NodeCondition {
        r#type: "Ready".into(),
        status: word.into(),
        last_transition_time: Some(now.whole_seconds().into()),
    };
    NodeStatus { conditions: vec![condition] }
}
