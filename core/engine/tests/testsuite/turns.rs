//! Golden turns: a few lines of world in, the turn out.

use crate::fixture::{Fixture, WEB, absent, picture, want, web};
use seaworthy_model::detail::Detail;

/// Turns until something is ordered from a host or nothing is ordered at all; the last one's picture.
fn next_turns(fixture: &mut Fixture, turns: usize) -> Vec<String> {
    (0..turns)
        .map(|_| {
            let turn = fixture.turn();
            fixture.execute();
            picture(&turn)
        })
        .collect()
}

#[test]
fn takes_the_lease_before_anything_else_and_lists_after_it() {
    let mut fixture = Fixture::new(1);
    let turns = next_turns(&mut fixture, 4);
    let ordered =
        |turn: &'_ String| turn.lines().find(|line| !line.starts_with("version")).map(str::to_owned);
    assert_eq!(
        turns.iter().filter_map(ordered).collect::<Vec<_>>(),
        ["driver: watch", "lease: take as \"operator-1\", epoch 1", "driver: watch", "host of m0: read"]
    );
}

#[test]
fn installs_in_the_order_that_a_successor_could_follow() {
    let mut fixture = Fixture::new(1);
    fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(1))].into());
    next_turns(&mut fixture, 3);
    let turns = next_turns(&mut fixture, 5);
    let of_machine = turns.iter().map(|turn| {
        let lines: Vec<&str> = turn.lines().filter(|line| !line.starts_with("version")).collect();
        lines.join("\n")
    });
    assert_eq!(
        of_machine.collect::<Vec<_>>(),
        [
            "host of m0: read",
            "m0: finalizers [\"seaworthy.dev/in-use\"], import",
            "host of m0: install web-1",
            "m0: status gen 2 ready True AsDesired has 0",
            "",
        ]
    );
}

#[test]
fn upgrades_one_at_a_time_by_raising_the_threshold() {
    let mut fixture = Fixture::new(3);
    fixture.store.defaults(vec![want(WEB, web(1))]);
    fixture.settle();
    fixture.pass(std::time::Duration::from_secs(60));
    assert_eq!(fixture.web(), [Some(1), Some(1), Some(1)]);
    fixture.store.defaults(vec![want(WEB, web(2))]);
    fixture.deliver();
    let turn = fixture.turn();
    assert!(
        picture(&turn)
            .starts_with("fleet: status Some(RollingOut) [component 0 gen 3 permits nobody, grants 0]")
    );
    fixture.execute();
    let turn = fixture.turn();
    assert!(
        picture(&turn)
            .starts_with("fleet: status Some(RollingOut) [component 0 gen 3 permits everybody, grants 1]")
    );
    fixture.execute();
    let turn = fixture.turn();
    let starts = picture(&turn).matches("install web-2").count();
    assert_eq!(starts, 1, "{}", picture(&turn));
    fixture.settle();
    fixture.pass(std::time::Duration::from_secs(60));
    assert_eq!(fixture.web(), [Some(2), Some(2), Some(2)]);
}

#[test]
fn the_record_that_ends_a_rollout_says_that_it_is_over() {
    let mut fixture = Fixture::new(1);
    fixture.store.defaults(vec![want(WEB, web(1))]);
    let turns = next_turns(&mut fixture, 20);
    let written: Vec<&str> = turns.iter().flat_map(|turn| turn.lines()).collect();
    let written = written.iter().filter(|line| line.starts_with("fleet: status")).copied();
    assert_eq!(
        written.collect::<Vec<_>>(),
        [
            "fleet: status Some(RollingOut) [component 0 gen 2 permits nobody, grants 0]",
            "fleet: status Some(RollingOut) [component 0 gen 2 permits everybody, grants 1]",
            "fleet: status Some(AllUpdated) [component 0 gen 2 permits everybody, grants 0, complete]",
        ]
    );
}

#[test]
fn a_rollout_costs_one_write_per_machine_and_few_per_batch() {
    let mut fixture = Fixture::new(200);
    fixture.store.edit_fleet(|spec| {
        spec.components = vec![want(WEB, web(1))];
        spec.max_unavailable = seaworthy_model::quantity::CountOrPercent::Percent(10);
        spec.max_failures = seaworthy_model::quantity::CountOrPercent::Percent(10);
    });
    fixture.pass(std::time::Duration::from_secs(600));
    assert!(fixture.web().iter().all(|version| *version == Some(1)));
    let before = fixture.store.changes();
    fixture.store.defaults(vec![want(WEB, web(2))]);
    fixture.deliver();
    fixture.pass(std::time::Duration::from_secs(600));
    assert!(fixture.web().iter().all(|version| *version == Some(2)));
    let writes = fixture.store.changes() - before - 1;
    assert!(writes <= 200 + 20, "{writes} writes for 200 machines");
}

