//! Marks: the labels and taints that operators have put on Nodes, and which of them other writers have changed since.

use std::collections::{BTreeMap, BTreeSet};

use seaworthy_api::object::{Node, Resource};
use seaworthy_api::request::read_record;
use seaworthy_api::v1alpha1::MachineSpec;
use seaworthy_model::attributes::{ATTRIBUTES_ANNOTATION, NEXT_TAINT, is_reserved};

use crate::world::api_server::Written;

/// Labels and taints by key, such as `label a` and `taint a:NoSchedule`, with their values.
type Values = BTreeMap<String, String>;

/// What operators have put on Nodes, by host.
#[derive(Clone, Debug, Default)]
pub(in crate::world) struct Marks(BTreeMap<u32, BTreeMap<String, Put>>);

/// What an operator has put on a Node.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Put {
    value: String,
    /// Whether another writer has changed it since.
    is_touched: bool,
}

/// What a write changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::world) struct Seen {
    /// Whether an operator repaired a mark that another writer had changed.
    pub repaired: bool,
    /// Whether an operator added a mark.
    pub set: bool,
    /// The breach, if any.
    pub wrong: Option<String>,
}

impl Marks {
    /// A Node was written, by an operator or by others.
    pub(in crate::world) fn written(&mut self, host: u32, written: &Written, by_operator: bool) -> Seen {
        if written.removed {
            self.0.remove(&host);
            return Seen::default();
        }
        let before = written.before.as_ref().map(|before| before.resource());
        let before = before.as_ref().and_then(node).map(marks).unwrap_or_default();
        let object = written.object.resource();
        let Some(object) = node(&object) else { return Seen::default() };
        let after = marks(object);
        let changed: BTreeSet<&String> =
            before.keys().chain(after.keys()).filter(|key| before.get(*key) != after.get(*key)).collect();
        let put = self.0.entry(host).or_default();
        let mut seen = Seen::default();
        for key in changed {
            let (was, is) = (before.get(key), after.get(key));
            if !by_operator {
                if let Some(put) = put.get_mut(key) {
                    put.is_touched = true;
                }
                continue;
            }
            match put.get(key) {
                Some(put) => seen.repaired |= put.is_touched && is.is_some(),
                None if was.is_some() => {
                    seen.wrong = Some(format!("{key} was {was:?} by others, and an operator made it {is:?}"));
                }
                None => seen.set = true,
            }
            match is {
                Some(value) => put.insert(key.clone(), Put { value: value.clone(), is_touched: false }),
                None => put.remove(key),
            };
        }
        if by_operator {
            // A mark that another writer changed and the operator gave up belongs to that writer.
            let recorded = recorded(object);
            put.retain(|key, put| !put.is_touched || recorded.contains(key));
        }
        if put.is_empty() {
            self.0.remove(&host);
        }
        seen
    }

    /// The differences between the Node of a host and its Machine. Values that other writers set are left aside.
    pub(in crate::world) fn strays(&self, host: u32, spec: &MachineSpec, node: &Node) -> Vec<String> {
        let (wanted, there) = (wanted(spec), marks(node));
        let nothing = BTreeMap::new();
        let put = self.0.get(&host).unwrap_or(&nothing);
        let lacking = wanted.iter().filter(|(key, value)| {
            there.get(*key) != Some(value) && (put.contains_key(*key) || !there.contains_key(*key))
        });
        let lacking = lacking.map(|(key, _)| format!("{key} of its Node is not as it is wanted"));
        let left = put.iter().filter(|(key, put)| {
            !put.is_touched && !wanted.contains_key(*key) && there.get(*key) == Some(&put.value)
        });
        lacking.chain(left.map(|(key, _)| format!("{key} is still on its Node"))).collect()
    }

    /// Whether another writer set a value on the Node of a host that differs from what a Machine asks for.
    pub(in crate::world) fn has_conflict(&self, host: u32, spec: &MachineSpec, node: &Node) -> bool {
        let (wanted, there, put) = (wanted(spec), marks(node), self.0.get(&host));
        wanted.iter().any(|(key, value)| {
            there.get(key).is_some_and(|there| there != value)
                && !put.is_some_and(|put| put.contains_key(key))
        })
    }

    /// Whether an operator has put this on the Node of a host.
    pub(in crate::world) fn is_put(&self, host: u32, key: &str) -> bool {
        self.0.get(&host).is_some_and(|put| put.contains_key(key))
    }
}

fn node(object: &Resource) -> Option<&Node> {
    if let Resource::Node(node) = object { Some(node) } else { None }
}

fn marks(node: &Node) -> Values {
    let labels = node.metadata.labels.iter().filter(|(key, _)| !is_reserved(key));
    let labels = labels.map(|(key, value)| (format!("label {key}"), value.clone()));
    let is_ours = |key: &str| !is_reserved(key) || key == NEXT_TAINT;
    let taints = node.spec.taints.iter().filter(|taint| is_ours(&taint.key));
    let taints =
        taints.map(|taint| (format!("taint {}:{}", taint.key, taint.effect), taint.value.to_string()));
    labels.chain(taints).collect()
}

fn wanted(spec: &MachineSpec) -> Values {
    let labels = spec.node_labels.iter().map(|(key, value)| (format!("label {key}"), value.to_string()));
    let taints = spec.node_taints.iter();
    let taints =
        taints.map(|taint| (format!("taint {}:{}", taint.key, taint.effect), taint.value.to_string()));
    labels.chain(taints).collect()
}

fn recorded(node: &Node) -> BTreeSet<String> {
    let record = node.metadata.annotations.get(ATTRIBUTES_ANNOTATION);
    let record = record.map(|text| read_record(text)).unwrap_or_default();
    let labels = record.labels.iter().map(|label| format!("label {}", label.key));
    let taints = record.taints.iter().map(|taint| format!("taint {}:{}", taint.key, taint.effect.name()));
    labels.chain(taints).collect()
}
