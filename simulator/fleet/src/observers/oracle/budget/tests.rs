//! Tests of the oracle's own counting.

use std::sync::Arc;
use std::time::Duration;

use seaworthy_api::object::Resource;
use seaworthy_api::rfc3339;
use seaworthy_kernel::Timestamp;

use super::{ARRIVES_WITHIN, Budget};
use crate::vocabulary::START;
use crate::world::api_server::{Stored, Written};

fn written(text: &str) -> Written {
    let fleet: seaworthy_api::object::ClusterPackageVersion = serde_json::from_str(text).unwrap();
    let object = Arc::new(Resource::ClusterPackageVersion(Box::new(fleet)).into());
    Written { object, before: None, committed: true, removed: false }
}

fn fleet(max_unavailable: u32, started: Timestamp, completed: bool) -> Written {
    let started = rfc3339::format(started);
    let completed = if completed { r#","completedAt":"2026-01-02T00:00:00Z""# } else { "" };
    written(&format!(
        r#"{{"metadata":{{"name":"default"}},"spec":{{"maxUnavailable":{max_unavailable}}},"status":{{"rollouts":[
            {{"component":"webd","generation":1,"to":{{"state":"Present","version":"1"}},"admittedBelow":0,
              "startedAt":"{started}"{completed}}}]}}}}"#
    ))
}

/// The Machine with this address.
fn object(address: u32, status: &str) -> Arc<Stored> {
    let text = format!(
        r#"{{"metadata":{{"name":"m"}},"spec":{{"address":{{"ip":"10.0.0.{address}"}},"ssh":{{"secretName":"s"}}}}{status}}}"#
    );
    let machine: seaworthy_api::object::Machine = serde_json::from_str(&text).unwrap();
    Arc::new(Resource::Machine(Box::new(machine)).into())
}

/// The Machine that stands for a host, as it was written.
fn machine(host: u32, before: Option<Arc<Stored>>, removed: bool) -> Written {
    Written { object: object(host, ""), before, committed: true, removed }
}

/// The operator records what a rollout has brought to a host. The first address is that of host 0.
fn record(budget: &mut Budget, host: u32, at: Timestamp) {
    let status = r#","status":{"components":[{"name":"webd","version":"1"}],"observedGeneration":1}"#;
    let before = Some(object(host + 1, ""));
    budget.machine_written(
        &Written { object: object(host + 1, status), before, committed: true, removed: false },
        at,
    );
}

/// A budget over ten hosts with a Machine each.
fn budget() -> Budget {
    let mut budget = Budget::new(10, true);
    for host in 1..=10 {
        budget.machine_written(&machine(host, None, false), START);
    }
    budget
}

fn machines_leave(budget: &mut Budget, hosts: std::ops::RangeInclusive<u32>, at: Timestamp) {
    for host in hosts {
        let before = machine(host, None, false).object;
        budget.machine_written(&machine(host, Some(before), true), at);
    }
}

/// The rollout under way changes these hosts.
fn change(budget: &mut Budget, hosts: impl IntoIterator<Item = u32>, at: Timestamp) {
    for host in hosts {
        budget.brought(host, ("webd", Some("webd-1")), at);
    }
}

fn at(seconds: u64) -> Timestamp {
    START + Duration::from_secs(seconds)
}

/// No Node is cordoned.
const fn nobody() -> std::iter::Empty<u32> {
    std::iter::empty()
}

/// The budget takes over what was written.
fn take(budget: &mut Budget, written: &Written, at: Timestamp) {
    budget.package_version_written(written, at);
    budget.rollouts_written(written, at);
}

#[test]
fn starts_beyond_the_limit_are_found() {
    let mut budget = budget();
    take(&mut budget, &fleet(2, START, false), at(0));
    assert_eq!(budget.began((0, false), (at(1000), nobody()), at(1000)).overdrawn, None);
    assert!(budget.began((1, false), (at(1000), nobody()), at(1000)).exhausted);
    assert!(budget.began((2, false), (at(1000), nobody()), at(1000)).overdrawn.is_some());
    budget.ended(0);
    budget.ended(1);
    assert_eq!(budget.began((3, false), (at(1001), nobody()), at(1001)).overdrawn, None);
    assert_eq!((budget.peak().used, budget.peak().limit, budget.peak().at_work), (3, 2, 3));
}

