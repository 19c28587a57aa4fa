//! Requests about a Node and its pods. A Node has many writers, so a patch tests just those fields that it touches: it is
//! a JSON patch with `test` operations, of which one that does not hold is answered
//! with 422.

use seaworthy_model::attributes::AttributesChange;
use seaworthy_model::id::Uid;
use seaworthy_model::lease::Epoch;
use seaworthy_model::node::{DRAIN_ANNOTATION, DRAIN_TAINT, Mark, NodeCordon, NodeShape, NodeUncordon};
use seaworthy_model::pod::PodName;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::attributes;
use crate::scalar::{Scalar, Time};

/// A change of what is ours on a Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePatch {
    /// The name of the Node.
    pub name: String,
    /// Its uid: another Node of the same name is not meant.
    pub uid: Uid,
    /// What changes.
    pub change: NodeChange,
}

/// What changes on a Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeChange {
    /// Cordon: it becomes unschedulable, and gets our taint and mark.
    Cordon(NodeCordon),
    /// Uncordon: it loses our taint and mark, and becomes schedulable unless it was unschedulable before our mark.
    Uncordon(NodeUncordon),
    /// Labels and taints change.
    Attributes(AttributesChange),
}

/// The end of a Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeDeletion {
    /// The name of the Node.
    pub name: String,
    /// Its uid.
    pub uid: Uid,
}

/// A list of the pods of a Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodQuery {
    /// The name of the Node.
    pub node: String,
}

/// The eviction of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodEviction {
    /// The name of its Node.
    pub node: String,
    /// The pod.
    pub pod: PodName,
}

/// The deletion of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodDeletion {
    /// The name of its Node.
    pub node: String,
    /// The pod.
    pub pod: PodName,
}

/// So many pods are asked for at once. A Node rarely has more than 110.
pub const PODS_PER_PAGE: u32 = 500;

impl PodQuery {
    /// The path of one page. `token` is the API server's own, made of characters that need no escape; empty for the first.
    #[must_use]
    pub fn path(&self, token: &str) -> String {
        let mut path =
            format!("/api/v1/pods?fieldSelector=spec.nodeName%3D{}&limit={PODS_PER_PAGE}", self.node);
        if !token.is_empty() {
            path.push_str("&continue=");
            path.push_str(token);
        }
        path
    }
}

impl PodEviction {
    /// The path of the subresource.
    pub(super) fn path(&self) -> String {
        format!("/api/v1/namespaces/{}/pods/{}/eviction", self.pod.namespace, self.pod.name)
    }

    pub(super) fn body(&self) -> Value {
        let PodName { namespace, name, uid } = &self.pod;
        json!({
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": { "namespace": namespace, "name": name },
            "deleteOptions": { "preconditions": { "uid": uid.to_string() } },
        })
    }
}

impl PodDeletion {
    /// The path of the pod.
    pub(super) fn path(&self) -> String {
        format!("/api/v1/namespaces/{}/pods/{}", self.pod.namespace, self.pod.name)
    }
}

/// The body of a deletion that is meant for this incarnation only.
pub(super) fn delete_options(uid: Uid) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": { "uid": uid.to_string() },
    })
}

/// Our annotation in a JSON pointer.
const POINTER: &str = "/metadata/annotations/seaworthy.dev~1drain";

impl NodePatch {
    pub(super) fn body(&self) -> Value {
        let uid = Scalar::from(self.uid);
        let mut operations = vec![json!({ "op": "test", "path": "/metadata/uid", "value": uid })];
        match &self.change {
            NodeChange::Cordon(NodeCordon { shape, mark }) => cordon(shape, mark, &mut operations),
            NodeChange::Uncordon(uncordon) => lift(uncordon, &mut operations),
            NodeChange::Attributes(change) => attributes::change(change, &mut operations),
        }
        Value::Array(operations)
    }
}

