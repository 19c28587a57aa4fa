//! Components that depend on each other: what comes first, what waits, and for what.

use std::sync::Arc;
use std::time::Duration;

use crate::fixture::{DNS, Fixture, WEB, absent, is_change, picture, want, web};
use proptest::prelude::*;
use seaworthy_model::component::ReleaseId;
use seaworthy_model::detail::{Dependency, DependencyState, Detail};
use seaworthy_model::digest::Digest;
use seaworthy_model::effect::Effect;
use seaworthy_model::host::Change;
use seaworthy_model::host_order::HostCommand;
use seaworthy_model::id::{ComponentId, MachineId, VersionId};
use seaworthy_model::machine::{ConditionKind, Reason};
use seaworthy_model::quantity::CountOrPercent;
use seaworthy_model::report::{Blocker, Subject};

const fn dns(version: u32) -> VersionId {
    VersionId(version + 2)
}

/// Lets a version depend on a component.
fn depends(fixture: &mut Fixture, version: VersionId, on: ComponentId) {
    let object = fixture.store.versions.get_mut(&version.0).unwrap();
    Arc::make_mut(object.spec.as_mut().unwrap()).depends_on.push(on);
}

/// A machine on which every version of `web` depends on `dns`, which has the higher id.
fn web_on_dns() -> Fixture {
    let mut fixture = Fixture::new(1);
    (1..=3).for_each(|version| depends(&mut fixture, web(version), DNS));
    fixture
}

/// What is ordered to change on hosts until nothing more is, in this order.
fn changes(fixture: &mut Fixture) -> Vec<String> {
    let mut changes = Vec::new();
    fixture.deliver();
    for _ in 0..100 {
        let turn = fixture.turn();
        let ordered = turn.actions.iter().filter(|action| is_change(action)).map(|action| {
            let Effect::Host(order) = &action.effect else { panic!("{action:?}") };
            let HostCommand::Apply(operation) = &order.command else { panic!("{order:?}") };
            match &operation.change {
                Change::Install(release) => release.recipe.version.clone(),
                Change::Remove => format!("no {}", if operation.component == WEB { "web" } else { "dns" }),
            }
        });
        changes.extend(ordered);
        if fixture.pending.is_empty() && turn.wake.is_none_or(|wake| wake.at > fixture.now) {
            return changes;
        }
        fixture.execute();
    }
    panic!("it does not settle: {changes:?}");
}

fn waits_for(fixture: &Fixture) -> Option<Blocker> {
    fixture.engine.world().blocker(Subject::Machine(MachineId(0)))
}

/// The reason and the detail of the condition `InSync`.
fn told(fixture: &Fixture) -> (Reason, Option<Detail>) {
    let status = &fixture.store.machines[&0].status;
    let condition = status.condition(ConditionKind::InSync).unwrap();
    (condition.reason, condition.detail.as_deref().cloned())
}

fn dependency(component: &str, other: &str, state: DependencyState) -> (Reason, Option<Detail>) {
    let dependency = Dependency { component: component.into(), other: other.into(), state };
    (Reason::Dependency, Some(Detail::Dependency(dependency)))
}

#[test]
fn what_is_needed_comes_first_and_goes_last() {
    let mut fixture = web_on_dns();
    fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(1)), want(DNS, dns(1))].into());
    assert_eq!(changes(&mut fixture), ["dns-1", "web-1"]);
    fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(2)), want(DNS, dns(2))].into());
    assert_eq!(changes(&mut fixture), ["dns-2", "web-2"]);
    fixture.store.edit_machine(0, |spec| spec.pins = [absent(DNS), absent(WEB)].into());
    assert_eq!(changes(&mut fixture), ["no web", "no dns"]);
    fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(1)), want(DNS, dns(1))].into());
    changes(&mut fixture);
    fixture.store.delete_machine(0);
    assert_eq!(changes(&mut fixture), ["no web", "no dns"], "the last one is not always the first to go");
}

