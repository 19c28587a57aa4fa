//! Labels and taints that a Machine keeps on its Node.
//!
//! Others label and taint Nodes too. So what was set is recorded on the Node itself, in an annotation, and the record alone
//! makes something ours: what it lists is put right and taken away again, and everything else is left as it is. That is a
//! merge of three sides, as `kubectl apply` does it: what is wanted, what was set, and what is there.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

/// The annotation of a Node that records what was set on it: [`NodeAttributes`] as JSON.
pub const ATTRIBUTES_ANNOTATION: &str = "seaworthy.dev/from-machine";

/// The taint of Nodes that are next in line to be drained, with the effect `PreferNoSchedule`: pods that have to leave another
/// Node go elsewhere if they can. It has no value.
pub const NEXT_TAINT: &str = "seaworthy.dev/next";

/// Domains whose labels and taints belong to Kubernetes and to us. A key belongs to a domain if its prefix is that, or ends in
/// it after a dot.
const RESERVED: [&str; 3] = ["kubernetes.io", "k8s.io", "seaworthy.dev"];

/// The exceptions in those domains, which Kubernetes leaves to the people who run a cluster: roles of Nodes, and what
/// kubelets may not set themselves (the admission plugin `NodeRestriction`).
const OPEN: [&str; 2] = ["node-role.kubernetes.io", "node-restriction.kubernetes.io"];

/// Whether labels and taints with this key are not for a Machine to set.
#[must_use]
pub fn is_reserved(key: &str) -> bool {
    let Some((prefix, _)) = key.split_once('/') else { return false };
    let is_of = |domain: &str| {
        prefix.strip_suffix(domain).is_some_and(|before| before.is_empty() || before.ends_with('.'))
    };
    RESERVED.into_iter().any(is_of) && !OPEN.into_iter().any(is_of)
}

/// Labels and taints of a Node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeAttributes {
    /// The labels, sorted by key; no key twice.
    pub labels: Vec<Label>,
    /// The taints, sorted by key and effect; no such pair twice.
    pub taints: Vec<Taint>,
}

impl NodeAttributes {
    /// Whether there is nothing.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.taints.is_empty()
    }

    /// The value of a label.
    #[must_use]
    pub fn label(&self, key: &str) -> Option<&Arc<str>> {
        let place = self.labels.binary_search_by(|label| (*label.key).cmp(key)).ok()?;
        self.labels.get(place).map(|label| &label.value)
    }

    /// The value of a taint.
    #[must_use]
    pub fn taint(&self, key: &str, effect: TaintEffect) -> Option<&Arc<str>> {
        let found = self.taints.iter().find(|taint| *taint.key == *key && taint.effect == effect)?;
        Some(&found.value)
    }

    /// Sorts everything. Of several entries with one key the last one counts.
    pub fn sort(&mut self) {
        self.labels.reverse();
        self.labels.sort_by(|a, b| a.key.cmp(&b.key));
        self.labels.dedup_by(|later, first| later.key == first.key);
        self.taints.reverse();
        self.taints.sort_by(|a, b| (&a.key, a.effect).cmp(&(&b.key, b.effect)));
        self.taints.dedup_by(|later, first| (&later.key, later.effect) == (&first.key, first.effect));
    }
}

/// A label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// Its key.
    pub key: Arc<str>,
    /// Its value; may be empty.
    pub value: Arc<str>,
}

/// A taint. A Node may have several with one key, of different effects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taint {
    /// Its key.
    pub key: Arc<str>,
    /// Its value; may be empty.
    pub value: Arc<str>,
    /// Its effect.
    pub effect: TaintEffect,
}

/// What a taint does to pods that do not tolerate it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum TaintEffect {
    /// None is placed there.
    NoSchedule,
    /// None is placed there if there is another place.
    PreferNoSchedule,
    /// None is placed there, and those that are there have to go.
    NoExecute,
}

impl TaintEffect {
    /// Every effect.
    pub const ALL: [Self; 3] = [Self::NoSchedule, Self::PreferNoSchedule, Self::NoExecute];

    /// As Kubernetes writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoSchedule => "NoSchedule",
            Self::PreferNoSchedule => "PreferNoSchedule",
            Self::NoExecute => "NoExecute",
        }
    }

    /// The effect of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|effect| effect.name() == name)
    }
}

/// The labels and taints of a Node that a Machine may set. Of labels that the record does not list only digests are kept:
/// other people's labels on the Nodes of a large fleet would fill the cache.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Carried {
    /// Our record, and its exact text: a write names the text that it replaces. A record that cannot be read lists nothing.
    pub record: Option<(NodeAttributes, Box<str>)>,
    /// The labels of those keys that the record lists.
    pub ours: Vec<Label>,
    /// The other labels.
    pub others: Vec<LabelDigest>,
    /// The taints, each with its place among all taints of the Node.
    pub taints: Vec<(u32, Taint)>,
}

