//! What the world keeps about the Nodes of its hosts.

mod certificates;
mod harm;
mod health;
mod kubelet;
mod marks;
mod pods;
mod software;

pub(in crate::world) use certificates::{AUTHORITY, Deed, node_certificate};
pub(in crate::world) use harm::{Harm, LateHarms};
pub use health::GRACE;
pub(in crate::world) use health::{new_node, next_status};
pub(in crate::world) use kubelet::{Kubelet, PERIOD, PERIOD_MILLIS};
pub(in crate::world) use marks::Marks;
pub(crate) use pods::PODS_MAX;
pub(in crate::world) use pods::{Known, Owner, Pods};
pub(in crate::world) use software::{Fitness, NodeSoftware};

/// The effect of the taints that users set.
pub(in crate::world) const EFFECT: &str = "NoSchedule";
