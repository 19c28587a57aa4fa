//! The check `drain` bites: what must not be done to a Node with pods, and which cordons are not ours to lift.

use std::sync::Arc;
use std::time::Duration;

use seaworthy_check::check;
use seaworthy_model::component::Disruption;
use seaworthy_model::effect::{Action, Effect, Fence};
use seaworthy_model::event::Observation;

use super::fixture::{Fixture, WEB, pod, want, web};
use super::{about_to_install, broken, is_install, turn_with};

/// One machine on `web-1`, which has to be drained for changes, and a Node with two pods.
fn with_pods() -> Fixture {
    let mut fixture = Fixture::new(1);
    for version in fixture.store.versions.values_mut() {
        let spec = version.spec.as_mut().expect("every version is acceptable");
        Arc::make_mut(spec).disruption = Disruption::Drain;
    }
    fixture.cluster.add(0, 0);
    fixture.restart();
    fixture.store.defaults(vec![want(WEB, web(1))]);
    fixture.deliver();
    fixture.pass(Duration::from_secs(600));
    fixture.cluster.node(0).pods = vec![pod("web-a"), pod("web-b")];
    fixture.store.defaults(vec![want(WEB, web(2))]);
    fixture.deliver();
    fixture
}

#[test]
fn drain_sees_work_that_pods_do_not_outlive() {
    let (mut fixture, turn) = about_to_install();
    fixture.cluster.add(0, 1);
    fixture.deliver();
    assert_eq!(check(fixture.engine.world(), &turn), []);
    let mut version = fixture.store.versions[&0].clone();
    Arc::make_mut(version.spec.as_mut().expect("acceptable")).disruption = Disruption::Drain;
    fixture.see(Observation::Version(web(1), Some(Box::new(version))));
    assert_eq!(broken(&fixture, turn, is_install, |_| {}), ["drain"]);
}

#[test]
fn drain_sees_evictions_of_what_is_to_stay() {
    let mut fixture = with_pods();
    let is_eviction = |action: &Action| matches!(action.effect, Effect::Evict(_));
    let turn = turn_with(&mut fixture, is_eviction);
    let another = |action: &mut Action| {
        if let Effect::Evict(pod) = &mut action.effect {
            pod.name = "of-another-node".into();
        }
    };
    assert_eq!(broken(&fixture, turn.clone(), is_eviction, another), ["drain"]);
    let unfenced = |action: &mut Action| action.fence = Fence::None;
    assert_eq!(broken(&fixture, turn, is_eviction, unfenced), ["drain"]);
}

#[test]
fn drain_sees_whose_cordon_it_is() {
    let mut fixture = with_pods();
    fixture.cluster.node(0).pods.clear();
    fixture.cluster.cordon(0);
    fixture.deliver();
    let is_cordon = |action: &Action| matches!(action.effect, Effect::Cordon(_));
    let turn = turn_with(&mut fixture, is_cordon);
    let forgets = |action: &mut Action| {
        if let Effect::Cordon(cordon) = &mut action.effect {
            cordon.mark.found_unschedulable = false;
        }
    };
    assert_eq!(broken(&fixture, turn, is_cordon, forgets), ["drain"]);
    fixture.execute();
    let is_uncordon = |action: &Action| matches!(action.effect, Effect::Uncordon(_));
    let turn = turn_with(&mut fixture, is_uncordon);
    let frees = |action: &mut Action| {
        if let Effect::Uncordon(uncordon) = &mut action.effect {
            uncordon.stays_unschedulable = false;
        }
    };
    assert_eq!(broken(&fixture, turn, is_uncordon, frees), ["drain"]);
}

#[test]
fn drain_sees_the_end_of_a_node_that_is_in_use() {
    let mut fixture = with_pods();
    let is_list = |action: &Action| action.effect == Effect::ListPods;
    let turn = turn_with(&mut fixture, is_list);
    let node = fixture.cluster.node(0).object.uid;
    let deletes = |action: &mut Action| {
        action.effect = Effect::DeleteNode;
        action.fence = Fence::Incarnation(node);
    };
    assert_eq!(broken(&fixture, turn, is_list, deletes), ["drain"]);
}
