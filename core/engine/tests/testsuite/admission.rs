//! Admission: for any fleet, any limits and any order of outcomes, the budget holds, a version that never works harms
//! few machines, and every machine is served in the end.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::fixture::{DNS, Fixture, WEB, is_change, want, web};
use proptest::prelude::*;
use seaworthy_engine::{Aim, Origin, RankKey, targets};
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::detail::FleetDetail;
use seaworthy_model::effect::{Action, Effect, Fence, Target};
use seaworthy_model::event::Outcome;
use seaworthy_model::host_order::HostCommand;
use seaworthy_model::id::{MachineId, Uid, VersionId};
use seaworthy_model::machine::{ConditionKind, Reason, Want};
use seaworthy_model::package_version::FleetReason;
use seaworthy_model::quantity::CountOrPercent;
use seaworthy_model::report::{Blocker, Subject};

fn fleet_on_web_1(machines: u32, limits: (CountOrPercent, CountOrPercent)) -> Fixture {
    let mut fixture = Fixture::new(machines);
    fixture.store.edit_fleet(|spec| {
        spec.components = vec![want(WEB, web(1))];
        (spec.max_unavailable, spec.max_failures) = limits;
    });
    fixture.pass(Duration::from_secs(3600));
    assert!(fixture.web().iter().all(|version| *version == Some(1)), "{:?}", fixture.web());
    fixture
}

/// The machines on whose hosts a change is ordered and not executed.
fn at_work(fixture: &Fixture) -> BTreeSet<MachineId> {
    let orders = fixture.pending.iter().filter_map(|action| match (&action.effect, action.target) {
        (Effect::Host(order), Target::Host(id)) if matches!(order.command, HostCommand::Apply(_)) => Some(id),
        _ => None,
    });
    orders.collect()
}

fn host_of(action: &Action) -> Option<MachineId> {
    if let Target::Host(id) = action.target { Some(id) } else { None }
}

/// Whether the host has seen a newer operator, so that it refuses this order whenever it comes.
fn is_fenced_off(fixture: &Fixture, action: &Action) -> bool {
    let (Some(id), Fence::Host(fence)) = (host_of(action), action.fence) else { return false };
    fixture.hosts[&id.0].facts.epoch > fence.epoch
}

