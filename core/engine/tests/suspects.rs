//! Two rollouts with gates have changed the same machines, and some go down: which of the two is to blame.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]

mod fixture;

use std::time::Duration;

use fixture::{DNS, Fixture, WEB, want, web};
use seaworthy_engine::Owner;
use seaworthy_model::component_set::{OnLeave, SetSpec};
use seaworthy_model::event::Observation;
use seaworthy_model::id::{Named, NamedId, SetId, VersionId};
use seaworthy_model::node::Health;
use seaworthy_model::package_version::PackageVersionStatus;
use seaworthy_model::quantity::CountOrPercent::Percent;
use seaworthy_model::selector::Selector;
use seaworthy_model::strategy::Strategy;

const HOUR: Duration = Duration::from_secs(3600);

fn strategy(batch: u8) -> Strategy {
    let bake = HOUR * 2;
    Strategy { batches: vec![Percent(batch)], first_bake: bake, bake, ..Strategy::default() }
}

/// Sixty machines. All of them have got `web-2`, so there is none to compare them with. A quarter also has `dns-2`, by a set.
fn fleet() -> Fixture {
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
    fixture.see(Observation::Named(Named { id: NamedId::Set(SetId(0)), name: "dns".into() }));
    let spec = |version, strategy| SetSpec {
        selector: Selector::default(),
        priority: 0,
        components: vec![want(DNS, version)],
        on_leave: OnLeave::Keep,
        paused: false,
        strategy,
        canary: None,
    };
    fixture.store.apply_set(Owner::Set(SetId(0)), spec(VersionId(4), strategy(25)));
    fixture.deliver();
    fixture.pass(HOUR);
    let both = (0..60).filter(|id| changes(&fixture, *id) == (true, true)).count();
    assert!(both == 15, "{both}");
    fixture
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
    let now = fixture.now;
    for id in fallen {
        fixture.cluster.report(id, Health::Unhealthy, now);
    }
    fixture.deliver();
    fixture.pass(HOUR * 3);
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
