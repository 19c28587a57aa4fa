//! Labels and taints of a Node: those that a Machine wants there, and those that are there.

use std::sync::Arc;

use seaworthy_model::attributes::{
    ATTRIBUTES_ANNOTATION, Carried, Label, LabelDigest, NEXT_TAINT, NodeAttributes, Taint, TaintEffect,
    is_reserved,
};
use seaworthy_model::draw::word;
use seaworthy_model::node::DRAIN_TAINT;

use super::faults::{Faults, Field};
use super::text;
use crate::object::Node;
use crate::request::read_record;
use crate::v1alpha1;

/// Reads what a Machine wants on its Node; `None` when that is nothing.
pub(super) fn wanted(
    root: Field<'_>,
    spec: &v1alpha1::MachineSpec,
    faults: &mut Faults,
) -> Option<Box<NodeAttributes>> {
    if spec.node_labels.is_empty() && spec.node_taints.is_empty() {
        return None;
    }
    let labels = root.name("nodeLabels");
    faults.at_most(labels, spec.node_labels.len(), 64);
    for (key, value) in &spec.node_labels {
        check_key(labels.key(key), key, faults);
        faults.require(labels.key(key), is_value(value), text::LABEL_VALUE);
    }
    let list = root.name("nodeTaints");
    faults.at_most(list, spec.node_taints.len(), 16);
    let name = |taint: &v1alpha1::NodeTaint| format!("{}:{}", taint.key, taint.effect);
    let names: Vec<String> = spec.node_taints.iter().map(name).collect();
    faults.unique(list, "", names.iter().map(AsRef::as_ref));
    let taints = spec.node_taints.iter().enumerate();
    let taints = taints.filter_map(|(index, taint)| {
        let field = list.index(index);
        check_key(field.name("key"), &taint.key, faults);
        faults.require(field.name("value"), is_value(&taint.value), text::LABEL_VALUE);
        let effect = TaintEffect::named(&taint.effect);
        if effect.is_none() {
            faults.add(field.name("effect"), "must be NoSchedule, PreferNoSchedule or NoExecute");
        }
        Some(Taint { key: Arc::clone(&taint.key), value: Arc::clone(&taint.value), effect: effect? })
    });
    let mut wanted = NodeAttributes { labels: Vec::new(), taints: taints.collect() };
    let label = |(key, value): (&Arc<str>, &Arc<str>)| Label { key: key.clone(), value: value.clone() };
    wanted.labels = spec.node_labels.iter().map(label).collect();
    wanted.sort();
    Some(Box::new(wanted))
}

fn check_key(field: Field<'_>, key: &str, faults: &mut Faults) {
    faults.require(field, text::is_label_key(key), text::LABEL_KEY);
    faults.require(field, !is_reserved(key), text::RESERVED_KEY);
}

fn is_value(value: &str) -> bool {
    value.is_empty() || text::is_label_value(value)
}

/// What a Node carries that a Machine may set, if it carries anything of that.
pub(super) fn carried(object: &Node) -> Option<Box<Carried>> {
    let (metadata, taints) = (&object.metadata, &object.spec.taints);
    if metadata.annotations.is_empty() && metadata.labels.is_empty() && taints.is_empty() {
        return None;
    }
    let record = metadata.annotations.get(ATTRIBUTES_ANNOTATION);
    let record = record.map(|text| (read_record(text), text.as_str().into()));
    let mut carried = Carried { record, ..Carried::default() };
    for (key, value) in metadata.labels.iter().filter(|(key, _)| !is_reserved(key)) {
        if carried.applied().is_some_and(|applied| applied.label(key).is_some()) {
            carried.ours.push(Label { key: key.as_str().into(), value: value.as_str().into() });
        } else {
            carried.others.push(LabelDigest { key: word(key), value: word(value) });
        }
    }
    for (place, taint) in (0..).zip(taints) {
        let Some(effect) = TaintEffect::named(&taint.effect) else { continue };
        let is_others = is_reserved(&taint.key) && taint.key != NEXT_TAINT;
        if is_others || taint.key == DRAIN_TAINT {
            continue;
        }
        let (key, value) = (Arc::from(&*taint.key), Arc::from(&*taint.value));
        carried.taints.push((place, Taint { key, value, effect }));
    }
    (carried != Carried::default()).then(|| Box::new(carried))
}
