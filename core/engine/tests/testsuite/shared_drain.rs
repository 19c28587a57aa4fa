//! One drain for all changes that are permitted on a machine: several rollouts share a Node's drain, and its unit.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::fixture::{DNS, Fixture, WEB, pod, set_of, want, web};
use seaworthy_model::component_set::SetSpec;
use seaworthy_model::effect::{Action, Target};
use seaworthy_model::id::VersionId;
use seaworthy_model::machine::ComponentSetting;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

const fn dns(version: u32) -> VersionId {
    VersionId(version + 2)
}

fn both(web_version: u32, dns_version: u32) -> Vec<ComponentSetting> {
    vec![want(WEB, web(web_version)), want(DNS, dns(dns_version))]
}

/// Machines on `web-1` and `dns-1` with pods on their Nodes. Changes of both need a drain, and so many may be unavailable.
fn fleet(machines: u32, slots: u32) -> Fixture {
    let mut fixture = Fixture::with_pods(machines, 2);
    fixture.store.defaults(both(1, 1));
    fixture.limit(machines);
    fixture.pass(HOUR);
    fixture.limit(slots);
    fixture.pass(HOUR);
    assert!(fixture.hosts.values().all(|host| host.version(DNS) == Some(dns(1))));
    fixture.cluster.cordoned.clear();
    for id in 0..machines {
        fixture.cluster.node(id).pods = vec![pod(&format!("web-{id}-0")), pod(&format!("web-{id}-1"))];
    }
    fixture
}

/// How often the Node of each machine was drained.
fn drains(fixture: &Fixture) -> Vec<u32> {
    let mut drains: BTreeMap<u32, u32> = fixture.hosts.keys().map(|id| (*id, 0)).collect();
    for id in &fixture.cluster.cordoned {
        *drains.get_mut(id).unwrap() += 1;
    }
    drains.into_values().collect()
}

fn is_on(fixture: &Fixture, web_version: u32, dns_version: u32) -> bool {
    let mut hosts = fixture.hosts.values();
    hosts.all(|host| {
        host.version(WEB) == Some(web(web_version)) && host.version(DNS) == Some(dns(dns_version))
    })
}

/// All machines follow a set for `dns`, which changes all of them at once.
fn set_of_dns(version: u32) -> SetSpec {
    set_of(&[], vec![want(DNS, dns(version))])
}

fn apply(fixture: &mut Fixture, spec: SetSpec) {
    fixture.apply_set(0, "dns", spec);
}

#[test]
fn two_components_of_one_owner_take_one_drain_for_each_machine() {
    for slots in [1, 2, 5] {
        let mut fixture = fleet(6, slots);
        fixture.store.defaults(both(2, 2));
        fixture.deliver();
        fixture.pass(HOUR);
        assert!(is_on(&fixture, 2, 2));
        assert_eq!(drains(&fixture), [1; 6], "{slots} may be unavailable");
    }
}

#[test]
fn two_owners_take_one_drain_for_each_machine() {
    for slots in [1, 2, 5] {
        let mut fixture = fleet(6, slots);
        apply(&mut fixture, set_of_dns(1));
        fixture.pass(HOUR);
        apply(&mut fixture, set_of_dns(2));
        fixture.store.defaults(both(2, 1));
        fixture.deliver();
        fixture.pass(HOUR);
        assert!(is_on(&fixture, 2, 2));
        assert_eq!(drains(&fixture), [1; 6], "{slots} may be unavailable");
    }
}

/// The pods of the first machine take their time. Meanwhile another component is to change as well.
#[test]
fn a_rollout_that_begins_during_a_drain_shares_it() {
    let mut fixture = fleet(3, 1);
    fixture.cluster.pods_linger = true;
    fixture.store.defaults(both(2, 1));
    fixture.deliver();
    fixture.pass(20 * SECOND);
    assert_eq!(fixture.cluster.cordoned.len(), 1, "its pods are leaving");
    fixture.store.defaults(both(2, 2));
    fixture.deliver();
    fixture.pass(20 * SECOND);
    fixture.cluster.pods_linger = false;
    fixture.cluster.finish();
    fixture.pass(HOUR);
    assert!(is_on(&fixture, 2, 2));
    assert_eq!(drains(&fixture), [1; 3]);
}

