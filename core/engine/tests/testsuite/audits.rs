//! Audits: when hosts are read without a cause.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::fixture::{self, Fixture, WEB, want, web};
use seaworthy_model::cause::CauseKind;
use seaworthy_model::event::Observation;
use seaworthy_model::id::{MachineId, Uid};
use seaworthy_model::machine::{Condition, ConditionKind, Reason, Truth};
use seaworthy_model::node::{Health, NodeObject, NodeState};
use seaworthy_model::time::Timestamp;

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// Machines with healthy Nodes and a daily audit, all of them read at the start.
fn settled(machines: u32) -> Fixture {
    let mut fixture = Fixture::new(machines);
    for id in 0..machines {
        let state = NodeState::plain(Health::Healthy, fixture::START);
        let node = NodeObject { uid: Uid(7 + u128::from(id)), state };
        fixture.see(Observation::Node(MachineId(id), Some(node)));
    }
    fixture.store.edit_fleet(|spec| {
        spec.components = vec![want(WEB, web(1))];
        spec.max_unavailable = seaworthy_model::quantity::CountOrPercent::Percent(100);
        spec.max_failures = seaworthy_model::quantity::CountOrPercent::Percent(100);
        spec.audit_interval = DAY;
    });
    fixture.pass(30 * MINUTE);
    assert!(fixture.web().iter().all(|version| *version == Some(1)));
    fixture
}

fn reads(fixture: &Fixture) -> Vec<Timestamp> {
    fixture.engine.world().machines().map(|(_, machine)| machine.progress.contact.read_at).collect()
}

#[test]
fn a_shorter_interval_counts_at_once_and_not_for_all_hosts_at_the_same_moment() {
    let mut fixture = settled(10);
    fixture.pass(60 * MINUTE);
    let before = fixture.now;
    assert!(reads(&fixture).iter().all(|read| *read + 50 * MINUTE < before), "nobody was audited yet");
    fixture.store.edit_fleet(|spec| spec.audit_interval = 20 * MINUTE);
    fixture.deliver();
    fixture.pass(10 * MINUTE);
    let after = reads(&fixture);
    assert!(after.iter().all(|read| *read >= before), "{after:?} {before:?}");
    let moments: BTreeSet<Timestamp> = after.iter().copied().collect();
    assert!(moments.len() > 5, "not all at once: {moments:?}");
}

#[test]
fn hosts_without_a_node_are_audited_less_often_when_the_interval_is_longer_than_a_day() {
    let audits = |days: u32| {
        let mut fixture = Fixture::new(1);
        fixture.store.edit_fleet(|spec| spec.audit_interval = days * DAY);
        fixture.pass(30 * MINUTE);
        let mut moments = BTreeSet::new();
        for _ in 0..24 * 60 {
            fixture.pass(MINUTE);
            moments.extend(reads(&fixture));
        }
        moments.len()
    };
    let (daily, weekly) = (audits(1), audits(7));
    assert!(daily > 24 * 12, "every five minutes: {daily} in a day");
    assert!((daily / 9..=daily / 6).contains(&weekly), "every 35 minutes: {weekly} in a day");
}

#[test]
fn a_longer_interval_counts_at_once() {
    let mut fixture = settled(1);
    fixture.store.edit_fleet(|spec| spec.audit_interval = 4 * DAY);
    fixture.deliver();
    let before = reads(&fixture);
    fixture.pass(DAY);
    assert_eq!(reads(&fixture), before);
}

/// A predecessor has written that a drain did not go on, and was gone before it could write that all is well again. Its
/// successor looks at once, and not at the next audit.
#[test]
fn a_trouble_that_a_predecessor_has_told_is_looked_into_at_once() {
    for told in [Reason::Cause(CauseKind::ApiUnavailable), Reason::LastSchedulableNode, Reason::Paused] {
        let mut fixture = settled(2);
        let conditions = &mut fixture.store.machines.get_mut(&0).unwrap().status.conditions;
        let in_trouble = |condition: &Condition| match condition.kind {
            ConditionKind::InSync => {
                Condition { truth: Truth::False, reason: told, detail: None, ..condition.clone() }
            }
            ConditionKind::Ready | ConditionKind::Reachable | ConditionKind::Paused => condition.clone(),
        };
        *conditions = conditions.iter().map(in_trouble).collect();
        fixture.restart();
        fixture.settle();
        let in_sync = fixture.store.machines[&0].status.condition(ConditionKind::InSync).unwrap().reason;
        let is_read = |id| fixture.engine.world().machine(MachineId(id)).host.facts.is_some();
        let is_passing = told != Reason::Paused;
        assert_eq!((is_read(0), in_sync == Reason::AsDesired), (is_passing, is_passing), "{told:?}");
        assert!(!is_read(1), "the others are left alone");
    }
}

/// The kubelet of a lost host comes and goes. That it came is a reason to try the host again; that it went is none.
#[test]
fn a_lost_host_is_not_tried_each_time_that_its_node_gets_worse() {
    let mut fixture = settled(1);
    fixture.host(0).up = false;
    let see = |fixture: &mut Fixture, health: Health| {
        let node = NodeObject { uid: Uid(7), state: NodeState::plain(health, fixture.now) };
        fixture.see(Observation::Node(MachineId(0), Some(node)));
    };
    see(&mut fixture, Health::Unhealthy);
    fixture.pass(60 * MINUTE);
    let tries =
        |fixture: &Fixture| fixture.engine.world().machine(MachineId(0)).progress.contact.retry.failures;
    let before = tries(&fixture);
    for _ in 0..60 {
        see(&mut fixture, Health::Healthy);
        fixture.pass(MINUTE / 2);
        see(&mut fixture, Health::Unhealthy);
        fixture.pass(MINUTE / 2);
    }
    let since = tries(&fixture) - before;
    assert!((60..=64).contains(&since), "{since} tries");
}