#[test]
fn a_version_that_fails_stops_and_is_not_tried_again() {
    let mut fixture = Fixture::new(5);
    fixture.store.defaults(vec![want(WEB, web(1))]);
    fixture.pass(std::time::Duration::from_secs(60));
    for id in 0..5 {
        fixture.host(id).broken = vec![web(2)];
    }
    fixture.store.defaults(vec![want(WEB, web(2))]);
    fixture.deliver();
    fixture.pass(std::time::Duration::from_secs(7200));
    assert_eq!(fixture.web(), [Some(1); 5]);
    let tried = fixture.hosts.values().filter(|host| {
        host.facts.operation.as_ref().is_some_and(|operation| {
            matches!(operation.state, seaworthy_model::host::OperationState::Failed(_))
        })
    });
    assert_eq!(tried.count(), 1, "maxFailures is 1");
    let fleet = fixture.store.fleet.as_ref().unwrap();
    assert!(
        fleet
            .status
            .conditions
            .iter()
            .any(|condition| condition.reason
                == seaworthy_model::package_version::FleetReason::TooManyFailures),
        "{:?}",
        fleet.status.conditions
    );

    let reported = Detail::Failed(fixture.engine.world().version_name(web(2)).into(), "503".into());
    let is_told = fixture.store.machines.values().any(|machine| {
        let mut conditions = machine.status.conditions.iter();
        conditions.any(|condition| condition.detail.as_deref() == Some(&reported))
    });
    assert!(is_told, "the version or the host's words are lost");

    // The next edit starts afresh.
    fixture.store.defaults(vec![want(WEB, web(3))]);
    fixture.deliver();
    fixture.pass(std::time::Duration::from_secs(60));
    assert_eq!(fixture.web(), [Some(3); 5]);
}

#[test]
fn a_default_that_goes_removes_nothing_and_absent_does() {
    let mut fixture = Fixture::new(2);
    fixture.store.defaults(vec![want(WEB, web(1))]);
    fixture.pass(std::time::Duration::from_secs(60));
    fixture.store.defaults(Vec::new());
    fixture.deliver();
    fixture.pass(std::time::Duration::from_secs(60));
    assert_eq!(fixture.web(), [Some(1), Some(1)]);
    fixture.store.defaults(vec![absent(WEB)]);
    fixture.deliver();
    fixture.pass(std::time::Duration::from_secs(60));
    assert_eq!(fixture.web(), [None, None]);
}

#[test]
fn a_version_goes_when_nobody_uses_it_any_more() {
    let mut fixture = Fixture::new(1);
    fixture.store.defaults(vec![want(WEB, web(1))]);
    fixture.pass(std::time::Duration::from_secs(60));
    fixture.store.delete_version(web(1));
    fixture.deliver();
    fixture.pass(std::time::Duration::from_secs(600));
    assert!(fixture.store.versions.contains_key(&0), "the fleet uses it");
    fixture.store.defaults(vec![want(WEB, web(2))]);
    fixture.deliver();
    fixture.pass(std::time::Duration::from_secs(600));
    assert_eq!(fixture.web(), [Some(2)]);
    assert!(fixture.store.versions.contains_key(&0), "it is what new machines got before this rollout");
    fixture.store.defaults(vec![want(WEB, web(3))]);
    fixture.deliver();
    fixture.pass(std::time::Duration::from_secs(600));
    assert!(!fixture.store.versions.contains_key(&0));
}

#[test]
fn the_deletion_of_the_fleets_defaults_removes_nothing() {
    let mut fixture = Fixture::new(2);
    fixture.store.defaults(vec![want(WEB, web(1))]);
    fixture.pass(std::time::Duration::from_secs(60));
    fixture.store.delete_fleet();
    fixture.deliver();
    fixture.pass(std::time::Duration::from_secs(3600));
    assert!(fixture.store.fleet.is_none(), "its finalizer is gone");
    assert_eq!(fixture.web(), [Some(1), Some(1)]);
}

#[test]
fn a_deleted_machine_is_emptied_given_up_and_released_in_this_order() {
    let mut fixture = Fixture::new(1);
    fixture.store.defaults(vec![want(WEB, web(1))]);
    fixture.pass(std::time::Duration::from_secs(60));
    fixture.store.delete_machine(0);
    fixture.deliver();
    let turns = next_turns(&mut fixture, 5);
    assert_eq!(
        turns[..4],
        ["host of m0: read", "host of m0: remove component 0", "host of m0: disown", "m0: finalizers []"],
        "{turns:#?}"
    );
    assert!(fixture.store.machines.is_empty());
    assert_eq!(fixture.web(), [None]);
}

#[test]
fn drift_is_recorded_before_it_is_repaired() {
    let mut fixture = Fixture::new(1);
    fixture.store.defaults(vec![want(WEB, web(1))]);
    fixture.pass(std::time::Duration::from_secs(60));
    let changes = fixture.host(0).changes;
    fixture.host(0).drift(WEB);
    fixture.pass(std::time::Duration::from_secs(600));
    assert_eq!(fixture.host(0).changes, changes + 1);
    assert!(fixture.host(0).facts.components[0].drift.is_none());
}