fn limit() -> impl Strategy<Value = CountOrPercent> {
    prop_oneof![(1u32..9).prop_map(CountOrPercent::Count), (0u8..60).prop_map(CountOrPercent::Percent)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn never_more_at_work_than_slots(
        machines in 1u32..40,
        limits in (limit(), limit()),
        choices in prop::collection::vec(any::<u16>(), 400),
    ) {
        let mut fixture = fleet_on_web_1(machines, limits);
        fixture.store.defaults(vec![want(WEB, web(2))]);
        fixture.deliver();
        let slots = limits.0.of(machines) as usize;
        for choice in choices {
            let _ = fixture.turn();
            prop_assert!(at_work(&fixture).len() <= slots);
            fixture.execute_one(choice.into());
        }
        fixture.pass(Duration::from_secs(3600));
        prop_assert!(fixture.web().iter().all(|version| *version == Some(2)), "{:?}", fixture.web());
    }

    /// An order of a crashed operator goes on unnoticed until the host has seen its successor. It counts.
    #[test]
    fn never_more_at_work_than_slots_whoever_crashes(
        machines in 1u32..20,
        limits in (limit(), limit()),
        choices in prop::collection::vec(any::<u16>(), 300),
    ) {
        let mut fixture = fleet_on_web_1(machines, limits);
        fixture.store.defaults(vec![want(WEB, web(2))]);
        fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(3))].into());
        fixture.deliver();
        let slots = limits.0.of(machines) as usize;
        let mut adrift: Vec<Action> = Vec::new();
        for choice in choices {
            match choice % 16 {
                0 => {
                    adrift.extend(fixture.pending.drain(..).filter(is_change));
                    fixture.restart();
                }
                1 => fixture.host(u32::from(choice / 16) % machines).drift(WEB),
                2..5 if !adrift.is_empty() => {
                    let action = adrift.remove(usize::from(choice / 16) % adrift.len());
                    let _unheard = fixture.outcome(&action);
                }
                _ => {
                    let _ = fixture.turn();
                    adrift.retain(|action| !is_fenced_off(&fixture, action));
                    let mut busy = at_work(&fixture);
                    busy.extend(adrift.iter().filter_map(host_of));
                    prop_assert!(busy.len() <= slots, "{busy:?} at work, {slots} slots");
                    fixture.execute_one((choice / 16).into());
                }
            }
        }
        fixture.pass(Duration::from_secs(3600));
        prop_assert!(fixture.web()[1..].iter().all(|version| *version == Some(2)), "{:?}", fixture.web());
        prop_assert_eq!(fixture.web()[0], Some(3));
    }

    #[test]
    fn a_version_that_never_works_harms_at_most_max_failures(
        machines in 1u32..40,
        limits in (limit(), limit()),
        choices in prop::collection::vec(any::<u16>(), 300),
    ) {
        let mut fixture = fleet_on_web_1(machines, limits);
        for host in fixture.hosts.values_mut() {
            host.broken = vec![web(2)];
        }
        fixture.store.defaults(vec![want(WEB, web(2))]);
        fixture.deliver();
        let mut harmed = BTreeSet::new();
        for choice in choices {
            let _ = fixture.turn();
            harmed.extend(at_work(&fixture));
            fixture.execute_one(choice.into());
        }
        fixture.pass(Duration::from_secs(3600));
        let allowed = limits.1.of(machines) as usize;
        prop_assert!(harmed.len() <= allowed, "{} harmed, {} allowed", harmed.len(), allowed);
        prop_assert!(!harmed.is_empty());
        prop_assert!(fixture.web().iter().all(|version| *version == Some(1)));
    }

    /// The answer does not depend on which machines joined or left before: a rank depends on the machine and the
    /// rollout alone.
    #[test]
    fn a_pin_wins_and_a_threshold_admits_by_rank_alone(
        machines in 2u32..30,
        below in any::<u32>(),
        pinned in 0u32..30,
        gone in 0u32..30,
    ) {
        let mut fixture = fleet_on_web_1(machines, (CountOrPercent::Percent(50), CountOrPercent::Percent(50)));
        let pinned = pinned % machines;
        fixture.store.edit_machine(pinned, |spec| spec.pins = [want(WEB, web(3))].into());
        fixture.store.edit_fleet(|spec| spec.components = vec![want(WEB, web(2))]);
        fixture.deliver();
        // The record of a new rollout, and nothing executed after it.
        let _ = fixture.turn();
        fixture.execute();
        fixture.pending.clear();
        let fleet = fixture.store.fleet.as_mut().unwrap();
        fleet.status.rollouts[0].admitted_below = below;
        fixture.store.revision += 1;
        fleet.meta.resource_version = fixture.store.revision;
        let generation = fleet.status.rollouts[0].generation;
        let key = RankKey::new(fleet.meta.uid, generation, "web");
        fixture.deliver();
        if gone % machines != pinned {
            fixture.store.machines.remove(&(gone % machines));
            fixture.see(seaworthy_model::event::Observation::Machine(MachineId(gone % machines), None));
        }
        let uids: Vec<(u32, Uid)> = fixture.store.machines.iter().map(|(id, o)| (*id, o.meta.uid)).collect();
        let world = fixture.engine.world();
        for (id, uid) in uids {
            let mut targets = targets(world, world.machine(MachineId(id)));
            let aimed = targets.find(|target| target.component == WEB).map(|target| (target.origin, target.aim));
            let version = |version| Want::Present { version: web(version), parameters: Default::default() };
            let (third, second) = (version(3), version(2));
            let expected = if id == pinned {
                (Origin::Pin, Aim::Set(&third))
            } else if key.rank(uid) < below {
                (Origin::Rollout(0), Aim::Set(&second))
            } else {
                (Origin::Rollout(0), Aim::Keep)
            };
            prop_assert_eq!(aimed, Some(expected));
        }
    }
}

