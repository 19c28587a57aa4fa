//! The Node of a host, and the condition that it reports.

use std::sync::Arc;
use std::time::Duration;

use seaworthy_api::object::{Metadata, Node, NodeCondition, NodeStatus, Resource};
use seaworthy_kernel::Timestamp;
use seaworthy_model::id::Kind;
use seaworthy_model::node::Health;

/// A Node whose lease was not renewed for so long is `Unknown`: kube-controller-manager's
/// `--node-monitor-grace-period`, before Kubernetes 1.32. That it looks every 5 seconds only is left out.
pub const GRACE: Duration = Duration::from_secs(40);

/// A Node that reports this condition since then.
pub(in crate::world) fn new_node(name: Arc<str>, health: Health, now: Timestamp) -> Resource {
    Resource::Node(Box::new(Node {
        api_version: "v1".into(),
        kind: Kind::Node.name().into(),
        metadata: Metadata::named(name),
        status: Some(status(health, now)),
        ..Node::default()
    }))
}

/// The status of a Node that reports this condition since then.
fn status(health: Health, now: Timestamp) -> NodeStatus {
    NodeStatus { conditions: vec![condition("Ready", word_of(health), now)], node_info: None }
}

/// The status that follows: whether the Node is ready, and whether its disk is full. What stays keeps its time.
pub(in crate::world) fn next_status(
    before: Option<NodeStatus>,
    (health, has_pressure): (Health, bool),
    now: Timestamp,
) -> NodeStatus {
    let before = before.map(|status| status.conditions).unwrap_or_default();
    let next = |name: &'static str, word: &'static str| {
        let same = before.iter().find(|known| known.r#type == name && known.status == word);
        same.cloned().unwrap_or_else(|| condition(name, word, now))
    };
    let pressure = has_pressure.then(|| next(DISK_PRESSURE, "True"));
    let conditions = [next("Ready", word_of(health))].into_iter().chain(pressure).collect();
    NodeStatus { conditions, node_info: None }
}

/// The condition of a Node whose disk is full. The model leaves it out of the status while there is room.
const DISK_PRESSURE: &str = "DiskPressure";

const fn word_of(health: Health) -> &'static str {
    match health {
        Health::Healthy => "True",
        Health::Unhealthy => "False",
        Health::Unknown => "Unknown",
    }
}

fn condition(name: &'static str, word: &'static str, now: Timestamp) -> NodeCondition {
    NodeCondition {
        r#type: name.into(),
        status: word.into(),
        last_transition_time: Some(now.whole_seconds().into()),
    }
}
