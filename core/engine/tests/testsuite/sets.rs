//! `MachineComponentSet`s: whose machines follow which versions, in which order, and within which limits.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::fixture::{DNS, Fixture, WEB, at_once, set_of, want, web};
use seaworthy_engine::Owner;
use seaworthy_model::component_set::SetSpec;
use seaworthy_model::detail::FleetDetail;
use seaworthy_model::id::{SetId, VersionId};
use seaworthy_model::package_version::{FleetConditionKind, FleetReason, Rollout};
use seaworthy_model::quantity::CountOrPercent::Percent;
use seaworthy_model::strategy::Strategy;

const HOUR: Duration = Duration::from_secs(3600);

/// The machines of this pool get this version.
fn pool(name: &str, version: u32) -> SetSpec {
    set_of(&[name], vec![want(WEB, web(version))])
}

/// Six machines on `web-1`; the even ones are in the blue pool. Two may be unavailable.
fn fleet() -> Fixture {
    let mut fixture = Fixture::on_web_1(6, 2);
    for id in [0, 2, 4] {
        fixture.store.label_machine(id, ("pool", "blue"));
    }
    fixture.deliver();
    fixture
}

fn record(fixture: &Fixture, id: u32) -> &Rollout {
    &fixture.set(id).status.rollouts[0]
}

#[test]
fn a_set_moves_its_machines_and_no_others() {
    let mut fixture = fleet();
    fixture.apply_set(0, "blue", pool("blue", 2));
    fixture.pass(HOUR);
    let on = |version| Some(version);
    assert_eq!(fixture.web(), [on(2), on(1), on(2), on(1), on(2), on(1)]);
    let record = record(&fixture, 0);
    assert_eq!((record.progress.total, record.progress.updated), (3, 3));
    assert!(record.completed_at.is_some());
    assert_eq!(record.from, Some(want(WEB, web(1)).want), "what the defaults had given them");
    assert_eq!(fixture.set(0).status.conditions[0].reason, FleetReason::AllUpdated);
}

#[test]
fn new_defaults_leave_the_machines_of_a_set_alone() {
    let mut fixture = fleet();
    fixture.apply_set(0, "blue", pool("blue", 1));
    fixture.pass(HOUR);
    fixture.upgrade();
    fixture.pass(HOUR);
    assert_eq!(fixture.web(), [Some(1), Some(2), Some(1), Some(2), Some(1), Some(2)]);
    let fleet = &fixture.store.fleet.as_ref().expect("there are defaults").status.rollouts[0];
    assert_eq!((fleet.progress.total, fleet.progress.updated), (3, 3));
}

#[test]
fn machines_follow_their_labels() {
    let mut fixture = fleet();
    fixture.apply_set(0, "blue", pool("blue", 2));
    fixture.pass(HOUR);
    fixture.store.label_machine(0, ("pool", "green"));
    fixture.store.label_machine(1, ("pool", "blue"));
    fixture.deliver();
    fixture.pass(HOUR);
    assert_eq!(fixture.web(), [Some(1), Some(2), Some(2), Some(1), Some(2), Some(1)]);
}

#[test]
fn the_machines_of_a_deleted_set_follow_the_defaults_again() {
    let mut fixture = fleet();
    fixture.apply_set(0, "blue", pool("blue", 2));
    fixture.pass(HOUR);
    fixture.store.delete_set(Owner::Set(SetId(0)));
    fixture.deliver();
    fixture.pass(HOUR);
    assert!(fixture.store.sets.is_empty());
    assert_eq!(fixture.web(), [Some(1); 6]);
}

#[test]
fn the_set_with_the_higher_priority_decides_and_of_equal_ones_the_first_name() {
    let mut fixture = fleet();
    fixture.apply_set(0, "zebra", pool("blue", 2));
    fixture.apply_set(1, "ape", pool("blue", 1));
    fixture.pass(HOUR);
    assert_eq!(fixture.web(), [Some(1); 6], "the ape comes first");
    fixture.apply_set(0, "zebra", SetSpec { priority: 1, ..pool("blue", 2) });
    fixture.pass(HOUR);
    assert_eq!(fixture.web(), [Some(2), Some(1), Some(2), Some(1), Some(2), Some(1)]);
}

/// What each of two sets says of an overlap: the other one, and whether it decides itself.
fn overlaps(fixture: &Fixture) -> [Option<(String, bool)>; 2] {
    [0, 1].map(|id| {
        let conditions = fixture.set(id).status.conditions.iter();
        let mut told = conditions.filter(|told| told.kind == FleetConditionKind::Overlapping);
        let Some(FleetDetail::Overlap { other, decides, .. }) = &told.next()?.detail else { return None };
        Some((other.to_string(), *decides))
    })
}

