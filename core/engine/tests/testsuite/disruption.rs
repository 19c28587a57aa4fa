//! What a rollout may do to the workloads of machines: the most that a change may do, and machines that cannot be drained.

use std::sync::Arc;
use std::time::Duration;

use crate::fixture::{Fixture, WEB, pod, record, want, web};
use seaworthy_model::component::Disruption;
use seaworthy_model::detail::FleetDetail;
use seaworthy_model::package_version::{FleetReason, Rollout};
use seaworthy_model::pod::{PodFacts, PodOwner};
use seaworthy_model::quantity::CountOrPercent::{Count, Percent};
use seaworthy_model::strategy::{Strategy, Undrainable};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// Ten machines on `web-1` with a pod each. `web-2` needs a drain, and goes to a fifth and then to all.
fn fleet(at_most: Option<Disruption>, undrainable: Undrainable) -> Fixture {
    let mut fixture = Fixture::with_pods(10, 1);
    fixture.limit(10);
    fixture.pass(HOUR);
    fixture.store.edit_fleet(|spec| {
        spec.strategy = Some(Strategy {
            batches: vec![Percent(20), Percent(100)],
            first_bake: SECOND,
            bake: SECOND,
            at_most,
            undrainable,
            ..Strategy::default()
        });
    });
    fixture
}

/// Machines whose pods no controller replaces.
fn bare(fixture: &mut Fixture, machines: &[u32]) {
    for id in machines {
        let pod = PodFacts { owner: PodOwner::Nobody, ..pod(&format!("bare-{id}")) };
        fixture.cluster.node(*id).pods = vec![pod];
    }
}

fn told(fixture: &Fixture) -> (FleetReason, Option<FleetDetail>) {
    let condition = fixture.store.fleet.as_ref().unwrap().status.conditions[0].clone();
    (condition.reason, condition.detail)
}

fn updated(fixture: &Fixture) -> usize {
    fixture.web().iter().filter(|version| **version == Some(2)).count()
}

#[test]
fn a_change_that_does_more_than_it_may_is_not_begun() {
    for at_most in [Disruption::None, Disruption::Restart] {
        let mut fixture = fleet(Some(at_most), Undrainable::default());
        fixture.upgrade();
        fixture.pass(HOUR);
        assert_eq!(told(&fixture).0, FleetReason::TooDisruptive);
        assert_eq!(updated(&fixture), 0);
        assert_eq!(fixture.cluster.evicted, Vec::<String>::new());
        fixture.store.edit_fleet(|spec| spec.strategy.as_mut().unwrap().at_most = Some(Disruption::Drain));
        fixture.deliver();
        fixture.pass(HOUR);
        assert_eq!((told(&fixture).0, updated(&fixture)), (FleetReason::AllUpdated, 10));
    }
}

#[test]
fn a_change_that_does_as_much_as_it_may_is_made() {
    for at_most in [Disruption::Drain, Disruption::Reboot] {
        let mut fixture = fleet(Some(at_most), Undrainable::default());
        fixture.upgrade();
        fixture.pass(HOUR);
        assert_eq!((told(&fixture).0, updated(&fixture)), (FleetReason::AllUpdated, 10));
    }
}

/// The greater of the two classes counts.
#[test]
fn a_reload_is_more_than_nothing_and_less_than_a_restart() {
    use Disruption::{None as Nothing, Reload, Restart};
    for (goes, comes, at_most, is_made) in [
        (Reload, Reload, Reload, true),
        (Nothing, Reload, Reload, true),
        (Reload, Reload, Restart, true),
        (Reload, Reload, Nothing, false),
        (Reload, Restart, Reload, false),
        (Restart, Reload, Reload, false),
    ] {
        let mut fixture = fleet(Some(at_most), Undrainable::default());
        for (version, class) in [(1, goes), (2, comes)] {
            let version = fixture.store.versions.get_mut(&web(version).0).unwrap();
            Arc::make_mut(version.spec.as_mut().unwrap()).disruption = class;
        }
        fixture.restart();
        fixture.upgrade();
        fixture.pass(HOUR);
        let what = format!("from {goes:?} to {comes:?} with at most {at_most:?}");
        let expected = if is_made { (FleetReason::AllUpdated, 10) } else { (FleetReason::TooDisruptive, 0) };
        assert_eq!((told(&fixture).0, updated(&fixture)), expected, "{what}");
        assert_eq!(fixture.cluster.evicted, Vec::<String>::new(), "{what}");
    }
}