impl Carried {
    /// What is recorded as set.
    #[must_use]
    pub fn applied(&self) -> Option<&NodeAttributes> {
        self.record.as_ref().map(|(applied, _)| applied)
    }

    /// The value of a label that the record lists.
    #[must_use]
    pub fn label(&self, key: &str) -> Option<&Arc<str>> {
        self.ours.iter().find(|label| *label.key == *key).map(|label| &label.value)
    }

    /// The taint of that key and effect, with its place.
    #[must_use]
    pub fn taint(&self, key: &str, effect: TaintEffect) -> Option<(u32, &Taint)> {
        let is_it = |taint: &Taint| *taint.key == *key && taint.effect == effect;
        self.taints.iter().find(|(_, taint)| is_it(taint)).map(|(place, taint)| (*place, taint))
    }
}

/// A label as two hashes ([`word`](crate::draw::word)). If two labels collide, the worst is a conflict that is reported and
/// does not exist: a write names what it expects in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelDigest {
    /// Of its key.
    pub key: u64,
    /// Of its value.
    pub value: u64,
}

/// A change of our labels and taints on a Node. It takes effect only if all of them are still as they were seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttributesChange {
    /// It has labels.
    pub has_labels: bool,
    /// It has annotations.
    pub has_annotations: bool,
    /// It has taints.
    pub has_taints: bool,
    /// The text of the record; `None` when there is none.
    pub record: Option<Box<str>>,
    /// What is recorded from then on; the record goes if that is nothing.
    pub applied: NodeAttributes,
    /// When this was decided, in milliseconds. It is part of the record, so an operator never writes the same record twice,
    /// and a write that is delivered a second time finds another record and fails.
    pub order: u64,
    /// The labels that change.
    pub labels: Vec<LabelChange>,
    /// The taints that change, in the order of their places; added ones are last.
    pub taints: Vec<TaintChange>,
    /// Our labels or taints were changed by others; this write repairs them.
    pub is_repair: bool,
}

/// A change of a label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelChange {
    /// Its key.
    pub key: Arc<str>,
    /// The value that it has; `None` when there is no such label.
    pub from: Option<Arc<str>>,
    /// The value that it gets; `None` when it goes.
    pub to: Option<Arc<str>>,
}

/// A change of a taint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaintChange {
    /// Its key.
    pub key: Arc<str>,
    /// Its effect.
    pub effect: TaintEffect,
    /// The place and the value that it has; `None` when there is no such taint.
    pub from: Option<(u32, Arc<str>)>,
    /// The value that it gets; `None` when it goes.
    pub to: Option<Arc<str>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_kubernetes_and_to_us_is_reserved() {
        for key in [
            "kubernetes.io/hostname",
            "topology.kubernetes.io/zone",
            "node.kubernetes.io/unreachable",
            "k8s.io/x",
            "cluster.x-k8s.io.k8s.io/y",
            "seaworthy.dev/drain",
            "a.seaworthy.dev/b",
        ] {
            assert!(is_reserved(key), "{key}");
        }
        for key in [
            "pool",
            "kubernetes.io",
            "example.com/pool",
            "mykubernetes.io/pool",
            "node-role.kubernetes.io/worker",
            "node-restriction.kubernetes.io/tenant",
            "acme.node-restriction.kubernetes.io/tenant",
            "node.cluster.x-k8s.io/pool",
        ] {
            assert!(!is_reserved(key), "{key}");
        }
    }

    #[test]
    fn of_two_with_one_key_the_last_counts() {
        let label = |key: &str, value: &str| Label { key: key.into(), value: value.into() };
        let taint = |key: &str, value: &str, effect| Taint { key: key.into(), value: value.into(), effect };
        let (schedule, execute) = (TaintEffect::NoSchedule, TaintEffect::NoExecute);
        let mut attributes = NodeAttributes {
            labels: [label("b", "1"), label("a", "2"), label("b", "3")].into(),
            taints: [taint("x", "1", execute), taint("x", "2", schedule), taint("x", "3", execute)].into(),
        };
        attributes.sort();
        assert_eq!(attributes.labels, [label("a", "2"), label("b", "3")]);
        assert_eq!(attributes.taints, [taint("x", "2", schedule), taint("x", "3", execute)]);
        assert_eq!(attributes.label("b").map(|value| &**value), Some("3"));
        assert_eq!(attributes.taint("x", execute).map(|value| &**value), Some("3"));
    }
}
