//! The changes of the labels and taints of a Node: a three-way merge of what is wanted, what we set, and what is there.
//!
//! | wanted | set by us | there | becomes |
//! |---|---|---|---|
//! | yes | no | nothing | it is set, and ours from then on |
//! | yes | no | the same | left: another agent owns it and wants the same |
//! | yes | no | something else | a conflict: left, and reported |
//! | yes | yes | the same | left |
//! | yes | yes | anything else | it is set |
//! | no | yes | what we set | removed |
//! | no | yes | anything else | left: another agent owns it by now |

use alloc::boxed::Box;
use alloc::sync::Arc;

use seaworthy_model::attributes::{
    AttributesChange, Carried, Label, LabelChange, NEXT_TAINT, NodeAttributes, Taint, TaintChange,
    TaintEffect,
};
use seaworthy_model::detail::Detail;
use seaworthy_model::draw::word;
use seaworthy_model::id::MachineId;
use seaworthy_model::node::NodeState;

use crate::rows::machine::Machine;
use crate::world::World;

/// The needed change, and the first conflict.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// The write, if one is needed.
    pub(crate) change: Option<Box<AttributesChange>>,
    /// The first key that another agent has set to a different value.
    pub(crate) conflict: Option<(u64, Detail)>,
}

/// The decision about one label or taint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// Nothing changes.
    Left { is_ours: bool },
    /// It gets the wanted value.
    Set { is_repair: bool },
    /// It is removed.
    Taken,
    /// Another agent has set a different value.
    Conflict,
}

/// What is there, compared with what is wanted and what we set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct There {
    is_any: bool,
    is_wanted: bool,
    is_as_set: bool,
}

const fn fate(is_wanted: bool, is_set: bool, there: There) -> Fate {
    match (is_wanted, is_set) {
        (true, false) if !there.is_any => Fate::Set { is_repair: false },
        (true, false) if there.is_wanted => Fate::Left { is_ours: false },
        (true, false) => Fate::Conflict,
        (true, true) if there.is_wanted => Fate::Left { is_ours: true },
        (true, true) => Fate::Set { is_repair: !there.is_as_set },
        (false, true) if there.is_as_set => Fate::Taken,
        (false, _) => Fate::Left { is_ours: false },
    }
}

/// The plan for the labels and taints of a machine's Node; `None` if none are wanted and none are ours.
pub(crate) fn attributes_plan(world: &World, machine: &Machine) -> Option<Plan> {
    plan_with(world, machine, world.is_next(machine))
}

/// The same, as far as people are told of it: whether its Node is next in line tells nothing of the machine.
pub(crate) fn plan_to_tell(world: &World, machine: &Machine) -> Option<Plan> {
    let applied = machine.node.as_ref()?.carried.as_ref().and_then(|carried| carried.applied());
    let is_marked = applied.is_some_and(|it| it.taint(NEXT_TAINT, TaintEffect::PreferNoSchedule).is_some());
    plan_with(world, machine, is_marked)
}

fn plan_with(world: &World, machine: &Machine, is_next: bool) -> Option<Plan> {
    let node = machine.node.as_ref()?;
    let wanted = machine.spec()?.node.as_deref();
    let is_recorded = node.carried.as_ref().is_some_and(|carried| carried.record.is_some());
    if is_next {
        return Some(plan(world, Some(&as_next(wanted)), node));
    }
    (wanted.is_some() || is_recorded).then(|| plan(world, wanted, node))
}

/// What is wanted of a Node that is next in line.
fn as_next(wanted: Option<&NodeAttributes>) -> NodeAttributes {
    let mut wanted = wanted.cloned().unwrap_or_default();
    let (key, effect) = (NEXT_TAINT.into(), TaintEffect::PreferNoSchedule);
    wanted.taints.push(Taint { key, value: "".into(), effect });
    wanted.sort();
    wanted
}

/// Whether none of our labels and taints on a machine's Node needs a repair.
pub(crate) fn is_intact(world: &World, id: MachineId) -> bool {
    let change = attributes_plan(world, world.machine(id)).and_then(|plan| plan.change);
    change.is_none_or(|change| !change.is_repair)
}

