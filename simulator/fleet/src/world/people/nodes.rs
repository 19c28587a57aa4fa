//! Users cordon Nodes, and label and taint them.

use std::borrow::Cow;

use seaworthy_api::object::{Node, Resource, Taint};
use seaworthy_model::id::Kind;

use crate::vocabulary::{Occasion, Relabel, machine_name};
use crate::world::World;
use crate::world::api_server::Preconditions;
use crate::world::node::EFFECT;
use crate::world::writer::Writer;

impl World {
    /// `kubectl cordon` and `kubectl uncordon`: they change one field, if that is needed.
    pub(crate) fn people_cordon(&mut self, number: u32, unschedulable: bool) {
        let (name, now) = (machine_name(number), self.queue.now());
        let written = self.api_servers.home_mut().update(
            (Kind::Node, &name),
            Preconditions::default(),
            now,
            |object| {
                if let Resource::Node(node) = object {
                    node.spec.unschedulable = unschedulable;
                }
            },
        );
        let Ok(written) = written else { return };
        if written.committed {
            self.note_occasion(Occasion::NodeCordonedByPeople);
            self.people_cordons(number, unschedulable);
            self.committed(&written, Writer::Other);
        }
    }

    /// Records whether users have cordoned a Node.
    fn people_cordons(&mut self, number: u32, unschedulable: bool) {
        if unschedulable {
            self.cordoned_by_people.insert(number);
        } else {
            self.cordoned_by_people.remove(&number);
        }
    }

    /// `kubectl label` and `kubectl taint`: values by key; `None` removes the label or the taint.
    pub(crate) fn people_relabel(&mut self, number: u32, change: &Relabel) {
        let (name, now) = (machine_name(number), self.now());
        let written = self.api_servers.home_mut().update(
            (Kind::Node, &name),
            Preconditions::default(),
            now,
            |object| {
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
            },
        );
        let Ok(written) = written else { return };
        if written.committed {
            self.note_occasion(Occasion::NodeRelabelled);
            self.committed(&written, Writer::Other);
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
