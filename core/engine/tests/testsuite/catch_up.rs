//! Late machines, which were admitted and could not be worked on, catch up: no faster than the others, and at no more
//! cost.

use std::time::Duration;

use crate::fixture::{Fixture, START, WEB, pod, want, web};
use seaworthy_model::effect::{Action, Effect, Target};
use seaworthy_model::event::Observation;
use seaworthy_model::host_order::HostCommand;
use seaworthy_model::id::{MachineId, Uid};
use seaworthy_model::node::{Health, NodeObject, NodeState};
use seaworthy_model::pod::{PodFacts, PodOwner};
use seaworthy_model::quantity::CountOrPercent;

const HOUR: Duration = Duration::from_secs(3600);

/// Many machines wait for room for one. Each success makes room for one more, and the others stay untouched meanwhile:
/// otherwise each Node would be cordoned and uncordoned as often as there are others.
#[test]
fn whoever_catches_up_is_drained_only_when_there_is_room_for_its_work() {
    const MACHINES: u32 = 40;
    for restarts in [false, true] {
        let mut fixture = Fixture::with_pods(MACHINES, 1);
        fixture.store.edit_fleet(|spec| {
            spec.max_unavailable = CountOrPercent::Count(MACHINES / 2);
            spec.max_failures = CountOrPercent::Count(1);
        });
        let bare = || PodFacts { owner: PodOwner::Nobody, ..pod("bare") };
        (0..MACHINES).for_each(|id| fixture.cluster.node(id).pods.push(bare()));
        fixture.upgrade();
        fixture.pass(2 * HOUR);
        assert_eq!(fixture.web(), vec![Some(1); MACHINES as usize]);
        fixture.store.edit_fleet(|spec| spec.drain.force = true);
        fixture.deliver();
        if restarts {
            fixture.restart();
        }
        let (cordons, lists) = pass(&mut fixture, HOUR);
        assert_eq!(fixture.web(), vec![Some(2); MACHINES as usize]);
        assert_eq!(cordons, MACHINES as usize, "one for each Node, restarts: {restarts}");
        assert!(lists <= 4 * MACHINES as usize, "{lists} lists of pods, restarts: {restarts}");
    }
}

/// A machine that is being repaired or deleted has no reservation of a rollout. Many wait for one slot; while the pods
/// of one are listed, no other lists its pods for the same slot.
#[test]
fn pods_are_listed_only_when_there_is_a_slot_for_what_follows() {
    const MACHINES: u32 = 40;
    for is_removal in [false, true] {
        let mut fixture = Fixture::with_pods(MACHINES, 1);
        fixture.limit(1);
        fixture.deliver();
        for id in 0..MACHINES {
            if is_removal {
                fixture.store.delete_machine(id);
            } else {
                fixture.host(id).drift(WEB);
            }
        }
        fixture.deliver();
        if !is_removal {
            fixture.restart();
        }
        let (cordons, lists) = pass(&mut fixture, 4 * HOUR);
        if is_removal {
            assert!(fixture.store.machines.is_empty());
        } else {
            let is_drifted =
                |id: u32| fixture.hosts[&id].facts.components.iter().any(|it| !it.drift.is_none());
            assert!(!(0..MACHINES).any(is_drifted));
        }
        assert_eq!(cordons, MACHINES as usize, "one for each Node, removal: {is_removal}");
        assert!(lists <= 4 * MACHINES as usize, "{lists} lists of pods, removal: {is_removal}");
    }
}

fn sees_node(fixture: &mut Fixture, id: u32, health: Health, since: seaworthy_model::time::Timestamp) {
    let node = NodeObject { uid: Uid(7), state: NodeState::plain(health, since) };
    fixture.see(Observation::Node(MachineId(id), Some(node)));
}

/// Machines come back one after the other, each within a second. The record of their grants is not written for each, whether
/// one of them is still at work or every one is done at once.
#[test]
fn whoever_comes_back_shares_a_wave_with_those_that_follow() {
    const MACHINES: u32 = 60;
    for (holds_one, most) in [(false, 18), (true, 4)] {
        let mut fixture = Fixture::new(MACHINES);
        fixture.limit(MACHINES);
        for id in 0..MACHINES {
            fixture.host(id).up = false;
            sees_node(&mut fixture, id, Health::Unhealthy, START);
        }
        fixture.pass(HOUR);
        fixture.store.defaults(vec![want(WEB, web(2))]);
        fixture.deliver();
        fixture.pass(HOUR);
        let is_held = |action: &Action| {
            holds_one
                && action.target == Target::Host(MachineId(0))
                && matches!(&action.effect, Effect::Host(order) if matches!(order.command, HostCommand::Apply(_)))
        };
        let mut records = 0;
        for id in 0..MACHINES {
            fixture.host(id).up = true;
            let now = fixture.now;
            sees_node(&mut fixture, id, Health::Healthy, now);
            for _ in 0..20 {
                let turn = fixture.turn();
                let is_record = |effect: &Effect| matches!(effect, Effect::WritePackageVersionStatus(_));
                records += turn.actions.iter().filter(|action| is_record(&action.effect)).count();
                let free = fixture.pending.iter().position(|action| !is_held(action));
                free.into_iter().for_each(|index| fixture.execute_one(index));
            }
            fixture.now = fixture.now + Duration::from_millis(500);
        }
        assert!((1..=most).contains(&records), "{records} records, one at work: {holds_one}");
        fixture.pass(HOUR);
        assert_eq!(fixture.web(), vec![Some(2); MACHINES as usize]);
    }
}

/// Lets time pass, and counts the cordons and the lists of pods that are ordered.
fn pass(fixture: &mut Fixture, time: Duration) -> (usize, usize) {
    let (mut cordons, mut lists) = (0, 0);
    let end = fixture.now + time;
    while fixture.now < end {
        let turn = fixture.turn();
        cordons += turn.actions.iter().filter(|it| matches!(it.effect, Effect::Cordon(_))).count();
        lists += turn.actions.iter().filter(|it| it.effect == Effect::ListPods).count();
        if fixture.pending.is_empty() {
            let wake = turn.wake.map_or(end, |wake| wake.at.min(end));
            fixture.now = wake.max(fixture.now + Duration::from_millis(1));
        }
        fixture.execute();
    }
    (cordons, lists)
}
