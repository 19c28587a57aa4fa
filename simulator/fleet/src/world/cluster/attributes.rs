//! Labels and taints of Nodes: who has set them, and how a write of them is judged.

use seaworthy_api::object::{Node, Resource, Taint};
use seaworthy_model::id::Kind;

use crate::vocabulary::{Occasion, machine_name};
use crate::world::World;
use crate::world::api_server::Written;
use crate::world::happening::Happening;
use crate::world::node::EFFECT;
use crate::world::writer::Writer;

impl World {
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
        let node = self.api_servers.home().get(Kind::Node, &machine_name(number))?.resource();
        if let Resource::Node(node) = node { Some(node) } else { None }
    }

    /// Judges the labels and taints in a write of a Node.
    pub(in crate::world) fn note_attributes(&mut self, written: &Written, writer: Writer) {
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
            self.happened(&Happening::AttributeTaken(host, &wrong));
        }
    }
}
