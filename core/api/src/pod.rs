//! Pods as JSON, with the fields that a drain reads: a list may be long, so nothing else is kept.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use seaworthy_model::id::Uid;
use seaworthy_model::pod::{PodFacts, PodName, PodOwner};
use serde::{Deserialize, Serialize};

use crate::scalar::{Scalar, Time};

/// The annotation by which a kubelet marks the mirror of a static pod.
const MIRROR_ANNOTATION: &str = "kubernetes.io/config.mirror";

/// One page of the pods of a Node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PodList {
    /// How to go on.
    pub metadata: ListMetadata,
    /// The pods.
    pub items: Vec<Pod>,
}

/// The metadata of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ListMetadata {
    /// What names the next page; empty on the last one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub r#continue: String,
}

/// A pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pod {
    /// Which pod, and whose.
    pub metadata: PodMetadata,
    /// What it consists of.
    pub spec: PodSpec,
    /// How it is.
    pub status: PodStatus,
}

/// The metadata of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodMetadata {
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// Its uid.
    pub uid: Scalar<Uid>,
    /// When it is to be gone at the latest, once it is being deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_timestamp: Option<Time>,
    /// How long its deletion may take, since it was asked for.
    pub deletion_grace_period_seconds: u64,
    /// Annotations.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// Whose it is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owner_references: Vec<OwnerReference>,
}

/// An owner of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OwnerReference {
    /// Its kind.
    pub kind: String,
    /// Whether it is the controller: it creates a replacement for the pod.
    pub controller: bool,
}

/// The spec of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PodSpec {
    /// Its volumes.
    pub volumes: Vec<Volume>,
}

/// A volume of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Volume {
    /// A directory that lives as long as the pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub empty_dir: Option<EmptyDir>,
}

/// The volume's settings do not matter here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmptyDir {}

/// The status of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PodStatus {
    /// `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`.
    pub phase: String,
}

impl Pod {
    /// What a drain has to know of it; `None` when it has no uid that can be read, which no API server sends.
    #[must_use]
    pub fn facts(&self) -> Option<PodFacts> {
        let Self { metadata, spec, status } = self;
        let grace = Duration::from_secs(metadata.deletion_grace_period_seconds);
        let controller = metadata.owner_references.iter().find(|owner| owner.controller);
        Some(PodFacts {
            pod: PodName {
                namespace: Arc::clone(&metadata.namespace),
                name: Arc::clone(&metadata.name),
                uid: metadata.uid.get()?,
            },
            owner: match controller {
                None => PodOwner::Nobody,
                Some(owner) if owner.kind == "DaemonSet" => PodOwner::DaemonSet,
                Some(_) => PodOwner::Controller,
            },
            is_mirror: metadata.annotations.contains_key(MIRROR_ANNOTATION),
            is_finished: matches!(&*status.phase, "Succeeded" | "Failed"),
            has_local_storage: spec.volumes.iter().any(|volume| volume.empty_dir.is_some()),
            leaving: metadata.deletion_timestamp.is_some().then_some(grace),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_read_for_what_a_drain_has_to_know() {
        let json = r#"{
            "metadata": {
                "namespace": "shop", "name": "cart-7", "uid": "0f3c1d2e-4b5a-6978-8796-a5b4c3d2e1f0",
                "annotations": {"kubernetes.io/config.mirror": "x"}, "labels": {"app": "cart"},
                "deletionTimestamp": "2026-11-20T08:10:00Z", "deletionGracePeriodSeconds": 45,
                "ownerReferences": [{"kind": "Node", "name": "a"}, {"kind": "DaemonSet", "controller": true}]
            },
            "spec": {"volumes": [{"name": "a", "configMap": {}}, {"name": "b", "emptyDir": {"medium": "Memory"}}]},
            "status": {"phase": "Succeeded", "podIP": "10.0.0.1"}
        }"#;
        let facts = serde_json::from_str::<Pod>(json).unwrap().facts().unwrap();
        assert_eq!(facts.pod.to_string(), "shop/cart-7");
        assert_eq!(facts.owner, PodOwner::DaemonSet);
        assert!(facts.is_mirror && facts.is_finished && facts.has_local_storage);
        assert_eq!(facts.leaving, Some(Duration::from_secs(45)));

        let bare = r#"{"metadata": {"name": "a", "uid": "0f3c1d2e-4b5a-6978-8796-a5b4c3d2e1f0"}}"#;
        let facts = serde_json::from_str::<Pod>(bare).unwrap().facts().unwrap();
        assert_eq!((facts.owner, facts.leaving), (PodOwner::Nobody, None));
        assert!(!facts.is_mirror && !facts.is_finished && !facts.has_local_storage);
        assert_eq!(Pod::default().facts(), None);
    }
}