/// Nobody is disrupted on a machine that was never set up.
#[test]
fn a_new_machine_gets_what_serving_ones_must_not() {
    let mut fixture = Fixture::new(3);
    fixture.store.edit_fleet(|spec| {
        let at_most = Some(Disruption::None);
        let strategy =
            Strategy { batches: vec![Percent(100)], first_bake: SECOND, at_most, ..Strategy::default() };
        spec.strategy = Some(strategy);
    });
    fixture.store.defaults(vec![want(WEB, web(1))]);
    fixture.deliver();
    fixture.pass(HOUR);
    assert_eq!(fixture.web(), [Some(1); 3]);
}

#[test]
fn a_batch_waits_for_machines_that_cannot_be_drained_and_goes_on_when_they_can() {
    let mut fixture = fleet(None, Undrainable::Wait);
    bare(&mut fixture, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    fixture.upgrade();
    fixture.pass(HOUR);
    let detail = FleetDetail::Undrained { machines: 2, limit: 0 };
    assert_eq!(told(&fixture), (FleetReason::TooManyUndrained, Some(detail)));
    assert!(record(&fixture).admitted_below < Rollout::EVERYBODY);
    for id in 0..10 {
        fixture.cluster.node(id).pods.clear();
    }
    fixture.pass(HOUR);
    assert_eq!((told(&fixture).0, updated(&fixture)), (FleetReason::AllUpdated, 10));
}

#[test]
fn a_batch_ends_without_as_many_as_are_left_out() {
    for (machines, reason) in [(2, FleetReason::MachinesLeftOut), (3, FleetReason::TooManyUndrained)] {
        let mut fixture = fleet(None, Undrainable::Skip { at_most: Count(2) });
        bare(&mut fixture, &[0, 1, 2][..machines]);
        fixture.upgrade();
        fixture.pass(HOUR);
        assert_eq!((told(&fixture).0, updated(&fixture)), (reason, 10 - machines));
        assert_eq!(record(&fixture).completed_at.is_some(), machines == 2);
        bare(&mut fixture, &[]);
        for id in 0..3 {
            fixture.cluster.node(id).pods.clear();
        }
        fixture.pass(HOUR);
        assert_eq!((told(&fixture).0, updated(&fixture)), (FleetReason::AllUpdated, 10));
    }
}

#[test]
fn pods_that_stay_too_long_are_deleted_if_people_say_so() {
    let mut fixture = fleet(None, Undrainable::Force { after: MINUTE * 20 });
    bare(&mut fixture, &[0, 1, 2]);
    fixture.cluster.evictions_left = Some(0);
    fixture.upgrade();
    fixture.pass(MINUTE * 15);
    assert_eq!((updated(&fixture), fixture.cluster.deleted.len()), (0, 0));
    fixture.pass(HOUR * 2);
    assert_eq!((told(&fixture).0, updated(&fixture)), (FleetReason::AllUpdated, 10));
    assert_eq!(fixture.cluster.deleted.len(), 10);
    assert_eq!(fixture.cluster.evicted, Vec::<String>::new());
}

/// Who goes when asked to is not deleted, and the deadline counts from the cordon, whichever operator made it.
#[test]
fn pods_that_leave_are_not_deleted() {
    let mut fixture = fleet(None, Undrainable::Force { after: MINUTE * 20 });
    bare(&mut fixture, &[0]);
    fixture.upgrade();
    fixture.pass(MINUTE * 12);
    fixture.restart();
    fixture.pass(HOUR);
    assert_eq!((told(&fixture).0, updated(&fixture)), (FleetReason::AllUpdated, 10));
    assert_eq!(fixture.cluster.deleted, ["bare-0"]);
    assert_eq!(fixture.cluster.evicted.len(), 9);
}

/// A rollout back to a release that is known to work has no gates, and is bound to the strategy all the same.
#[test]
fn a_way_back_does_to_workloads_what_the_strategy_says() {
    for at_most in [None, Some(Disruption::Restart)] {
        let mut fixture = fleet(None, Undrainable::Force { after: MINUTE * 20 });
        fixture.store.edit_fleet(|spec| spec.strategy.as_mut().unwrap().first_bake = HOUR * 9);
        fixture.upgrade();
        fixture.pass(HOUR);
        let changed: Vec<u32> = (0..10).filter(|id| fixture.web()[*id as usize] == Some(2)).collect();
        assert_eq!(changed.len(), 2);
        bare(&mut fixture, &changed);
        fixture.store.edit_fleet(|spec| spec.strategy.as_mut().unwrap().at_most = at_most);
        fixture.store.defaults(vec![want(WEB, web(1))]);
        fixture.pass(HOUR * 2);
        match at_most {
            None => assert_eq!((updated(&fixture), fixture.cluster.deleted.len()), (0, 2)),
            Some(_) => assert_eq!((told(&fixture).0, updated(&fixture)), (FleetReason::TooDisruptive, 2)),
        }
    }
}