#[test]
fn what_is_needed_is_repaired_first() {
    let mut fixture = web_on_dns();
    fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(1)), want(DNS, dns(1))].into());
    changes(&mut fixture);
    fixture.host(0).drift(DNS);
    fixture.pass(Duration::from_secs(1));
    fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(2)), want(DNS, dns(1))].into());
    fixture.deliver();
    fixture.pass(Duration::from_secs(7200));
    assert_eq!(fixture.web(), [Some(2)]);
    assert!(fixture.host(0).facts.components.iter().all(|installed| installed.drift.is_none()));
}

/// What is needed is damaged, in a release that nobody can repair, and it waits for its turn: nothing is installed on top.
#[test]
fn what_is_needed_and_damaged_is_waited_for() {
    let mut fixture = Fixture::new(2);
    (1..=3).for_each(|version| depends(&mut fixture, web(version), DNS));
    fixture.store.defaults(vec![want(DNS, dns(1)), want(WEB, web(1))]);
    fixture.store.edit_fleet(|spec| spec.max_unavailable = CountOrPercent::Count(2));
    fixture.pass(Duration::from_secs(3600));
    for host in fixture.hosts.values_mut() {
        host.broken = vec![dns(2)];
    }
    fixture.store.defaults(vec![want(DNS, dns(2)), want(WEB, web(1))]);
    fixture.pass(Duration::from_secs(3600));
    let world = fixture.engine.world();
    let other = (0..2).find(|id| !world.machine(MachineId(*id)).has_failed()).unwrap();
    let host = fixture.host(other);
    let before = host.changes;
    host.drift(DNS);
    host.drift(WEB);
    let dns = host.facts.components.iter_mut().find(|found| found.component == DNS).unwrap();
    dns.release = ReleaseId(Digest::of(b"unknown"));
    fixture.pass(Duration::from_secs(3 * 24 * 3600));
    assert_eq!(fixture.host(other).changes, before);
}

#[test]
fn what_nobody_wants_is_waited_for_by_name() {
    let mut fixture = web_on_dns();
    fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(1))].into());
    assert_eq!(changes(&mut fixture), [""; 0]);
    assert_eq!(waits_for(&fixture), Some(Blocker::Dependency { component: DNS }));
    assert_eq!(told(&fixture), dependency("web", "dns", DependencyState::Unwanted));
    // The fleet may bring it as well as the machine.
    fixture.store.defaults(vec![want(DNS, dns(1))]);
    fixture.deliver();
    fixture.pass(Duration::from_secs(300));
    assert_eq!((fixture.web(), fixture.host(0).version(DNS)), (vec![Some(1)], Some(dns(1))));
}

#[test]
fn what_failed_holds_up_what_needs_it_and_nothing_else() {
    let mut fixture = web_on_dns();
    fixture.host(0).broken = vec![dns(2)];
    fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(1)), want(DNS, dns(1))].into());
    changes(&mut fixture);
    fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(2)), want(DNS, dns(2))].into());
    assert_eq!(changes(&mut fixture), ["dns-2"]);
    assert!(matches!(waits_for(&fixture), Some(Blocker::ReleaseFailed { .. })), "the cause is told first");
    assert_eq!(fixture.web(), [Some(1)]);
    fixture.host(0).broken.clear();
    fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(2)), want(DNS, dns(1))].into());
    assert_eq!(changes(&mut fixture), ["web-2"]);
}

#[test]
fn what_is_needed_is_not_removed() {
    let mut fixture = web_on_dns();
    fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(1)), want(DNS, dns(1))].into());
    changes(&mut fixture);
    fixture.store.edit_machine(0, |spec| spec.pins = [absent(DNS), want(WEB, web(1))].into());
    assert_eq!(changes(&mut fixture), [""; 0]);
    assert_eq!(waits_for(&fixture), Some(Blocker::Dependency { component: WEB }));
    assert_eq!(told(&fixture), dependency("dns", "web", DependencyState::Depending));
}

#[test]
fn a_circle_is_named() {
    let mut fixture = web_on_dns();
    depends(&mut fixture, dns(1), WEB);
    fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(1)), want(DNS, dns(1))].into());
    assert_eq!(changes(&mut fixture), [""; 0]);
    assert_eq!(waits_for(&fixture), Some(Blocker::DependencyCycle { component: WEB }));
    let circle = Detail::Cycle(["web".into(), "dns".into(), "web".into()].into());
    assert_eq!(told(&fixture), (Reason::DependencyCycle, Some(circle)));
    // A machine that is already in a cycle gets out of it.
    let mut fixture = web_on_dns();
    fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(1)), want(DNS, dns(2))].into());
    changes(&mut fixture);
    depends(&mut fixture, dns(1), WEB);
    fixture.restart();
    fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(1)), want(DNS, dns(1))].into());
    assert_eq!(changes(&mut fixture), ["dns-1"]);
    fixture.store.delete_machine(0);
    assert_eq!(changes(&mut fixture), ["no dns", "no web"]);
}