/// The plan that brings a Node to what is `wanted` there.
fn plan(world: &World, wanted: Option<&NodeAttributes>, node: &NodeState) -> Plan {
    let (nothing, bare) = (NodeAttributes::default(), Carried::default());
    let carried = node.carried.as_deref().unwrap_or(&bare);
    let mut merge = Merge {
        wanted: wanted.unwrap_or(&nothing),
        applied: carried.applied().unwrap_or(&nothing),
        carried,
        change: AttributesChange {
            has_labels: node.has_labels,
            has_annotations: node.has_annotations,
            has_taints: node.has_taints,
            record: carried.record.as_ref().map(|(_, text)| text.clone()),
            order: world.now().millis(),
            ..AttributesChange::default()
        },
        conflict: None,
    };
    merge.labels();
    merge.taints();
    let Merge { applied, mut change, conflict, .. } = merge;
    let is_news = !change.labels.is_empty() || !change.taints.is_empty() || change.applied != *applied;
    change.taints.sort_by_key(|taint| taint.from.as_ref().map_or(u32::MAX, |(place, _)| *place));
    Plan { change: is_news.then(|| Box::new(change)), conflict }
}

struct Merge<'a> {
    wanted: &'a NodeAttributes,
    applied: &'a NodeAttributes,
    carried: &'a Carried,
    change: AttributesChange,
    conflict: Option<(u64, Detail)>,
}

impl Merge<'_> {
    fn labels(&mut self) {
        let gone = self.applied.labels.iter().filter(|label| self.wanted.label(&label.key).is_none());
        for Label { key, .. } in self.wanted.labels.iter().chain(gone) {
            let (wanted, applied) = (self.wanted.label(key), self.applied.label(key));
            let ours = self.carried.label(key);
            let other = self.carried.others.iter().find(|other| other.key == word(key));
            let there = There {
                is_any: ours.is_some() || other.is_some(),
                is_wanted: match other {
                    Some(other) => wanted.is_some_and(|wanted| word(wanted) == other.value),
                    None => ours.is_some() && ours == wanted,
                },
                is_as_set: ours.is_some() && ours == applied,
            };
            let fate = fate(wanted.is_some(), applied.is_some(), there);
            if let (Fate::Set { .. } | Fate::Left { is_ours: true }, Some(value)) = (fate, wanted) {
                self.change.applied.labels.push(Label { key: Arc::clone(key), value: Arc::clone(value) });
            }
            match fate {
                Fate::Left { .. } => {}
                Fate::Set { is_repair } => {
                    self.change.is_repair |= is_repair;
                    let (from, to) = (ours.cloned(), wanted.cloned());
                    self.change.labels.push(LabelChange { key: Arc::clone(key), from, to });
                }
                Fate::Taken => {
                    self.change.labels.push(LabelChange {
                        key: Arc::clone(key),
                        from: ours.cloned(),
                        to: None,
                    });
                }
                Fate::Conflict => {
                    let label = || (word(key), Detail::ForeignLabel(Arc::clone(key)));
                    self.conflict.get_or_insert_with(label);
                }
            }
        }
    }

    fn taints(&mut self) {
        let gone =
            self.applied.taints.iter().filter(|taint| self.wanted.taint(&taint.key, taint.effect).is_none());
        for Taint { key, effect, .. } in self.wanted.taints.iter().chain(gone) {
            let (wanted, applied) = (self.wanted.taint(key, *effect), self.applied.taint(key, *effect));
            let found = self.carried.taint(key, *effect);
            let value = found.map(|(_, taint)| &taint.value);
            let there = There {
                is_any: value.is_some(),
                is_wanted: value.is_some() && value == wanted,
                is_as_set: value.is_some() && value == applied,
            };
            let fate = fate(wanted.is_some(), applied.is_some(), there);
            if let (Fate::Set { .. } | Fate::Left { is_ours: true }, Some(value)) = (fate, wanted) {
                let (key, value, effect) = (Arc::clone(key), Arc::clone(value), *effect);
                self.change.applied.taints.push(Taint { key, value, effect });
            }
            let from = found.map(|(place, taint)| (place, Arc::clone(&taint.value)));
            let change = |to| TaintChange { key: Arc::clone(key), effect: *effect, from, to };
            match fate {
                Fate::Left { .. } => {}
                Fate::Set { is_repair } => {
                    self.change.is_repair |= is_repair;
                    self.change.taints.push(change(wanted.cloned()));
                }
                Fate::Taken => self.change.taints.push(change(None)),
                Fate::Conflict => {
                    let taint = || (word(key), Detail::ForeignTaint(Arc::clone(key), *effect));
                    self.conflict.get_or_insert_with(taint);
                }
            }
        }
    }
}
