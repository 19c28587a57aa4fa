//! Machines that are being deleted.

use std::time::Duration;

use crate::fixture::{Fixture, WEB, is_change, want, web};
use seaworthy_model::detail::Detail;
use seaworthy_model::effect::{Effect, Target};
use seaworthy_model::event::Event;
use seaworthy_model::id::MachineId;
use seaworthy_model::machine::{ConditionKind, Reason};
use seaworthy_model::report::{Blocker, Subject};

/// A machine that is deleted while others take all slots reports what it waits for, once.
#[test]
fn a_machine_that_is_deleted_and_waits_for_a_slot_says_so() {
    let mut fixture = Fixture::new(2);
    fixture.store.defaults(vec![want(WEB, web(1))]);
    fixture.deliver();
    fixture.pass(Duration::from_secs(3600));
    fixture.store.defaults(vec![want(WEB, web(2))]);
    fixture.deliver();
    let order = loop {
        let _ = fixture.turn();
        if let Some(index) = fixture.pending.iter().position(is_change) {
            break fixture.pending.remove(index);
        }
        fixture.execute();
    };
    let Target::Host(busy) = order.target else { panic!("{order:?}") };
    let leaving = MachineId(1 - busy.0);
    fixture.store.delete_machine(leaving.0);
    fixture.deliver();
    let mut writes = 0;
    for _ in 0..10 {
        let turn = fixture.turn();
        let is_status = |effect: &Effect| matches!(effect, Effect::WriteMachineStatus(_));
        writes += turn.actions.iter().filter(|action| is_status(&action.effect)).count();
        fixture.execute();
    }
    assert_eq!(writes, 1);
    let status = &fixture.store.machines[&leaving.0].status;
    let told = status.condition(ConditionKind::InSync).unwrap();
    assert_eq!(told.reason, Reason::Terminating);
    assert_eq!(told.detail.as_deref(), Some(&Detail::AwaitsSlot));
    let waits = fixture.engine.world().blocker(Subject::Machine(leaving));
    assert_eq!(waits, Some(Blocker::MaxUnavailable { occupied: 1, limit: 1 }));
    let outcome = fixture.outcome(&order);
    fixture.engine.observe(Event::Finished { action: order.id, outcome });
    fixture.deliver();
    fixture.pass(Duration::from_secs(60));
    assert!(!fixture.store.machines.contains_key(&leaving.0));
    assert!(fixture.hosts[&leaving.0].facts.components.is_empty());
    assert_eq!(fixture.hosts[&busy.0].version(WEB), Some(web(2)));
}

/// A deleted machine that must not be touched reports why it stays, once.
#[test]
fn a_machine_that_is_deleted_while_the_fleet_or_itself_is_paused_says_so() {
    let fleet = |fixture: &mut Fixture, paused| fixture.store.edit_fleet(|spec| spec.paused = paused);
    let itself = |fixture: &mut Fixture, paused| fixture.store.edit_machine(0, |spec| spec.paused = paused);
    type Pause<'a> = (&'a dyn Fn(&mut Fixture, bool), bool);
    let pauses: [Pause<'_>; 3] = [(&fleet, false), (&itself, false), (&itself, true)];
    for (pause, is_released) in pauses {
        let mut fixture = Fixture::new(1);
        fixture.store.defaults(vec![want(WEB, web(1))]);
        fixture.deliver();
        fixture.pass(Duration::from_secs(3600));
        pause(&mut fixture, true);
        fixture.deliver();
        fixture.pass(Duration::from_secs(60));
        fixture.store.delete_machine(0);
        if is_released {
            fixture.store.release_host(0);
        }
        fixture.deliver();
        let mut writes = 0;
        for _ in 0..10 {
            let turn = fixture.turn();
            let is_status = |effect: &Effect| matches!(effect, Effect::WriteMachineStatus(_));
            writes += turn.actions.iter().filter(|action| is_status(&action.effect)).count();
            fixture.execute();
        }
        assert_eq!(writes, 1);
        let told = fixture.store.machines[&0].status.condition(ConditionKind::InSync).unwrap();
        assert_eq!(told.reason, Reason::Paused);
        let waits = fixture.engine.world().blocker(Subject::Machine(MachineId(0)));
        assert_eq!(waits, Some(Blocker::Paused));
        assert_eq!(fixture.host(0).version(WEB), Some(web(1)));
        pause(&mut fixture, false);
        fixture.deliver();
        fixture.pass(Duration::from_secs(600));
        assert!(!fixture.store.machines.contains_key(&0));
    }
}

/// A machine is deleted right after its kubelet was installed, and no watch has shown its Node yet. It may run pods.
#[test]
fn the_node_of_a_machine_that_leaves_is_waited_for() {
    let mut fixture = Fixture::with_pods(1, 2);
    let node = fixture.cluster.nodes.remove(&0);
    fixture.restart();
    fixture.pass(Duration::from_secs(5));
    fixture.store.delete_machine(0);
    fixture.deliver();
    fixture.pass(Duration::from_secs(20));
    assert_eq!(fixture.web(), [Some(1)]);
    let told = fixture.engine.world().blocker(Subject::Machine(MachineId(0)));
    assert!(matches!(told, Some(Blocker::AwaitingNode { .. })), "{told:?}");
    fixture.cluster.nodes.extend(node.map(|node| (0, node)));
    fixture.cluster.tell(0);
    fixture.deliver();
    fixture.pass(Duration::from_secs(600));
    assert_eq!(fixture.cluster.evicted.len(), 2, "its pods are evicted");
    assert!(!fixture.store.machines.contains_key(&0));
}