/// A fleet gets both components, for either order in the spec, and no machine holds a slot that it cannot use.
#[test]
fn a_fleet_gets_there_in_either_order() {
    for reversed in [false, true] {
        let mut fixture = Fixture::new(4);
        (1..=3).for_each(|version| depends(&mut fixture, web(version), DNS));
        for (new_web, new_dns) in [(web(1), dns(1)), (web(2), dns(2)), (web(3), dns(1))] {
            let mut settings = vec![want(DNS, new_dns), want(WEB, new_web)];
            if reversed {
                settings.reverse();
            }
            fixture.store.defaults(settings);
            fixture.deliver();
            fixture.pass(Duration::from_secs(3600));
            let there = fixture.hosts.values().map(|host| (host.version(WEB), host.version(DNS)));
            assert_eq!(
                there.collect::<Vec<_>>(),
                [(Some(new_web), Some(new_dns)); 4],
                "reversed: {reversed}"
            );
        }
    }
}

/// What may be wanted, and what may happen.
#[derive(Clone, Debug)]
enum Wish {
    Web(Option<u32>),
    Dns(Option<u32>),
    Drift(bool),
    Break(u32),
    Crash,
    Time(u64),
}

fn wish() -> impl Strategy<Value = Wish> {
    prop_oneof![
        3 => prop::option::of(1u32..4).prop_map(Wish::Web),
        3 => prop::option::of(1u32..3).prop_map(Wish::Dns),
        1 => any::<bool>().prop_map(Wish::Drift),
        1 => (1u32..3).prop_map(Wish::Break),
        1 => Just(Wish::Crash),
        3 => (1u64..200).prop_map(Wish::Time),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// For any wanted state, `web` is never on the host without `dns`, and what is possible is installed in the end.
    /// The checks after each turn also judge every order.
    #[test]
    fn never_without_what_it_needs(wishes in prop::collection::vec(wish(), 1..20)) {
        let mut fixture = web_on_dns();
        let (mut wanted_web, mut wanted_dns) = (None, None);
        for wish in wishes {
            match wish {
                Wish::Web(version) => wanted_web = version,
                Wish::Dns(version) => wanted_dns = version,
                Wish::Drift(of_web) => fixture.host(0).drift(if of_web { WEB } else { DNS }),
                Wish::Break(version) => fixture.host(0).broken = vec![dns(version)],
                Wish::Crash => fixture.restart(),
                Wish::Time(seconds) => fixture.pass(Duration::from_secs(seconds)),
            }
            let pins = vec![
                wanted_web.map_or(absent(WEB), |version| want(WEB, web(version))),
                wanted_dns.map_or(absent(DNS), |version| want(DNS, dns(version))),
            ];
            fixture.store.edit_machine(0, |spec| spec.pins = pins.into());
            fixture.deliver();
            for _ in 0..3 {
                let turn = fixture.turn();
                fixture.execute();
                let host = fixture.host(0);
                let (web, dns) = (host.version(WEB), host.version(DNS));
                prop_assert!(web.is_none() || dns.is_some(), "{}", picture(&turn));
            }
        }
        fixture.host(0).broken.clear();
        // A new generation: failed releases may be retried.
        fixture.store.edit_machine(0, |_| {});
        fixture.deliver();
        fixture.pass(Duration::from_secs(2 * 3600));
        let host = fixture.host(0);
        let there = (host.version(WEB).map(|version| version.0 + 1), host.version(DNS).map(|version| version.0 - 2));
        match (wanted_web, wanted_dns) {
            // What is needed is neither removed nor missed.
            (Some(_), None) => prop_assert!(there.0.is_none() || there.1.is_some()),
            wanted => prop_assert_eq!(there, wanted),
        }
    }
}
