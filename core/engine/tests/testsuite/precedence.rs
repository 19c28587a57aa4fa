//! Rollouts of components that depend on each other: no machine is admitted to a change that cannot start yet, and the
//! report names what stops a rollout.

use std::sync::Arc;
use std::time::Duration;

use crate::fixture::{DNS, Fixture, WEB, absent, want, web};
use seaworthy_model::config::Config;
use seaworthy_model::detail::{FleetDetail, Wait};
use seaworthy_model::effect::{Action, Effect};
use seaworthy_model::id::{ComponentId, MachineId, VersionId};
use seaworthy_model::machine::ComponentSetting;
use seaworthy_model::package_version::{FleetConditionKind, FleetReason, Rollout};
use seaworthy_model::quantity::CountOrPercent;
use seaworthy_model::report::{Blocker, Subject};
use seaworthy_model::time::Timestamp;

/// One of them at a time.
const MACHINES: u32 = 40;

const fn dns(version: u32) -> VersionId {
    VersionId(version + 2)
}

/// Lets a version depend on a component.
fn depends(fixture: &mut Fixture, version: VersionId, on: ComponentId) {
    let object = fixture.store.versions.get_mut(&version.0).unwrap();
    Arc::make_mut(object.spec.as_mut().unwrap()).depends_on.push(on);
}

/// A fleet in which every version of `web` depends on `dns`.
fn web_on_dns(machines: u32) -> Fixture {
    let mut fixture = Fixture::new(machines);
    (1..=3).for_each(|version| depends(&mut fixture, web(version), DNS));
    fixture
}

/// Whether this writes the fleet's record.
const fn is_record(action: &Action) -> bool {
    matches!(action.effect, Effect::WritePackageVersionStatus(_))
}

/// How many machines are admitted to the change of a component and have to wait for the other one.
fn ahead(fixture: &Fixture, component: ComponentId, waits: impl Fn(u32) -> bool) -> usize {
    let world = fixture.engine.world();
    let Some(index) = world.rollout_of(seaworthy_engine::Owner::Fleet, component) else { return 0 };
    let pending = world.machines().filter(|(_, machine)| machine.standing(index).is_granted());
    pending.filter(|(id, _)| waits(id.0)).count()
}

/// Rolls out, and checks after each turn which machines are admitted to `component` and wait. Returns how many writes
/// the fleet's record took.
fn roll_out(
    fixture: &mut Fixture,
    settings: Vec<ComponentSetting>,
    component: ComponentId,
    waits: impl Fn(&Fixture, u32) -> bool,
) -> usize {
    fixture.store.defaults(settings);
    fixture.deliver();
    let mut writes = 0;
    for turns in 1..4_000 {
        let turn = fixture.turn();
        writes += turn.actions.iter().filter(|action| is_record(action)).count();
        fixture.execute_or_wait(&turn);
        let ahead = ahead(fixture, component, |id| waits(fixture, id));
        assert_eq!(ahead, 0, "in turn {turns}");
        if turns % 97 == 0 {
            fixture.restart();
        }
        let rollouts = &fixture.store.fleet.as_ref().unwrap().status.rollouts;
        if rollouts.len() == 2 && rollouts.iter().all(|rollout| rollout.completed_at.is_some()) {
            return writes;
        }
    }
    panic!("it does not end: {:?}", fixture.store.fleet);
}

#[test]
fn nobody_is_admitted_ahead_of_what_it_needs() {
    let mut fixture = web_on_dns(MACHINES);
    let lacks_dns = |fixture: &Fixture, id: u32| fixture.hosts[&id].version(DNS).is_none();
    let installed = roll_out(&mut fixture, vec![want(WEB, web(1)), want(DNS, dns(1))], WEB, lacks_dns);
    assert!(fixture.hosts.values().all(|host| host.version(WEB) == Some(web(1))));
    let has_web = |fixture: &Fixture, id: u32| fixture.hosts[&id].version(WEB).is_some();
    let removed = roll_out(&mut fixture, vec![absent(DNS), absent(WEB)], DNS, has_web);
    assert!(fixture.hosts.values().all(|host| host.facts.components.is_empty()));
    // One of each batch, of which each is one machine, and of the beginning and the end.
    for writes in [installed, removed] {
        assert!(writes <= 2 * MACHINES as usize + 6, "{writes} writes");
    }
}

