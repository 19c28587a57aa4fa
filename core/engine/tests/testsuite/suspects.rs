//! Two rollouts with gates have changed the same machines, and some go down: which of the two is to blame.

use std::time::Duration;

use crate::fixture::{DNS, Fixture, WEB, set_of, want, web};
use seaworthy_engine::Owner;
use seaworthy_model::certificate::NodeIdentity;
use seaworthy_model::component::VersionSpec;
use seaworthy_model::component_set::SetSpec;
use seaworthy_model::event::Observation;
use seaworthy_model::id::{ComponentId, Named, NamedId, SetId, VersionId};
use seaworthy_model::node::Health;
use seaworthy_model::package_version::PackageVersionStatus;
use seaworthy_model::quantity::CountOrPercent::Percent;
use seaworthy_model::strategy::Strategy;

const HOUR: Duration = Duration::from_secs(3600);

fn strategy(batch: u8) -> Strategy {
    let bake = HOUR * 6;
    Strategy { batches: vec![Percent(batch)], first_bake: bake, bake, ..Strategy::default() }
}

/// Sixty machines. All of them have got `web-2`, so there is none to compare them with. A quarter also has `dns-2`, by a set.
fn fleet() -> Fixture {
    let mut fixture = with_web(Duration::ZERO);
    with_dns(&mut fixture, 25);
    let both = (0..60).filter(|id| changes(&fixture, *id) == (true, true)).count();
    assert!(both == 15, "{both}");
    fixture
}

/// Sixty machines that get `web-2`, this long ago.
fn with_web(ago: Duration) -> Fixture {
    let mut fixture = Fixture::with_pods(60, 1);
    fixture.limit(60);
    fixture.store.defaults(vec![want(WEB, web(1)), want(DNS, VersionId(3))]);
    fixture.deliver();
    fixture.pass(HOUR);
    fixture.limit(5);
    fixture.store.edit_fleet(|spec| {
        spec.strategy = Some(strategy(100));
        spec.components = vec![want(WEB, web(2)), want(DNS, VersionId(3))];
    });
    if ago > Duration::ZERO {
        fixture.deliver();
        fixture.pass(ago);
    }
    fixture
}

/// So many percent of them get `dns-2`.
fn with_dns(fixture: &mut Fixture, percent: u8) {
    let spec = SetSpec { strategy: strategy(percent), ..set_of(&[], vec![want(DNS, VersionId(4))]) };
    fixture.apply_set(0, "dns", spec);
    fixture.pass(HOUR / 2);
}

/// Whether a machine has the new `web`, and the new `dns`.
fn changes(fixture: &Fixture, id: u32) -> (bool, bool) {
    let host = &fixture.hosts[&id];
    (host.version(WEB) == Some(web(2)), host.version(DNS) == Some(VersionId(4)))
}

/// Those of which this is true go down.
fn fell(fixture: &mut Fixture, goes: impl Fn((bool, bool)) -> bool) {
    let fallen: Vec<u32> = (0..60).filter(|id| goes(changes(fixture, *id))).collect();
    assert!(fallen.len() > 5, "{fallen:?}");
    go_down(fixture, &fallen);
    fixture.pass(HOUR * 3);
}

fn go_down(fixture: &mut Fixture, fallen: &[u32]) {
    let now = fixture.now;
    for id in fallen {
        fixture.cluster.report(*id, Health::Unhealthy, now);
    }
    fixture.deliver();
}

/// Whether the gates of `web` and `dns` have failed.
fn failed(fixture: &Fixture) -> (bool, bool) {
    let of = |status: &PackageVersionStatus, component| {
        status.rollout(component).is_some_and(|rollout| rollout.failed_gate().is_some())
    };
    let set = &fixture.store.sets[&Owner::Set(SetId(0))];
    (of(&fixture.store.fleet.as_ref().unwrap().status, WEB), of(&set.status, DNS))
}

#[test]
fn a_rollout_whose_own_machines_are_well_is_not_charged() {
    let mut fixture = fleet();
    fell(&mut fixture, |(_, dns)| dns);
    assert_eq!(failed(&fixture), (false, true));
}

/// The other rollout has hardly a machine of its own, so nothing speaks for it.
#[test]
fn a_rollout_of_which_too_little_is_known_is_charged() {
    let mut fixture = fleet();
    fell(&mut fixture, |(web, _)| web);
    assert_eq!(failed(&fixture), (true, true));
}

/// All machines have both, `web` for long. Some go down soon after they got `dns`.
#[test]
fn of_several_changes_the_last_one_before_a_fault_is_charged() {
    let mut fixture = with_web(HOUR * 3);
    with_dns(&mut fixture, 100);
    go_down(&mut fixture, &[0, 10, 20, 30, 40, 50]);
    fixture.pass(HOUR / 4);
    assert_eq!(failed(&fixture), (false, true));
}

/// All machines have got both at once. Kubelets need `web`, and none needs `dns`.
#[test]
fn what_kubelets_need_takes_nodes_down_sooner_than_others_do() {
    let mut fixture = with_web(Duration::ZERO);
    with_dns(&mut fixture, 100);
    let mut kubelet = VersionSpec::clone(fixture.store.versions[&0].spec.as_ref().unwrap());
    kubelet.component = ComponentId(2);
    kubelet.depends_on = vec![WEB];
    kubelet.node_identity = Some(NodeIdentity { path: "/pki/client.pem".into(), renew_before: None });
    fixture.see(Observation::Named(Named { id: NamedId::Component(ComponentId(2)), name: "kubelet".into() }));
    fixture.store.add_version(VersionId(9), kubelet);
    fixture.deliver();
    go_down(&mut fixture, &[0, 10, 20, 30, 40, 50]);
    fixture.pass(HOUR / 4);
    assert_eq!(failed(&fixture), (true, false));
}

/// Nothing tells which of two changes at once it was.
#[test]
fn without_a_likeliest_change_all_are_charged() {
    let mut fixture = with_web(Duration::ZERO);
    with_dns(&mut fixture, 100);
    go_down(&mut fixture, &[0, 10, 20, 30, 40, 50]);
    fixture.pass(HOUR / 4);
    assert_eq!(failed(&fixture), (true, true));
}

/// A Node that is down already when its machine is changed says nothing of the release.
#[test]
fn what_had_gone_wrong_before_a_machine_was_changed_is_not_charged() {
    let mut fixture = Fixture::with_pods(20, 0);
    fixture.limit(20);
    fixture.store.edit_fleet(|spec| {
        let bake = HOUR / 6;
        spec.strategy =
            Some(Strategy { batches: vec![Percent(10)], first_bake: bake, bake, ..Strategy::default() });
    });
    fixture.upgrade();
    fixture.pass(HOUR / 12);
    let waiting: Vec<u32> =
        (0..).zip(fixture.web()).filter(|(_, it)| *it == Some(1)).map(|(id, _)| id).take(3).collect();
    go_down(&mut fixture, &waiting);
    fixture.pass(HOUR);
    let status = &fixture.store.fleet.as_ref().unwrap().status;
    let rollout = status.rollout(WEB).unwrap();
    assert_eq!((rollout.progress.updated, rollout.failed_gate().is_some()), (20, false));
    assert!(rollout.completed_at.is_some());
}