/// Goes on for so long, but leaves the writes of sets undone.
fn pass_without_sets(fixture: &mut Fixture, span: Duration) {
    let end = fixture.now + span;
    while fixture.now < end {
        let turn = fixture.turn();
        let is_of_set = |action: &Action| matches!(action.target, Target::Set(_));
        match fixture.pending.iter().position(|action| !is_of_set(action)) {
            Some(other) => fixture.execute_one(other),
            None => {
                let wake = turn.wake.map_or(end, |wake| wake.at.max(fixture.now + SECOND));
                fixture.now = wake.min(end);
            }
        }
    }
}

/// The set can grant the machine at once, so the Node stays drained after its first change: but not for ever.
#[test]
fn a_node_is_held_for_the_next_grant_only_for_a_moment() {
    let mut fixture = fleet(1, 1);
    apply(&mut fixture, set_of_dns(1));
    fixture.pass(HOUR);
    fixture.cluster.evictions_left = Some(0);
    fixture.upgrade();
    fixture.pass(MINUTE);
    apply(&mut fixture, set_of_dns(2));
    fixture.pass(MINUTE);
    fixture.cluster.evictions_left = None;
    for _ in 0..120 {
        if !is_on(&fixture, 1, 1) {
            break;
        }
        pass_without_sets(&mut fixture, SECOND);
    }
    assert!(is_on(&fixture, 2, 1));
    pass_without_sets(&mut fixture, 10 * SECOND);
    assert!(fixture.cluster.is_unschedulable(0), "another change can be granted at once");
    pass_without_sets(&mut fixture, 10 * SECOND);
    assert!(!fixture.cluster.is_unschedulable(0), "nobody waits for a grant that does not come");
    fixture.pass(HOUR);
    assert!(is_on(&fixture, 2, 2));
    assert_eq!(drains(&fixture), [2]);
}

/// A Node is not held for a rollout that is not going to grant its machine.
#[test]
fn a_node_is_not_held_for_a_rollout_that_stands_still() {
    let mut fixture = fleet(1, 1);
    apply(&mut fixture, SetSpec { paused: true, ..set_of_dns(1) });
    fixture.pass(HOUR);
    fixture.upgrade();
    fixture.until_at_work(1);
    apply(&mut fixture, SetSpec { paused: true, ..set_of_dns(2) });
    fixture.pass(Duration::ZERO);
    assert!(is_on(&fixture, 2, 1) && !fixture.cluster.is_unschedulable(0));
}

/// While a disruption budget lets no pod go, another rollout takes no part in the drain: it would wait as well.
#[test]
fn a_drain_that_is_held_up_is_shared_when_the_pods_have_left() {
    let mut fixture = fleet(3, 1);
    fixture.cluster.evictions_left = Some(0);
    fixture.store.defaults(both(2, 1));
    fixture.deliver();
    fixture.pass(MINUTE);
    fixture.store.defaults(both(2, 2));
    fixture.deliver();
    fixture.pass(MINUTE);
    let granted = |fixture: &Fixture| {
        let rollouts = &fixture.store.fleet.as_ref().unwrap().status.rollouts;
        let granted = rollouts.iter().map(|record| record.granted.clone().unwrap_or_default().len());
        granted.collect::<Vec<_>>()
    };
    assert_eq!(granted(&fixture), [1, 0]);
    fixture.cluster.evictions_left = None;
    fixture.pass(HOUR);
    assert!(is_on(&fixture, 2, 2));
    assert_eq!(drains(&fixture), [1; 3]);
}

/// What is drained for a repair gets its upgrade as well.
#[test]
fn a_rollout_shares_the_drain_of_a_repair() {
    let mut fixture = fleet(3, 1);
    fixture.host(0).drift(WEB);
    fixture.store.defaults(both(2, 1));
    fixture.deliver();
    fixture.pass(HOUR);
    assert!(is_on(&fixture, 2, 1));
    assert_eq!(drains(&fixture), [1; 3]);
}
