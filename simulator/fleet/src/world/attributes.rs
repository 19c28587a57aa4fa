//! Labels and taints of Nodes: what users and operators write, and how it is judged.

use std::borrow::Cow;

use seaworthy_api::object::{Node, Resource, Taint};
use seaworthy_model::id::Kind;

use super::World;
use super::api_server::{Preconditions, Written};
use super::happening::Happening;
use super::writer::Writer;
use crate::vocabulary::{Occasion, Relabel, machine_name};

/// The effect of the taints that users set.
const EFFECT: &str = "NoSchedule";

impl World {
    /// `kubectl label` and `kubectl taint`: values by key; `None` removes the label or the taint.
    pub(crate) fn people_relabel(&mut self, number: u32, change: &Relabel) {
        let (name, now) = (machine_name(number), self.now());
        let written = self.api.update((Kind::Node, &name), Preconditions::default(), now, |object| {
            let Resource::Node(node) = object else { return };
            for (key, value) in &change.labels {
                match value {
                    Some(value) => node.metadata.labels.insert(key.clone(), value.clone()),
                    None => node.metadata.labels.remove(key),
                };
            }
            for (key, value) in &change.taints {
                taint(node, key, value.as_deref());
            }
        });
        let Ok(written) = written else { return };
        if written.committed {
            self.note_occasion(Occasion::NodeRelabelled);
            self.committed(&written, Writer::Other);
        }
    }

    /// Whether a Node has this label, and no operator has set it.
    pub(crate) fn is_others_label(&self, number: u32, key: &str, value: &str) -> bool {
        let node = self.node_of(number);
        node.is_some_and(|node| node.metadata.labels.get(key).is_some_and(|it| it == value))
            && !self.marks.is_put(number, &format!("label {key}"))
    }

    /// Whether a Node has this taint, and no operator has set it.
    pub(crate) fn is_others_taint(&self, number: u32, key: &str, value: &str) -> bool {
        let node = self.node_of(number);
        let is_it = |taint: &Taint| taint.key == key && taint.value == value && taint.effect == EFFECT;
        node.is_some_and(|node| node.spec.taints.iter().any(is_it))
            && !self.marks.is_put(number, &format!("taint {key}:{EFFECT}"))
    }

    /// Whether another writer gave labels or taints of a Node other values than its Machine asks for.
    pub(crate) fn has_attribute_conflict(&self, number: u32) -> bool {
        let spec = self.machine_stored(number).and_then(|machine| machine.machine_spec());
        let (Some(spec), Some(node)) = (spec, self.node_of(number)) else { return false };
        self.marks.has_conflict(number, spec, &node)
    }

    /// The labels and taints that differ from what a Machine asks for.
    pub(crate) fn attribute_strays(&self, number: u32) -> Vec<String> {
        let spec = self.machine_stored(number).and_then(|machine| machine.machine_spec());
        let (Some(spec), Some(node)) = (spec, self.node_of(number)) else { return Vec::new() };
        self.marks.strays(number, spec, &node)
    }

    fn node_of(&self, number: u32) -> Option<Box<Node>> {
        let node = self.api.get(Kind::Node, &machine_name(number))?.resource();
        if let Resource::Node(node) = node { Some(node) } else { None }
    }

    /// Judges the labels and taints in a write of a Node.
    pub(super) fn note_attributes(&mut self, written: &Written, writer: Writer) {
        let before = written.before.as_ref();
        if !written.removed && before.is_some_and(|before| before.is_marked_as(&written.object)) {
            return;
        }
        let Some(host) = self.host_named(written.object.name()) else { return };
        let seen = self.marks.written(host, written, writer == Writer::Operator);
        if seen.repaired {
            self.note_occasion(Occasion::NodeAttributesRepaired);
        }
        if seen.set {
            self.note_occasion(Occasion::NodeAttributesSet);
        }
        if let Some(wrong) = seen.wrong {
            self.happened(&Happening::AttributeTaken(host, wrong));
        }
    }
}

fn taint(node: &mut Node, key: &str, value: Option<&str>) {
    node.spec.taints.retain(|taint| taint.key != key || taint.effect != EFFECT);
    if let Some(value) = value {
        let (key, value) = (Cow::Owned(key.to_owned()), Cow::Owned(value.to_owned()));
        node.spec.taints.push(Taint { key, value, effect: EFFECT.into(), time_added: None });
    }
}