#[test]
fn lost_hosts_count_once_they_could_be_known() {
    let mut budget = budget();
    take(&mut budget, &fleet(2, START, false), at(0));
    change(&mut budget, [5, 6], at(50));
    budget.lost(5, at(100));
    budget.lost(6, at(100));
    let known = 100 + budget.detection().as_secs();
    assert_eq!(budget.began((0, false), (at(known - 1), nobody()), at(known - 1)).overdrawn, None);
    budget.ended(0);
    assert!(budget.began((0, false), (at(known), nobody()), at(known)).overdrawn.is_some());
    budget.ended(0);
    budget.back(5);
    assert_eq!(budget.began((0, false), (at(known + 1), nobody()), at(known + 1)).overdrawn, None);
}

/// The operator cannot know that the operation stands still there before it reaches the host again.
#[test]
fn who_was_lost_at_work_counts_again_once_it_is_reached() {
    let mut budget = budget();
    take(&mut budget, &fleet(1, START, false), at(0));
    budget.began((0, false), (at(100), nobody()), at(100));
    budget.gone(0);
    budget.back(0);
    assert_eq!(budget.began((1, false), (at(1500), nobody()), at(1500)).overdrawn, None);
    budget.ended(1);
    budget.reached(0, at(1500));
    let known = 1500 + budget.detection().as_secs();
    assert_eq!(budget.began((1, false), (at(known - 1), nobody()), at(known - 1)).overdrawn, None);
    budget.ended(1);
    assert!(budget.began((1, false), (at(known), nobody()), at(known)).overdrawn.is_some());
}

/// The host went on by itself when its power was back. Before the operator reaches it, that host may fall without being missed:
/// it was never seen with the release.
#[test]
fn who_ended_out_of_sight_counts_as_changed_once_it_is_reached() {
    let falls = |is_reached: bool| {
        let mut budget = budget();
        take(&mut budget, &fleet(1, START, false), at(0));
        budget.began((5, false), (at(100), nobody()), at(100));
        budget.powered_off(5);
        budget.lost(5, at(100));
        budget.back(5);
        change(&mut budget, [5], at(1300));
        if is_reached {
            budget.reached(5, at(1400));
        }
        budget.lost(5, at(1500));
        budget.began((0, false), (at(1600), nobody()), at(1600)).overdrawn
    };
    assert_eq!(falls(false), None);
    assert!(falls(true).is_some());
}

/// No other operator can tell its fall from that of a machine without the release, until it has read the host.
#[test]
fn a_change_that_was_not_recorded_is_forgotten_with_its_operator() {
    for (is_recorded, is_reached, counts) in [(false, false, false), (true, false, true), (false, true, true)]
    {
        let mut budget = budget();
        take(&mut budget, &fleet(1, START, false), at(0));
        change(&mut budget, [5], at(100));
        if is_recorded {
            record(&mut budget, 5, at(100));
        }
        budget.process_ended();
        if is_reached {
            budget.reached(5, at(200));
        }
        budget.lost(5, at(400));
        let overdrawn = budget.began((0, false), (at(1600), nobody()), at(1600)).overdrawn;
        assert_eq!(overdrawn.is_some(), counts, "recorded: {is_recorded}, reached: {is_reached}");
    }
}

/// It may say that its operation has ended: then the operator starts the next one.
#[test]
fn work_on_a_host_that_lies_takes_no_unit() {
    let mut budget = budget();
    take(&mut budget, &fleet(1, START, false), at(0));
    assert_eq!(budget.began((0, false), (at(1000), nobody()), at(1000)).overdrawn, None);
    budget.lies(0);
    assert_eq!(budget.began((1, false), (at(1000), nobody()), at(1000)).overdrawn, None);
    assert!(budget.began((2, false), (at(1000), nobody()), at(1000)).overdrawn.is_some());
    budget.ended(1);
    budget.ended(2);
    assert_eq!(budget.began((3, true), (at(1000), nobody()), at(1000)).overdrawn, None);
    assert_eq!(budget.began((4, true), (at(1000), nobody()), at(1000)).overdrawn, None);
    assert!(budget.began((5, true), (at(1000), nobody()), at(1000)).overdrawn.is_some());
}

#[test]
fn what_was_removed_since_is_no_change_of_the_rollout() {
    for removed in [None, Some("webd-0")] {
        let mut budget = budget();
        take(&mut budget, &fleet(1, START, false), at(0));
        change(&mut budget, [5], at(50));
        budget.brought(5, ("webd", removed), at(60));
        budget.lost(5, at(100));
        assert_eq!(budget.began((0, false), (at(5000), nobody()), at(5000)).overdrawn, None);
    }
}