#[test]
fn what_is_there_already_is_not_waited_for() {
    let mut fixture = web_on_dns(3);
    fixture.store.defaults(vec![want(WEB, web(1)), want(DNS, dns(1))]);
    fixture.deliver();
    fixture.pass(Duration::from_secs(3600));
    // The new one never works: machines with the old one can go on.
    fixture.hosts.values_mut().for_each(|host| host.broken = vec![dns(2)]);
    fixture.store.defaults(vec![want(DNS, dns(2)), want(WEB, web(2))]);
    fixture.store.edit_fleet(|spec| spec.max_unavailable = CountOrPercent::Count(3));
    fixture.deliver();
    fixture.pass(Duration::from_secs(3600));
    assert_eq!(fixture.web().iter().filter(|version| **version == Some(2)).count(), 2);
}

#[test]
fn who_failed_is_not_waited_for() {
    let mut fixture = web_on_dns(6);
    fixture.store.edit_fleet(|spec| {
        (spec.max_unavailable, spec.max_failures) = (CountOrPercent::Count(3), CountOrPercent::Count(3));
    });
    fixture.host(2).broken = vec![dns(1)];
    fixture.store.defaults(vec![want(WEB, web(1)), want(DNS, dns(1))]);
    fixture.deliver();
    fixture.pass(Duration::from_secs(3600));
    let mut expected = vec![Some(1); 6];
    expected[2] = None;
    assert_eq!(fixture.web(), expected);
}

#[test]
fn what_stops_a_rollout_that_others_wait_for_is_named() {
    for reversed in [false, true] {
        let mut fixture = web_on_dns(6);
        fixture.hosts.values_mut().for_each(|host| host.broken = vec![dns(1)]);
        let mut settings = vec![want(WEB, web(1)), want(DNS, dns(1))];
        if reversed {
            settings.reverse();
        }
        fixture.store.defaults(settings);
        fixture.deliver();
        fixture.pass(Duration::from_secs(3600));
        let told = fixture.engine.world().blocker(Subject::PackageVersion);
        assert_eq!(told, Some(Blocker::TooManyFailures { failed: 1, limit: 1 }), "reversed: {reversed}");
        let status = &fixture.store.fleet.as_ref().unwrap().status;
        let told = status.conditions.iter().find(|told| told.kind == FleetConditionKind::Progressing);
        assert_eq!(told.unwrap().reason, FleetReason::TooManyFailures);
        let rollout = status.rollouts.iter().find(|rollout| rollout.component == WEB).unwrap();
        assert_eq!(rollout.admitted_below, 0);
    }
}

/// While machines are at work on the first component, a condition reports what the rest waits for.
#[test]
fn a_rollout_that_waits_for_another_says_so() {
    let mut fixture = web_on_dns(2);
    fixture.store.defaults(vec![want(DNS, dns(1)), want(WEB, web(1))]);
    fixture.store.edit_fleet(|spec| {
        (spec.max_unavailable, spec.max_failures) = (CountOrPercent::Count(2), CountOrPercent::Count(2));
    });
    fixture.deliver();
    let mut told = Vec::new();
    while fixture.web().iter().any(Option::is_none) {
        let turn = fixture.turn();
        told.extend(fixture.engine.world().blocker(Subject::PackageVersion));
        fixture.execute_or_wait(&turn);
    }
    assert!(told.contains(&Blocker::Dependency { component: DNS }), "{told:?}");
}

