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

/// The Node that a host has at the beginning.
pub(in crate::world) fn healthy_node(name: Arc<str>, now: Timestamp) -> Resource {
    Resource::Node(Box::new(Node {
        api_version: "v1".into(),
        kind: Kind::Node.name().into(),
        metadata: Metadata::named(name),
        status: Some(status(Health::Healthy, now)),
        ..Node::default()
    }))
}

/// The status of a Node that reports this condition since then.
pub(in crate::world) fn status(health: Health, now: Timestamp) -> NodeStatus {
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
    NodeStatus { conditions: vec![condition], node_info: None }
}