/// Two rollouts have changed a host, and what one of them brought is gone: the other's change counts until it is gone too.
#[test]
fn what_another_rollout_brought_counts_while_it_is_there() {
    let rollout = |component: &str| {
        format!(
            r#"{{"component":"{component}","generation":1,"to":{{"state":"Present","version":"1"}},"admittedBelow":0,
              "startedAt":"{}"}}"#,
            rfc3339::format(START)
        )
    };
    let rollouts = ["webd", "dnsd"].map(rollout).join(",");
    let fleet = written(&format!(
        r#"{{"metadata":{{"name":"default"}},"spec":{{"maxUnavailable":1}},"status":{{"rollouts":[{rollouts}]}}}}"#
    ));
    for (removed, counts) in [(&["dnsd"][..], true), (&["webd"], true), (&["dnsd", "webd"], false)] {
        let mut budget = budget();
        take(&mut budget, &fleet, at(0));
        budget.brought(5, ("webd", Some("webd-1")), at(50));
        budget.brought(5, ("dnsd", Some("dnsd-1")), at(50));
        for component in removed {
            budget.brought(5, (component, None), at(60));
        }
        budget.lost(5, at(100));
        let sent = at(5000);
        assert_eq!(
            budget.began((0, false), (sent, nobody()), sent).overdrawn.is_some(),
            counts,
            "{removed:?}"
        );
    }
}

#[test]
fn an_order_is_judged_by_what_could_be_known_when_it_was_sent() {
    let mut budget = budget();
    take(&mut budget, &fleet(1, START, false), at(0));
    change(&mut budget, [5], at(50));
    budget.lost(5, at(100));
    let known = 100 + budget.detection().as_secs();
    let arrives = at(known + 1) + ARRIVES_WITHIN;
    assert_eq!(budget.began((0, false), (at(known - 1), nobody()), arrives).overdrawn, None);
    budget.ended(0);
    assert!(budget.began((0, false), (at(known), nobody()), arrives).overdrawn.is_some());
}

#[test]
fn who_was_lost_before_the_rollout_or_without_one_does_not_count() {
    for (lost, completed, counts) in [(100, false, true), (40, false, false), (100, true, false)] {
        let mut budget = budget();
        take(&mut budget, &fleet(1, at(50), completed), at(50));
        change(&mut budget, [5], at(60));
        budget.lost(5, at(lost));
        assert_eq!(
            budget.began((0, false), (at(5000), nobody()), at(5000)).overdrawn.is_some(),
            counts,
            "{lost} {completed}"
        );
    }
}

/// Its Node has been Unknown since before the rollout. An operator that has just started cannot know that the Node was
/// ready in between.
#[test]
fn who_was_lost_before_the_rollout_was_recorded_was_lost_before_it() {
    for (recorded, overdrawn) in [(at(3600), false), (at(10), true)] {
        let mut budget = budget();
        if recorded < at(1800) {
            take(&mut budget, &fleet(1, START, false), recorded);
            change(&mut budget, [1], at(60));
        }
        budget.lost(1, at(1800));
        take(&mut budget, &fleet(1, START, false), recorded);
        let sent = at(3700);
        assert_eq!(
            budget.began((2, false), (sent, nobody()), sent).overdrawn.is_some(),
            overdrawn,
            "{recorded:?}"
        );
    }
}

#[test]
fn who_is_worked_on_before_its_node_is_ready_was_lost_when_it_was_lost_first() {
    for (ready, counts) in [(false, false), (true, true)] {
        let mut budget = budget();
        take(&mut budget, &fleet(1, at(50), false), at(50));
        budget.lost(5, at(40));
        budget.began((5, false), (at(1000), nobody()), at(1000));
        if ready {
            budget.back(5);
        }
        budget.ended(5);
        change(&mut budget, [5], at(1000));
        budget.lost(5, at(1100));
        assert_eq!(
            budget.began((0, false), (at(5000), nobody()), at(5000)).overdrawn.is_some(),
            counts,
            "ready: {ready}"
        );
    }
}

#[test]
fn a_limit_that_was_lowered_holds_after_a_while() {
    let mut budget = budget();
    take(&mut budget, &fleet(2, START, false), at(0));
    take(&mut budget, &fleet(1, START, false), at(100));
    budget.began((0, false), (at(101), nobody()), at(101));
    assert_eq!(
        budget.began((1, false), (at(101), nobody()), at(101)).overdrawn,
        None,
        "it may not be known yet"
    );
    budget.ended(1);
    let known = 100 + budget.detection().as_secs() + 1;
    assert!(budget.began((1, false), (at(known), nobody()), at(known)).overdrawn.is_some());
}