/// Each machine reports a cycle itself: otherwise none would ever be admitted, and nothing would show why.
#[test]
fn those_that_wait_for_each_other_are_admitted() {
    let mut fixture = web_on_dns(3);
    depends(&mut fixture, dns(1), WEB);
    fixture.store.defaults(vec![want(WEB, web(1)), want(DNS, dns(1))]);
    fixture.deliver();
    fixture.pass(Duration::from_secs(3600));
    for id in 0..3 {
        let told = fixture.engine.world().blocker(Subject::Machine(MachineId(id)));
        assert!(matches!(told, Some(Blocker::DependencyCycle { .. })), "{told:?}");
    }
    let rollouts = &fixture.store.fleet.as_ref().unwrap().status.rollouts;
    assert!(rollouts.iter().all(|rollout| rollout.admitted_below == Rollout::EVERYBODY));
}

/// Each machine reports a dependency itself if half of the fleet lacks it and no rollout brings it. A machine that
/// cannot start leaves its slot unused, and the next batch, which may do the same, follows at a bearable pace.
#[test]
fn batches_of_which_nobody_can_start_follow_each_other_at_a_pace() {
    let mut fixture = web_on_dns(MACHINES);
    for id in (0..MACHINES).step_by(2) {
        fixture.store.edit_machine(id, |spec| spec.pins = [want(DNS, dns(1))].into());
    }
    fixture.deliver();
    fixture.pass(Duration::from_secs(3600));
    fixture.store.defaults(vec![want(WEB, web(1))]);
    fixture.deliver();
    let mut written: Vec<Timestamp> = Vec::new();
    for _ in 0..2_000 {
        let turn = fixture.turn();
        if turn.actions.iter().any(is_record) {
            written.push(fixture.now);
        }
        fixture.execute_or_wait(&turn);
        let rollouts = &fixture.store.fleet.as_ref().unwrap().status.rollouts;
        if rollouts.iter().any(|rollout| rollout.completed_at.is_some()) {
            break;
        }
    }
    let is_even = |id: u32| id.is_multiple_of(2);
    assert!(fixture.hosts.iter().all(|(id, host)| host.version(WEB).is_some() == is_even(*id)));
    // Each of the others was admitted alone, and the next batch came this much later.
    let wait = Config::default().admission_wait;
    let pauses = written.windows(2).filter(|pair| pair[1].since(pair[0]) >= wait).count();
    assert!((15..=20).contains(&pauses), "{pauses} of {}", written.len());
    fixture.pass(Duration::from_secs(60));
    for id in (1..MACHINES).step_by(2) {
        let told = fixture.engine.world().blocker(Subject::Machine(MachineId(id)));
        assert_eq!(told, Some(Blocker::Dependency { component: DNS }));
    }
}

#[test]
fn the_fleet_tells_which_rollout_waits_for_which() {
    let mut fixture = web_on_dns(4);
    fixture.store.defaults(vec![want(WEB, web(1)), want(DNS, dns(1))]);
    fixture.deliver();
    let mut told = Vec::new();
    for _ in 0..4_000 {
        let turn = fixture.turn();
        fixture.execute_or_wait(&turn);
        let conditions = &fixture.store.fleet.as_ref().unwrap().status.conditions;
        let progressing = conditions.iter().find(|it| it.kind == FleetConditionKind::Progressing);
        let Some(progressing) = progressing else { continue };
        let now = (progressing.reason, progressing.detail.clone());
        if told.last() != Some(&now) {
            told.push(now);
        }
        if progressing.reason == FleetReason::AllUpdated {
            break;
        }
    }
    let wait = Wait { component: "web".into(), first: "dns".into() };
    let waits = (FleetReason::RollingOut, Some(FleetDetail::Waits([wait].into())));
    let moves = (FleetReason::RollingOut, None);
    let over = (FleetReason::AllUpdated, None);
    assert_eq!(told, [moves.clone(), waits, moves, over]);
}