fn cordon(shape: &NodeShape, mark: &Mark, operations: &mut Vec<Value>) {
    if shape.unschedulable {
        operations.push(json!({ "op": "test", "path": "/spec/unschedulable", "value": true }));
    } else {
        // A field that is absent equals null.
        operations.push(json!({ "op": "test", "path": "/spec/unschedulable", "value": null }));
        operations.push(json!({ "op": "add", "path": "/spec/unschedulable", "value": true }));
    }
    let taint = json!({ "key": DRAIN_TAINT, "effect": "NoSchedule" });
    if let Some(place) = shape.taint {
        operations.push(test_taint(place));
    } else if shape.has_taints {
        operations.push(json!({ "op": "add", "path": "/spec/taints/-", "value": taint }));
    } else {
        operations.push(json!({ "op": "test", "path": "/spec/taints", "value": null }));
        operations.push(json!({ "op": "add", "path": "/spec/taints", "value": [taint] }));
    }
    let mark = mark_text(mark);
    if shape.has_annotations {
        operations.push(json!({ "op": "test", "path": POINTER, "value": shape.mark }));
        operations.push(json!({ "op": "add", "path": POINTER, "value": mark }));
    } else {
        operations.push(json!({ "op": "test", "path": "/metadata/annotations", "value": null }));
        let annotations = json!({ DRAIN_ANNOTATION: mark });
        operations.push(json!({ "op": "add", "path": "/metadata/annotations", "value": annotations }));
    }
}

fn lift(uncordon: &NodeUncordon, operations: &mut Vec<Value>) {
    let shape = &uncordon.shape;
    if let Some(place) = shape.taint {
        operations.push(test_taint(place));
        operations.push(json!({ "op": "remove", "path": format!("/spec/taints/{place}") }));
    }
    if uncordon.makes_schedulable() {
        operations.push(json!({ "op": "test", "path": "/spec/unschedulable", "value": true }));
        operations.push(json!({ "op": "remove", "path": "/spec/unschedulable" }));
    }
    if let Some(mark) = &shape.mark {
        operations.push(json!({ "op": "test", "path": POINTER, "value": mark }));
        operations.push(json!({ "op": "remove", "path": POINTER }));
    }
}

fn test_taint(place: u32) -> Value {
    json!({ "op": "test", "path": format!("/spec/taints/{place}/key"), "value": DRAIN_TAINT })
}

/// A mark as people see it.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct MarkText {
    machine: Scalar<Uid>,
    generation: u64,
    epoch: u32,
    order: u64,
    since: Time,
    found_unschedulable: Option<bool>,
    reason: Box<str>,
}

/// The text of our annotation.
#[must_use]
pub fn mark_text(mark: &Mark) -> String {
    let text = MarkText {
        machine: mark.machine.into(),
        generation: mark.generation,
        epoch: mark.epoch.0,
        order: mark.order,
        since: mark.since.into(),
        found_unschedulable: Some(mark.found_unschedulable),
        reason: mark.reason.clone(),
    };
    json!(text).to_string()
}

/// The mark in the text of our annotation. A mark that was made unreadable belongs to nobody and leaves its Node
/// unschedulable: a person may have cordoned it.
#[must_use]
pub fn read_mark(text: &str) -> Mark {
    let read: MarkText = serde_json::from_str(text).unwrap_or_default();
    Mark {
        machine: read.machine.get().unwrap_or_default(),
        generation: read.generation,
        epoch: Epoch(read.epoch),
        order: read.order,
        since: read.since.get().unwrap_or_default(),
        found_unschedulable: read.found_unschedulable.unwrap_or(true),
        reason: read.reason,
    }
}

#[cfg(test)]
mod tests {
    use seaworthy_model::time::Timestamp;

    use super::*;

    #[test]
    fn a_mark_comes_back_and_nonsense_is_of_nobody() {
        let mark = Mark {
            machine: Uid(7),
            generation: 3,
            epoch: Epoch(4),
            order: 77,
            since: Timestamp::from_millis(1_795_162_200_000),
            found_unschedulable: false,
            reason: "kubelet-1.36.3".into(),
        };
        assert_eq!(read_mark(&mark_text(&mark)), mark);
        for text in ["", "{}", "mine", r#"{"machine": 7}"#] {
            let read = read_mark(text);
            assert_eq!((read.machine, read.found_unschedulable), (Uid(0), true), "{text}");
        }
    }
}