/// The watch of one kind may be held while that of another is not: old machines and a new percentage.
#[test]
fn an_operator_may_know_a_new_percentage_and_not_yet_who_left() {
    let percentage = |percent: &str| {
        written(&format!(r#"{{"metadata":{{"name":"default"}},"spec":{{"maxUnavailable":"{percent}"}}}}"#))
    };
    let mut budget = budget();
    take(&mut budget, &percentage("10%"), at(0));
    machines_leave(&mut budget, 8..=10, at(101));
    take(&mut budget, &percentage("30%"), at(102));
    budget.began((0, false), (at(103), nobody()), at(103));
    budget.began((1, false), (at(103), nobody()), at(103));
    assert_eq!(
        budget.began((2, false), (at(103), nobody()), at(103)).overdrawn,
        None,
        "30 % of the ten that it knows"
    );
    budget.ended(2);
    let known = 102 + budget.detection().as_secs() + 1;
    assert!(budget.began((2, false), (at(known), nobody()), at(known)).overdrawn.is_some(), "30 % of seven");
}

#[test]
fn what_befalls_the_others_as_well_is_no_fault_of_the_rollout() {
    for (others, overdrawn) in [(0, true), (5, false)] {
        let mut budget = budget();
        take(&mut budget, &fleet(1, START, false), at(0));
        change(&mut budget, [4, 5], at(50));
        budget.lost(5, at(100));
        for host in [3, 6, 7, 8, 9].into_iter().take(others) {
            budget.lost(host, at(100));
        }
        let sent = at(1000);
        assert_eq!(
            budget.began((0, false), (sent, nobody()), sent).overdrawn.is_some(),
            overdrawn,
            "{others}"
        );
    }
}

#[test]
fn work_on_what_is_not_ready_takes_no_part_of_the_limit() {
    let mut budget = budget();
    take(&mut budget, &fleet(1, START, false), at(0));
    assert_eq!(budget.began((0, true), (at(1000), nobody()), at(1000)).overdrawn, None);
    assert_eq!(budget.began((1, false), (at(1000), nobody()), at(1000)).overdrawn, None);
    assert!(budget.began((2, true), (at(1000), nobody()), at(1000)).overdrawn.is_some(), "twice the limit");
}

#[test]
fn what_a_higher_limit_admitted_does_not_keep_a_machine_that_is_not_ready_from_its_repair() {
    let mut budget = budget();
    take(&mut budget, &fleet(5, START, false), at(0));
    for host in 0..5 {
        assert_eq!(budget.began((host, false), (at(100), nobody()), at(100)).overdrawn, None);
    }
    take(&mut budget, &fleet(1, START, false), at(200));
    assert_eq!(budget.began((5, true), (at(10_000), nobody()), at(10_000)).overdrawn, None);
    let found = budget.began((6, true), (at(10_000), nobody()), at(10_000)).overdrawn;
    assert_eq!(found.as_deref(), Some("3 hosts at work exceed maxUnavailable 1 twice over"));
}

/// Its Node is cordoned for that work, and may become ready before the work is over.
#[test]
fn work_on_what_was_not_ready_takes_no_part_of_the_limit_for_its_cordon_either() {
    let mut budget = budget();
    take(&mut budget, &fleet(1, START, false), at(0));
    budget.began((0, true), (at(1000), nobody()), at(1000));
    assert_eq!(budget.began((1, false), (at(1000), [0].into_iter()), at(1000)).overdrawn, None);
    budget.ended(1);
    budget.ended(0);
    let sent = at(1001);
    assert!(
        budget.began((1, false), (sent, [0].into_iter()), sent).overdrawn.is_some(),
        "it is cordoned for nothing"
    );
}

#[test]
fn a_host_that_was_lost_at_work_does_not_count_for_ever() {
    let mut budget = budget();
    take(&mut budget, &fleet(1, START, false), at(0));
    budget.began((0, false), (at(100), nobody()), at(100));
    budget.lost(0, at(110));
    assert!(budget.began((1, false), (at(200), nobody()), at(200)).overdrawn.is_some());
    budget.ended(1);
    assert_eq!(budget.began((1, false), (at(2000), nobody()), at(2000)).overdrawn, None);
}