/// A host that was lost in an operation may have been harmed by it: no other machine takes its place, under any leader.
#[test]
fn a_host_that_is_lost_in_an_operation_counts_for_a_new_operator_as_well() {
    const HOUR: Duration = Duration::from_secs(3600);
    let no_connection = Outcome::Retryable(Cause::new(CauseKind::ConnectionFailed, "it is down"));
    for is_told_before in [true, false] {
        let mut fixture = fleet_on_web_1(4, (CountOrPercent::Count(4), CountOrPercent::Count(1)));
        fixture.store.defaults(vec![want(WEB, web(2))]);
        fixture.deliver();
        let lost = (0..20).find_map(|_| {
            let _ = fixture.turn();
            let lost = at_work(&fixture).first().copied();
            if lost.is_none() {
                fixture.execute();
            }
            lost
        });
        let lost = lost.expect("somebody is admitted");
        let mut outcomes = vec![no_connection.clone(); 400];
        outcomes.push(Outcome::Unknown);
        fixture.scripted.insert(lost.0, outcomes);
        for _ in 0..2 {
            if is_told_before {
                fixture.pass(HOUR);
            }
            fixture.restart();
        }
        fixture.pass(HOUR);
        assert_eq!(fixture.web(), [Some(1); 4], "{is_told_before}");
        let object = &fixture.store.machines[&lost.0];
        let told = object.status.condition(ConditionKind::InSync).map(|in_sync| in_sync.reason);
        assert_eq!(told, Some(Reason::OperationLost));
        let fleet = &fixture.store.fleet.as_ref().unwrap().status.conditions[0];
        assert_eq!(fleet.reason, FleetReason::TooManyLost);
        let detail = FleetDetail::Lost { lost: 1, failed: 0, limit: 1 };
        assert_eq!(fleet.detail, Some(detail), "{is_told_before}");
        fixture.scripted.clear();
        fixture.pass(2 * HOUR);
        assert_eq!(fixture.web(), [Some(2); 4], "{is_told_before}");
        let object = &fixture.store.machines[&lost.0];
        let told = object.status.condition(ConditionKind::InSync).map(|in_sync| in_sync.reason);
        assert_eq!(told, Some(Reason::AsDesired));
    }
}

/// With spare slots no machine waits for a slot: `maxFailures` alone limits how many are at work.
#[test]
fn the_limit_that_leaves_no_room_is_the_one_that_is_told() {
    let limits = (CountOrPercent::Count(5), CountOrPercent::Count(1));
    let mut fixture = fleet_on_web_1(10, limits);
    fixture.store.defaults(vec![want(WEB, web(2))]);
    fixture.deliver();
    while at_work(&fixture).is_empty() {
        let _ = fixture.turn();
        if at_work(&fixture).is_empty() {
            fixture.execute();
        }
    }
    fixture.deliver();
    let _ = fixture.turn();
    assert_eq!(at_work(&fixture).len(), 1);
    let told = fixture.engine.world().blocker(Subject::PackageVersion);
    assert_eq!(told, Some(Blocker::MaxFailures { at_work: 1, limit: 1 }));
}

/// A record that changes with every batch must not requeue the whole fleet each time.
#[test]
fn a_rollout_looks_only_at_machines_that_it_concerns() {
    const MACHINES: u32 = 200;
    let limits = (CountOrPercent::Count(50), CountOrPercent::Count(50));
    let mut fixture = fleet_on_web_1(MACHINES, limits);
    let looked_at = |fixture: &mut Fixture, turns: usize| -> u32 {
        (0..turns)
            .map(|_| {
                let turn = fixture.turn();
                fixture.execute_or_wait(&turn);
                turn.report.reconciled
            })
            .sum()
    };
    fixture.store.defaults(vec![want(WEB, web(2))]);
    fixture.deliver();
    // The rollout begins, and no machine is admitted yet: the edit of the spec, the write of the record, and its echo.
    let begun = looked_at(&mut fixture, 2);
    assert!(begun < 20, "{begun} subjects were looked at for a record that asks nothing of anybody");
    let mut whole = 0;
    for _ in 0..400 {
        if fixture.web().iter().all(|version| *version == Some(2)) {
            break;
        }
        whole += looked_at(&mut fixture, 1);
    }
    assert!(fixture.web().iter().all(|version| *version == Some(2)), "{:?}", fixture.web());
    let each = whole / MACHINES;
    assert!(each <= 4, "{each} looks for one upgrade: order, report, record, echo");
}

/// A machine that cannot be worked on is admitted with the others and takes no slot. Once nothing blocks it any more,
/// it gets one like any other.
#[test]
fn who_was_blocked_trusts_a_release_no_more_than_others() {
    let limits = (CountOrPercent::Percent(100), CountOrPercent::Count(1));
    let mut fixture = fleet_on_web_1(3, limits);
    for id in 1..3 {
        fixture.store.edit_machine(id, |spec| spec.pins = [want(DNS, VersionId(9))].into());
    }
    fixture.settle();
    fixture.store.defaults(vec![want(WEB, web(2))]);
    fixture.deliver();
    for _ in 0..100 {
        let _ = fixture.turn();
        let busy = at_work(&fixture);
        assert!(busy.len() <= 1, "{busy:?} at work on a release that nobody has tried");
        if busy.len() == fixture.pending.len() && !busy.is_empty() {
            return;
        }
        let other = fixture.pending.iter().position(|action| !is_change(action));
        if let Some(other) = other {
            fixture.execute_one(other);
        }
    }
    panic!("nobody is at work");
}
