//! Two rollouts with gates have changed the same machines, and some go down: which of the two is to blame.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]

mod fixture;

use std::time::Duration;

use fixture::{DNS, Fixture, WEB, want, web};
use seaworthy_model::id::VersionId;
use seaworthy_model::node::Health;
use seaworthy_model::quantity::CountOrPercent::Percent;
use seaworthy_model::strategy::Strategy;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// Sixty machines. Half of them have got `web-2`, half of them `dns-2`, a quarter both: the rollouts draw their machines
/// apart from each other.
fn fleet() -> Fixture {
    let mut fixture = Fixture::with_pods(60, 0);
    fixture.limit(60);
    fixture.store.defaults(vec![want(WEB, web(1)), want(DNS, VersionId(3))]);
    fixture.deliver();
    fixture.pass(HOUR);
    fixture.store.edit_fleet(|spec| {
        let batches = vec![Percent(50)];
        spec.strategy =
            Some(Strategy { batches, first_bake: MINUTE * 30, bake: MINUTE * 30, ..Strategy::default() });
        spec.components = vec![want(WEB, web(2)), want(DNS, VersionId(4))];
    });
    fixture.deliver();
    fixture.pass(MINUTE * 10);
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
    fixture.pass(MINUTE * 45);
}

/// Whether the gates of `web` and `dns` have failed.
fn failed(fixture: &Fixture) -> (bool, bool) {
    let status = &fixture.store.fleet.as_ref().unwrap().status;
    let of = |component| status.rollout(component).unwrap().failed_gate().is_some();
    (of(WEB), of(DNS))
}

#[test]
fn a_rollout_whose_own_machines_are_well_is_not_charged() {
    let mut fixture = fleet();
    fell(&mut fixture, |(_, dns)| dns);
    assert_eq!(failed(&fixture), (false, true));
    let mut fixture = fleet();
    fell(&mut fixture, |(web, _)| web);
    assert_eq!(failed(&fixture), (true, false));
}

/// Each of them alone does no harm, so both are charged.
#[test]
fn what_two_changes_break_together_stops_both() {
    let mut fixture = fleet();
    fell(&mut fixture, |(web, dns)| web && dns);
    assert_eq!(failed(&fixture), (true, true));
}

#[test]
fn what_either_breaks_stops_both() {
    let mut fixture = fleet();
    fell(&mut fixture, |(web, dns)| web || dns);
    assert_eq!(failed(&fixture), (true, true));
}