#[test]
fn sets_that_overlap_both_say_so_while_they_do() {
    let mut fixture = fleet();
    fixture.apply_set(0, "zebra", pool("blue", 2));
    fixture.apply_set(1, "ape", pool("green", 1));
    fixture.pass(HOUR);
    assert_eq!(overlaps(&fixture), [None, None]);
    fixture.apply_set(1, "ape", pool("blue", 1));
    fixture.pass(HOUR);
    assert_eq!(overlaps(&fixture), [Some(("ape".into(), false)), Some(("zebra".into(), true))]);
    fixture.apply_set(0, "zebra", SetSpec { priority: 1, ..pool("blue", 2) });
    fixture.pass(HOUR);
    assert_eq!(overlaps(&fixture), [Some(("ape".into(), true)), Some(("zebra".into(), false))]);
    for id in [0, 2, 4] {
        fixture.store.label_machine(id, ("pool", "green"));
    }
    fixture.deliver();
    fixture.pass(HOUR);
    assert_eq!(overlaps(&fixture), [None, None]);
}

/// Two sets that mention no component in common may select the same machines.
#[test]
fn sets_of_different_components_do_not_overlap() {
    let mut fixture = fleet();
    fixture.apply_set(0, "zebra", pool("blue", 2));
    fixture.apply_set(1, "ape", SetSpec { components: vec![want(DNS, VersionId(3))], ..pool("blue", 1) });
    fixture.pass(HOUR);
    assert_eq!(overlaps(&fixture), [None, None]);
}

#[test]
fn a_paused_set_starts_nothing_and_the_others_go_on() {
    let mut fixture = fleet();
    fixture.apply_set(0, "blue", SetSpec { paused: true, ..pool("blue", 2) });
    fixture.upgrade();
    fixture.pass(HOUR);
    assert_eq!(fixture.web(), [Some(1), Some(2), Some(1), Some(2), Some(1), Some(2)]);
    assert_eq!(fixture.set(0).status.conditions[0].reason, FleetReason::Paused);
    fixture.apply_set(0, "blue", pool("blue", 2));
    fixture.pass(HOUR);
    assert_eq!(fixture.web(), [Some(2); 6]);
}

#[test]
fn sets_and_defaults_share_one_budget() {
    let mut fixture = fleet();
    fixture.apply_set(0, "blue", pool("blue", 2));
    fixture.upgrade();
    let (mut most, mut worked) = (0, BTreeSet::new());
    for choice in 0..2_000 {
        let turn = fixture.turn();
        let at_work = fixture.at_work();
        most = most.max(at_work.len());
        worked.extend(at_work);
        match fixture.pending.is_empty() {
            true => fixture.now = turn.wake.map_or(fixture.now, |wake| wake.at.max(fixture.now)),
            // The orders end in one order and the other.
            false => fixture.execute_one(choice),
        }
    }
    assert_eq!(most, 2, "two may be unavailable");
    assert_eq!(worked.len(), 6);
    assert_eq!(fixture.web(), [Some(2); 6]);
}

#[test]
fn a_successor_writes_its_epoch_everywhere_before_it_grants() {
    let mut fixture = fleet();
    fixture.apply_set(0, "blue", pool("blue", 1));
    fixture.pass(HOUR);
    fixture.restart();
    fixture.upgrade();
    fixture.pass(HOUR);
    let epoch = fixture.store.fleet.as_ref().expect("there are defaults").status.epoch;
    assert_eq!(fixture.set(0).status.epoch, epoch, "though it had nothing to grant");
}

/// People change the labels of many machines by one command. They come to a set whose rollout is complete, and go through its
/// batches all the same.
#[test]
fn many_machines_that_come_to_a_set_go_through_its_gates() {
    let mut fixture = Fixture::on_web_1(11, 11);
    fixture.limit(11);
    fixture.store.label_machine(0, ("pool", "blue"));
    fixture.deliver();
    let strategy = Strategy { batches: vec![Percent(30)], first_bake: HOUR, ..at_once() };
    fixture.apply_set(0, "blue", SetSpec { strategy, ..pool("blue", 2) });
    fixture.pass(3 * HOUR);
    assert!(record(&fixture, 0).completed_at.is_some());
    for id in 1..11 {
        fixture.store.label_machine(id, ("pool", "blue"));
        fixture.host(id).broken = vec![web(2)];
    }
    fixture.deliver();
    fixture.pass(HOUR / 2);
    let record = record(&fixture, 0);
    assert!(record.completed_at.is_none());
    let failed = record.progress.failed;
    assert!((1..=3).contains(&failed), "{failed} machines were harmed");
    let course = record.course.as_ref().expect("it has a strategy");
    assert!(course.batch > 2, "no gate has the number of another: {}", course.batch);
    assert_eq!(course.judged_before, 1);
    assert_eq!(fixture.set(0).status.conditions[0].reason, FleetReason::GateFailed);
    assert_eq!(fixture.web()[0], Some(2), "what worked before stays");
}
