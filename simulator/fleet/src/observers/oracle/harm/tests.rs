//! A default that changes during an operation does not change how that operation counts. A Machine that is being
//! deleted does not count.

use std::sync::Arc;

use seaworthy_api::object::Resource;
use seaworthy_kernel::{Draws, Seed};
use seaworthy_model::cause::CauseKind;
use seaworthy_model::component::Rollback;
use seaworthy_model::host::OperationId;
use seaworthy_model::lease::Epoch;

use super::*;
use crate::world::host::{ComponentNumber, Install, ReleaseNumber, VersionNumber, Work};

const KNOWN: Timestamp = Timestamp::from_millis(1_000);
const FAILED: Ended = Ended::Failed(CauseKind::ProbeFailed);

/// The judge of `maxFailures`, the generation of the fleet's defaults, and an API server without Machines, so without
/// pins.
struct Fleet {
    harm: Harm,
    generation: i64,
    api: ApiServer,
}

impl Fleet {
    /// Ten hosts, of which two may be harmed.
    fn wishing(version: &str) -> Self {
        let mut fleet = Self { harm: Harm::new(), generation: 0, api: ApiServer::new(Draws::new(Seed(1))) };
        fleet.wish(version, "1h");
        fleet
    }

    /// Users apply the fleet's defaults.
    fn wish(&mut self, version: &str, audit: &str) {
        self.limit("2", version, audit);
    }

    fn limit(&mut self, failures: &str, version: &str, audit: &str) {
        self.generation += 1;
        let text = format!(
            r#"{{"metadata":{{"name":"default","generation":{}}},"spec":{{"maxFailures":{failures},"auditInterval":"{audit}",
                "components":[{{"name":"webd","state":"Present","version":"{version}"}}]}}}}"#,
            self.generation
        );
        let object =
            Arc::new(Resource::ClusterPackageVersion(Box::new(serde_json::from_str(&text).unwrap())).into());
        self.harm.package_version_written(&Written { object, before: None, committed: true, removed: false });
    }

    fn begin(&mut self, hosts: std::ops::Range<u32>) {
        for host in hosts {
            self.harm.began(host, "webd", KNOWN);
        }
    }

    /// Users create the Machine of a host, or change it to this generation.
    fn machine(&mut self, host: u32, generation: i64, is_deleted: bool, at: Timestamp) {
        let object = |generation: i64, is_deleted: bool| {
            let deleted = if is_deleted { r#","deletionTimestamp":"2026-01-01T00:00:00Z""# } else { "" };
            let text = format!(
                r#"{{"metadata":{{"name":"{}","generation":{generation}{deleted}}},"spec":{{"address":{{"ip":"10.0.0.{}"}},
                    "ssh":{{"secretName":"key"}}}}}}"#,
                machine_name(host),
                host + 1
            );
            Arc::new(Resource::Machine(Box::new(serde_json::from_str(&text).unwrap())).into())
        };
        let before = (generation > 1).then(|| object(generation - 1, false));
        let object = object(generation, is_deleted);
        self.harm.machine_written(&Written { object, before, committed: true, removed: false }, at);
    }

    /// Ends the release in this way on each of these hosts. True if that exceeds the limit anywhere.
    fn end(&mut self, hosts: std::ops::Range<u32>, ended: Ended) -> bool {
        let install = Install {
            version: VersionNumber(0),
            release: ReleaseNumber(1),
            has_preflight: false,
            has_removal: false,
            reboots: false,
            service: None,
            less_than_restart: None,
            confirm: 0,
            rollback: Rollback::Safe,
            probe: 0,
            probe_deadline: 0,
        };
        let id = OperationId { epoch: Epoch(1), sequence: 1 };
        let work =
            Work { id, generation: 1, component: ComponentNumber(0), change: Change::Install(install) };
        let judged = hosts
            .map(|host| self.harm.ended(&Over { host, work: &work, ended, component: "webd" }, &self.api));
        judged.flatten().count() > 0
    }
}

