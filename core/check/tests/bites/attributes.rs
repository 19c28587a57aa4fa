//! The check `attributes` bites: what must not be done to labels and taints of a Node.

use std::time::Duration;

use seaworthy_model::attributes::{Label, LabelChange};
use seaworthy_model::effect::{Action, Effect};

use super::fixture::{Fixture, attributes};
use super::{broken, turn_with};

const MINUTE: Duration = Duration::from_secs(60);

fn is_write(action: &Action) -> bool {
    matches!(action.effect, Effect::WriteNodeAttributes(_))
}

/// One machine whose Node has a label and a taint of ours, and a label and a taint of somebody else.
fn labelled() -> Fixture {
    let mut fixture = Fixture::new(1);
    fixture.cluster.add(0, 0);
    fixture.restart();
    let theirs = attributes(&[("theirs", "x")], &[("theirs", "x")]);
    fixture.cluster.edit(0, |node| {
        node.labels = theirs.labels.iter().map(|it| (it.key.clone(), it.value.clone())).collect();
        node.taints = theirs.taints;
    });
    ask(&mut fixture, &[("ours", "1")]);
    fixture.pass(MINUTE);
    fixture
}

fn ask(fixture: &mut Fixture, labels: &[(&str, &str)]) {
    let wanted = attributes(labels, &[("ours", "1")]);
    fixture.store.edit_machine(0, |spec| spec.node = Some(Box::new(wanted)));
    fixture.deliver();
}

#[test]
fn attributes_sees_what_is_somebody_elses() {
    let mut fixture = labelled();
    ask(&mut fixture, &[("ours", "2")]);
    let turn = turn_with(&mut fixture, is_write);
    let taken = |action: &mut Action| {
        if let Effect::WriteNodeAttributes(change) = &mut action.effect {
            let (key, from) = ("theirs".into(), None);
            change.labels.push(LabelChange { key, from, to: None });
        }
    };
    assert_eq!(broken(&fixture, turn.clone(), is_write, taken), ["attributes"]);
    let claimed = |action: &mut Action| {
        if let Effect::WriteNodeAttributes(change) = &mut action.effect {
            change.applied.labels.push(Label { key: "theirs".into(), value: "x".into() });
        }
    };
    assert_eq!(broken(&fixture, turn.clone(), is_write, claimed), ["attributes"]);
    let reserved = |action: &mut Action| {
        if let Effect::WriteNodeAttributes(change) = &mut action.effect {
            change.labels[0].key = "kubernetes.io/hostname".into();
        }
    };
    let found = broken(&fixture, turn, is_write, reserved);
    assert!(!found.is_empty() && found.iter().all(|name| *name == "attributes"), "{found:?}");
}

#[test]
fn attributes_sees_what_is_not_wanted_and_what_has_changed() {
    let mut fixture = labelled();
    ask(&mut fixture, &[("ours", "2")]);
    let turn = turn_with(&mut fixture, is_write);
    let other = |action: &mut Action| {
        if let Effect::WriteNodeAttributes(change) = &mut action.effect {
            change.labels[0].to = Some("3".into());
        }
    };
    assert_eq!(broken(&fixture, turn.clone(), is_write, other), ["attributes"]);
    let unseen = |action: &mut Action| {
        if let Effect::WriteNodeAttributes(change) = &mut action.effect {
            change.record = None;
        }
    };
    assert_eq!(broken(&fixture, turn.clone(), is_write, unseen), ["attributes"]);
    fixture.store.edit_machine(0, |spec| spec.paused = true);
    fixture.deliver();
    assert_eq!(broken(&fixture, turn, is_write, |_| {}), ["attributes"]);
}