#[test]
fn two_machines_for_one_host_leave_the_first_alone() {
    let mut fixture = Fixture::new(2);
    fixture.hosts.get_mut(&1).unwrap().facts.host = seaworthy_model::machine::HostId(1000);
    fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(1))].into());
    fixture.store.edit_machine(1, |spec| spec.pins = [want(WEB, web(2))].into());
    fixture.pass(std::time::Duration::from_secs(60));
    assert_eq!(fixture.web(), [Some(1), None]);
    let told = fixture.store.machines[&1]
        .status
        .conditions
        .iter()
        .any(|condition| condition.reason == seaworthy_model::machine::Reason::DuplicateHost);
    assert!(told, "{:?}", fixture.store.machines[&1].status);
    fixture.store.delete_machine(1);
    fixture.deliver();
    fixture.pass(std::time::Duration::from_secs(60));
    assert_eq!(fixture.web(), [Some(1), None]);
    assert!(!fixture.store.machines.contains_key(&1));
}

#[test]
fn without_its_lease_nothing_is_done_until_a_person_adopts() {
    let mut fixture = Fixture::new(2);
    fixture.store.defaults(vec![want(WEB, web(1))]);
    fixture.pass(std::time::Duration::from_secs(60));
    fixture.store.delete_lease();
    fixture.deliver();
    fixture.store.defaults(vec![want(WEB, web(2))]);
    fixture.deliver();
    fixture.pass(std::time::Duration::from_secs(3600));
    assert_eq!(fixture.web(), [Some(1), Some(1)]);
    fixture.restart();
    fixture.pass(std::time::Duration::from_secs(3600));
    assert_eq!(fixture.web(), [Some(1), Some(1)], "nor after a restart");
    let fleet = fixture.store.fleet.as_ref().unwrap();
    let reason = fleet.status.conditions[0].reason;
    assert_eq!(reason, seaworthy_model::package_version::FleetReason::StoreRegressed);
    let epoch = fixture.hosts[&0].facts.epoch;
    fixture.store.revision += 1;
    let lease = fixture.store.lease.as_mut().unwrap();
    lease.adopt = Some(epoch);
    lease.meta.resource_version = fixture.store.revision;
    fixture.deliver();
    fixture.pass(std::time::Duration::from_secs(60));
    assert_eq!(fixture.web(), [Some(2), Some(2)]);
}

/// The annotation of an adoption stays on the Lease.
#[test]
fn an_adoption_that_was_used_does_not_count_for_the_next_loss() {
    let mut fixture = Fixture::new(2);
    fixture.store.defaults(vec![want(WEB, web(1))]);
    fixture.pass(std::time::Duration::from_secs(60));
    fixture.store.delete_lease();
    fixture.deliver();
    fixture.pass(std::time::Duration::from_secs(600));
    let epoch = fixture.hosts[&0].facts.epoch;
    fixture.store.adopt(epoch);
    fixture.deliver();
    fixture.pass(std::time::Duration::from_secs(600));
    assert_eq!(fixture.store.lease.as_ref().unwrap().adopt, Some(epoch));
    // The hosts have seen later operators, which the store does not know.
    let later = seaworthy_model::lease::Epoch(epoch.0 + 50);
    fixture.hosts.values_mut().for_each(|host| host.facts.epoch = later);
    fixture.store.defaults(vec![want(WEB, web(2))]);
    fixture.deliver();
    fixture.pass(std::time::Duration::from_secs(3600));
    assert_eq!(fixture.web(), [Some(1), Some(1)]);
    let reason = fixture.store.fleet.as_ref().unwrap().status.conditions[0].reason;
    assert_eq!(reason, seaworthy_model::package_version::FleetReason::StoreRegressed);
    fixture.store.adopt(later);
    fixture.deliver();
    fixture.pass(std::time::Duration::from_secs(3600));
    assert_eq!(fixture.web(), [Some(2), Some(2)]);
}

#[test]
fn a_list_that_shows_what_is_known_leads_to_no_decision_about_machines() {
    let mut fixture = Fixture::new(20);
    fixture.settle();
    fixture.list();
    let turn = fixture.turn();
    assert!(turn.actions.is_empty(), "{}", picture(&turn));
    assert!(turn.report.reconciled < 20, "{} were looked at", turn.report.reconciled);
}

#[test]
fn who_was_late_looks_again_only_at_what_it_left_undone_meanwhile() {
    let mut fixture = Fixture::new(20);
    fixture.store.defaults(vec![want(WEB, web(1))]);
    fixture.pass(std::time::Duration::from_secs(60));
    // It sleeps through its renewals, while somebody wants one machine to be changed.
    fixture.store.edit_machine(7, |spec| spec.pins = [want(WEB, web(2))].into());
    fixture.deliver();
    fixture.sleep(std::time::Duration::from_secs(120));
    let after = fixture.turn();
    assert_eq!(picture(&after).matches("install web-2").count(), 1, "{}", picture(&after));
    // Among them the versions that the pin is about.
    assert!(after.report.reconciled < 12, "{} were looked at", after.report.reconciled);
}