#[test]
fn a_release_that_never_works_may_harm_as_many_as_may_fail() {
    let mut fleet = Fleet::wishing("9.9.9");
    fleet.begin(0..3);
    assert!(!fleet.end(0..2, FAILED));
    assert!(fleet.end(2..3, FAILED));
}

/// A host on which the release failed reports another architecture since: no operator can know which release failed there.
#[test]
fn one_more_may_fail_for_each_that_lies() {
    let mut fleet = Fleet::wishing("9.9.9");
    fleet.begin(0..4);
    assert!(!fleet.end(0..2, FAILED));
    fleet.harm.lies(0);
    assert!(!fleet.end(2..3, FAILED));
    assert!(fleet.end(3..4, FAILED));
}

#[test]
fn what_worked_counts_when_people_change_their_minds_before_the_rest_fails() {
    let mut fleet = Fleet::wishing("9.9.9");
    fleet.begin(0..4);
    assert!(!fleet.end(0..4, Ended::Succeeded));
    fleet.begin(4..10);
    fleet.wish("1.1.0", "1h");
    assert!(!fleet.end(4..10, FAILED));
    assert_eq!(fleet.harm.harmed(), 6);
}

#[test]
fn what_was_begun_before_people_changed_their_minds_counts_as_before() {
    let mut fleet = Fleet::wishing("9.9.9");
    fleet.begin(0..3);
    assert!(!fleet.end(0..2, FAILED));
    fleet.wish("1.1.0", "1h");
    assert!(fleet.end(2..3, FAILED));
}

#[test]
fn another_edit_of_the_defaults_is_no_other_wish() {
    let mut fleet = Fleet::wishing("9.9.9");
    fleet.begin(0..2);
    assert!(!fleet.end(0..2, FAILED));
    fleet.wish("9.9.9", "2h");
    fleet.begin(2..3);
    assert!(fleet.end(2..3, FAILED));
}

#[test]
fn a_new_wish_for_what_was_given_up_allows_another_try() {
    let mut fleet = Fleet::wishing("9.9.9");
    fleet.begin(0..2);
    assert!(!fleet.end(0..2, FAILED));
    fleet.wish("1.1.0", "1h");
    fleet.wish("9.9.9", "1h");
    fleet.begin(2..5);
    assert!(!fleet.end(2..4, FAILED));
    assert!(fleet.end(4..5, FAILED));
}

#[test]
fn a_machine_that_is_to_be_deleted_does_not_count_and_the_others_do() {
    let mut fleet = Fleet::wishing("9.9.9");
    for host in 0..4 {
        fleet.machine(host, 1, false, Timestamp::from_millis(0));
    }
    fleet.begin(0..4);
    fleet.machine(0, 2, true, KNOWN);
    assert!(!fleet.end(0..3, FAILED), "the first is to be deleted");
    assert!(fleet.end(3..4, FAILED));
}

#[test]
fn what_was_known_when_the_work_was_ordered_excuses_nothing() {
    let mut fleet = Fleet::wishing("9.9.9");
    fleet.machine(0, 1, false, Timestamp::from_millis(0));
    fleet.machine(0, 2, false, Timestamp::from_millis(KNOWN.millis() - 1));
    fleet.begin(0..3);
    assert!(!fleet.end(0..2, FAILED));
    assert!(fleet.end(2..3, FAILED));
}

#[test]
fn percentages_are_of_the_machines_and_not_of_the_hosts() {
    let mut fleet = Fleet::wishing("1.0.0");
    for host in 0..8 {
        fleet.machine(host, 1, false, Timestamp::from_millis(0));
    }
    fleet.limit("\"50%\"", "9.9.9", "1h");
    fleet.begin(0..8);
    assert!(!fleet.end(0..4, FAILED));
    assert!(fleet.end(4..5, FAILED));
}
